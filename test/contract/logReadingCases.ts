// Owns the contract's cases about one reader: where it starts, what its handler may rely on, gaps,
// and its end.

import assert from "node:assert/strict";
import type { DeclareCase } from "./logContract.ts";
import { bytesOf, latch, numbered, type LogCase } from "./logFixture.ts";

/** More than any reader holds ahead of its handler. */
const LARGE_RECORDS = 60;
const LARGE_BYTES = 200_000;

export function readingCases(test: DeclareCase): void {
  test("a group that never committed starts at the first record still there", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, numbered("r", 6));
    await c.fixture.trim({ topic, partition: 0, offset: 2 });
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("4 records", () => read.records.length >= 4);
    assert.deepEqual(read.texts(), ["r-2", "r-3", "r-4", "r-5"]);
    assert.deepEqual(read.gaps, []);
  });

  test("given positions are kept exactly, and a partition not named starts at its end", async (c) => {
    const topic = await c.topic({ partitions: 3 });
    for (const partition of [0, 1, 2]) await c.write(topic, partition, numbered(`old${partition}`, 4));
    const from = [
      { topic, partition: 0, offset: 3 },
      { topic, partition: 1, offset: 0 },
    ];
    const read = await c.read({ group: c.groupName(), topics: [topic], from });
    for (const partition of [0, 1, 2]) await c.write(topic, partition, ["new"]);
    await c.eventually("8 records", () => read.records.length >= 8);
    assert.deepEqual(read.texts(0), ["old0-3", "new"]);
    assert.deepEqual(read.texts(1), [...numbered("old1", 4), "new"]);
    assert.deepEqual(read.texts(2), ["new"]);
  });

  test("a batch says where its partition ended, so that a reader knows when it has caught up", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, numbered("r", 40));
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("40 records", () => read.records.length >= 40);
    for (const batch of read.batches) {
      const last = batch.records.at(-1);
      assert.ok(last !== undefined, "a batch has records");
      assert.ok(batch.end === 40, `end ${batch.end}`);
    }
    assert.equal(read.records.at(-1)?.offset, 39);
  });

  test("the next batch of a partition waits for the promise of the one before", async (c) => {
    const topic = await c.topic();
    const slow = latch();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, () => slow.opened);
    await c.write(topic, 0, ["first"]);
    await c.eventually("the first batch", () => read.batches.length === 1);
    for (const text of numbered("r", 5)) await c.write(topic, 0, [text]);
    await writeAndSeeElsewhere(c, topic);
    assert.equal(read.batches.filter(({ partition }) => partition === 0).length, 1);
    slow.open();
    await c.eventually("the rest", () => read.texts(0).length === 7);
    assert.deepEqual(read.texts(0), ["first", ...numbered("r", 5), "witness-0"]);
  });

  test("a slow handler does not stop the other partitions", async (c) => {
    const topic = await c.topic();
    const slow = latch();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, ({ partition }) => (partition === 0 ? slow.opened : Promise.resolve()));
    await c.write(topic, 0, ["held"]);
    await c.eventually("partition 0 is held", () => read.texts(0).length === 1);
    for (const text of numbered("r", 10)) {
      await c.write(topic, 1, [text]);
      await c.eventually(`${text} on partition 1`, () => read.texts(1).at(-1) === text);
    }
    assert.deepEqual(read.texts(0), ["held"]);
    slow.open();
  });

  for (const how of ["rejects", "throws at once"] as const) {
    test(`a handler that ${how} ends the subscription through onCrash, once`, async (c) => {
      const topic = await c.topic();
      const group = c.groupName();
      const fail = () => new Error("the handler failed");
      const read = await c.read({ group, topics: [topic], from: "committed" }, () => {
        if (how === "throws at once") throw fail();
        return Promise.reject(fail());
      });
      for (const partition of [0, 1]) await c.write(topic, partition, ["r"]);
      await c.eventually("the crash", () => read.crashes.length > 0);
      const batches = read.batches.length;
      await c.write(topic, 0, ["later"]);
      // The next member proves that time went by, and that the group lost nothing.
      const next = await c.read({ group, topics: [topic], from: "committed" });
      await c.eventually("all again", () => next.texts(0).includes("later") && next.texts(0).includes("r") && next.texts(1).includes("r"));
      assert.ok(read.batches.length <= Math.max(batches, 2));
      assert.equal(read.crashes.length, 1);
      assert.match(String(read.crashes[0]?.message), /the handler failed/);
    });
  }

  test("two handlers that fail together end the subscription once", async (c) => {
    const topic = await c.topic();
    const both = latch();
    for (const partition of [0, 1]) await c.write(topic, partition, ["r"]);
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, async () => {
      await both.opened;
      throw new Error("the handler failed");
    });
    await c.eventually("both handlers run", () => read.batches.length === 2);
    both.open();
    await c.eventually("the crash", () => read.crashes.length > 0);
    await read.stop();
    assert.equal(read.crashes.length, 1);
  });

  test("a record that went before it was read is a gap: told, and read on from the start", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, numbered("r", 10));
    await c.fixture.trim({ topic, partition: 0, offset: 6 });
    const read = await c.read({ group: c.groupName(), topics: [topic], from: [{ topic, partition: 0, offset: 2 }] });
    await c.eventually("4 records", () => read.records.length >= 4);
    assert.deepEqual(read.gaps, [{ topic, partition: 0, wanted: 2, start: 6 }]);
    assert.deepEqual(read.texts(0), ["r-6", "r-7", "r-8", "r-9"]);
  });

  test("a gap up to the end is told once, before anything new comes", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, numbered("r", 5));
    await c.fixture.trim({ topic, partition: 0, offset: 5 });
    const read = await c.read({ group: c.groupName(), topics: [topic], from: [{ topic, partition: 0, offset: 1 }] });
    await c.eventually("the gap", () => read.gaps.length > 0);
    await c.write(topic, 0, ["new"]);
    await c.eventually("the new record", () => read.records.length > 0);
    assert.deepEqual(read.gaps, [{ topic, partition: 0, wanted: 1, start: 5 }]);
    assert.deepEqual(read.texts(), ["new"]);
  });

  test("a committed offset that retention passed is a gap too", async (c) => {
    const topic = await c.topic();
    const group = c.groupName();
    await c.write(topic, 0, numbered("r", 10));
    const first = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("10 records", () => first.records.length >= 10);
    await first.commit([{ topic, partition: 0, offset: 3 }]);
    await first.stop();
    await c.fixture.trim({ topic, partition: 0, offset: 8 });
    const second = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("2 records", () => second.records.length >= 2);
    assert.deepEqual(second.gaps, [{ topic, partition: 0, wanted: 3, start: 8 }]);
    assert.deepEqual(second.texts(0), ["r-8", "r-9"]);
  });

  test("a compacted topic keeps the newest of each key, and a reader gets over the holes to the end", async (c) => {
    const topic = await c.topic({ cleanup: "compact", retentionMs: null, partitions: 1 });
    for (const round of [1, 2, 3]) for (const key of ["a", "b", "c"]) await c.write(topic, 0, [`${key}${round}`], key);
    await c.fixture.compact(topic, () => c.write(topic, 0, ["a4"], "a"));
    const end = (await c.log.bounds(topic))[0]?.end ?? 0;
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("the end fixed at the start", () => (read.batches.at(-1)?.next ?? 0) >= end);
    const newest = new Map(read.records.map((record) => [record.key, record.offset]));
    assert.deepEqual([...newest].sort(), [["a", 9], ["b", 7], ["c", 8]]);
    assert.deepEqual(read.gaps, [], "a hole is no gap");
    assert.ok(read.records.length < 10, "something was compacted");
  });

  test("a place inside a hole that compaction left is read on from behind it, and that is no gap", async (c) => {
    const topic = await c.topic({ cleanup: "compact", retentionMs: null, partitions: 1 });
    for (const round of [1, 2, 3]) for (const key of ["a", "b", "c"]) await c.write(topic, 0, [`${key}${round}`], key);
    await c.fixture.compact(topic, () => c.write(topic, 0, ["a4"], "a"));
    const read = await c.read({ group: c.groupName(), topics: [topic], from: [{ topic, partition: 0, offset: 2 }] });
    await c.eventually("the last record", () => read.texts().includes("a4"));
    assert.deepEqual(new Set(read.texts()), new Set(["b3", "c3", "a4", ...read.texts().filter((text) => text === "a3")]));
    assert.deepEqual(read.gaps, []);
  });

  test("retention that overtakes a slow reader is told: every record is read or lies in a gap that was told", async (c) => {
    const topic = await c.topic({ partitions: 1 });
    const slow = latch();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, () => slow.opened);
    await c.write(topic, 0, Array.from({ length: LARGE_RECORDS }, (_, record) => `${record} ${"x".repeat(LARGE_BYTES)}`), "key");
    await c.eventually("the first batch", () => read.batches.length > 0);
    await c.fixture.trim({ topic, partition: 0, offset: LARGE_RECORDS });
    slow.open();
    await c.eventually("the gap, with nothing new to show it", () => read.gaps.length > 0);
    await c.write(topic, 0, ["after"], "key");
    await c.eventually("what comes after it", () => read.texts().includes("after"));
    const told = (offset: number): boolean => read.gaps.some(({ wanted, start }) => offset >= wanted && offset < start);
    const seen = new Set(read.records.map(({ offset }) => offset));
    for (let offset = 0; offset < LARGE_RECORDS; offset++) assert.ok(seen.has(offset) || told(offset), `offset ${offset} went without a word`);
    assert.ok(!seen.has(LARGE_RECORDS - 1), "the log did let it go before it was read");
  });

  test("partitions without a record keep nobody waiting", async (c) => {
    const topic = await c.topic({ partitions: 6 });
    const read = await c.read({ group: c.groupName(), topics: [topic], from: Array.from({ length: 6 }, (_, partition) => ({ topic, partition, offset: 0 })) });
    await c.write(topic, 4, ["alone"]);
    await c.eventually("the only record", () => read.texts(4).includes("alone"));
    assert.deepEqual([read.records.length, read.gaps.length], [1, 0]);
  });

  test("the log shows a sign of life while nothing is written", async (c) => {
    const topic = await c.topic();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    const before = read.fetchedAtMs();
    await c.eventually("an answered fetch", () => read.fetchedAtMs() > before);
    assert.deepEqual(read.batches, []);
  });

  test("stop waits for the batch under way, and nothing is handed over after it", async (c) => {
    const topic = await c.topic();
    const slow = latch();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, () => slow.opened);
    await c.write(topic, 0, ["first"]);
    await c.eventually("the first batch", () => read.batches.length === 1);
    let stopped = false;
    const stopping = read.stop().then(() => (stopped = true));
    await c.write(topic, 0, ["second"]);
    await c.write(topic, 1, ["third"]);
    assert.equal(stopped, false);
    slow.open();
    await stopping;
    const batches = read.batches.length;
    await writeAndSeeElsewhere(c, topic);
    assert.equal(read.batches.length, batches);
    assert.deepEqual(read.crashes, []);
    await read.stop();
  });

  test("10,000 records go through a buffer of 500 to a reader, each once and in order", async (c) => {
    const topic = await c.topic({ partitions: 4 });
    const producer = c.log.producer({ maxBuffered: 500, delivery: "critical" });
    let unsettled = 0;
    let most = 0;
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    for (let n = 0; n < 10_000; ) {
      const answer = producer.append({ topic, partition: n % 4, key: `k${n % 100}`, value: bytesOf(`${n}`) }, () => (unsettled -= 1));
      if (answer === "accepted") {
        n += 1;
        most = Math.max(most, (unsettled += 1));
      } else {
        assert.equal(answer, "full");
        await producer.flush();
      }
    }
    await producer.close();
    await c.eventually("10,000 records", () => read.records.length >= 10_000);
    assert.equal(most, 500);
    for (const partition of [0, 1, 2, 3]) {
      assert.deepEqual(read.texts(partition), Array.from({ length: 2_500 }, (_, index) => `${index * 4 + partition}`));
    }
  });
}

/** Another group's reader that gets a fresh record proves that the log had time to deliver. */
async function writeAndSeeElsewhere(c: LogCase, topic: string): Promise<void> {
  const witness = await c.read({ group: c.groupName(), topics: [topic], from: [] });
  for (const partition of [0, 1]) await c.write(topic, partition, [`witness-${partition}`]);
  await c.eventually("the witness", () => witness.texts(0).includes("witness-0") && witness.texts(1).includes("witness-1"));
}
