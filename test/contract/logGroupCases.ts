// Owns the contract's cases about groups: sharing, hand-over, commits, and their end. A hand-over may
// repeat what was not committed; the cases allow for that and for nothing else.

import assert from "node:assert/strict";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { DeclareCase } from "./logContract.ts";
import { bytesOf, latch, numbered, type LogCase, type Read } from "./logFixture.ts";

export function groupCases(test: DeclareCase): void {
  test("two groups each get everything", async (c) => {
    const topic = await c.topic();
    const reads = [await c.read({ group: c.groupName(), topics: [topic], from: "committed" }), await c.read({ group: c.groupName(), topics: [topic], from: "committed" })];
    for (const partition of [0, 1]) await c.write(topic, partition, numbered(`p${partition}`, 20));
    for (const read of reads) {
      await c.eventually("40 records", () => read.records.length >= 40);
      assert.deepEqual(read.texts(0), numbered("p0", 20));
      assert.deepEqual(read.texts(1), numbered("p1", 20));
    }
  });

  test("one reader may read several topics", async (c) => {
    const topics = [await c.topic(), await c.topic()];
    const read = await c.read({ group: c.groupName(), topics, from: "committed" });
    for (const topic of topics) await c.write(topic, 1, [topic]);
    await c.eventually("one record of each", () => topics.every((topic) => read.texts().includes(topic)));
    assert.deepEqual(new Set(read.records.map((record) => record.topic)), new Set(topics));
  });

  test("two members share the partitions, and each is read by one of them", async (c) => {
    const topic = await c.topic({ partitions: 4 });
    const group = c.groupName();
    const first = await c.read({ group, topics: [topic], from: "committed" });
    const second = await c.read({ group, topics: [topic], from: "committed" }, undefined, await c.fixture.another());
    await untilRound(c, topic, [first, second], (readers) => readers.every((got) => got.length === 2));
  });

  test("a member that is added takes partitions over; nothing is left out", async (c) => {
    const topic = await c.topic({ partitions: 4 });
    const group = c.groupName();
    const first = await c.read({ group, topics: [topic], from: "committed" });
    for (const partition of [0, 1, 2, 3]) await c.write(topic, partition, numbered(`before${partition}`, 5));
    await c.eventually("20 records", () => first.records.length >= 20);
    const second = await c.read({ group, topics: [topic], from: "committed" }, undefined, await c.fixture.another());
    for (const partition of [0, 1, 2, 3]) await c.write(topic, partition, numbered(`after${partition}`, 5));
    await untilRound(c, topic, [first, second], (readers) => readers.every((got) => got.length === 2));
    const texts = new Set([...first.texts(), ...second.texts()]);
    for (const partition of [0, 1, 2, 3]) for (const text of [...numbered(`before${partition}`, 5), ...numbered(`after${partition}`, 5)]) assert.ok(texts.has(text), text);
  });

  test("a member that stops hands its partitions over; nothing is left out", async (c) => {
    const topic = await c.topic({ partitions: 4 });
    const group = c.groupName();
    const first = await c.read({ group, topics: [topic], from: "committed" });
    const second = await c.read({ group, topics: [topic], from: "committed" }, undefined, await c.fixture.another());
    await untilRound(c, topic, [first, second], (readers) => readers.every((got) => got.length === 2));
    await first.stop();
    for (const partition of [0, 1, 2, 3]) await c.write(topic, partition, numbered(`after${partition}`, 5));
    await untilRound(c, topic, [first, second], ([gone, left]) => gone?.length === 0 && left?.length === 4);
    for (const partition of [0, 1, 2, 3]) for (const text of numbered(`after${partition}`, 5)) assert.ok(second.texts(partition).includes(text), text);
  });

  test("more members than partitions: the spare one waits and takes over", async (c) => {
    const topic = await c.topic({ partitions: 1 });
    const group = c.groupName();
    const members = [await c.read({ group, topics: [topic], from: "committed" }), await c.read({ group, topics: [topic], from: "committed" }, undefined, await c.fixture.another())];
    await c.write(topic, 0, ["r"]);
    await c.eventually("one of them has it", () => members.some((member) => member.texts().includes("r")));
    const holder = members.find((member) => member.records.length > 0);
    const spare = members.find((member) => member !== holder);
    await holder?.commit([{ topic, partition: 0, offset: 1 }]);
    await holder?.stop();
    await c.write(topic, 0, ["next"]);
    await c.eventually("the other goes on", () => spare?.texts().includes("next") === true);
  });

  test("what was committed is not read again, what was not is", async (c) => {
    const topic = await c.topic();
    const group = c.groupName();
    await c.write(topic, 0, numbered("r", 10));
    const first = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("10 records", () => first.records.length >= 10);
    await first.commit([{ topic, partition: 0, offset: 7 }]);
    assert.deepEqual(await c.log.committed(group, topic), [{ topic, partition: 0, offset: 7 }]);
    await first.stop();
    const second = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("3 records", () => second.records.length >= 3);
    assert.deepEqual(second.texts(), ["r-7", "r-8", "r-9"]);
  });

  for (const how of ["stop", "close"] as const) {
    test(`a batch under way at the ${how} may still commit`, async (c) => {
      const topic = await c.topic();
      const group = c.groupName();
      const slow = latch();
      const other = await c.fixture.another();
      const onBatch = async () => {
        await slow.opened;
        await read.commit([{ topic, partition: 0, offset: 1 }]);
      };
      const read: Read = await c.read({ group, topics: [topic], from: "committed" }, onBatch, other);
      await c.write(topic, 0, ["r"]);
      await c.eventually("the batch", () => read.batches.length === 1);
      const ending = how === "stop" ? read.stop() : other.close();
      slow.open();
      await ending;
      assert.deepEqual(await c.log.committed(group, topic), [{ topic, partition: 0, offset: 1 }]);
      assert.deepEqual(read.crashes, []);
    });
  }

  test("a member that has left commits nothing more", async (c) => {
    const topic = await c.topic();
    const group = c.groupName();
    await c.write(topic, 0, ["r"]);
    const read = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("the record", () => read.records.length === 1);
    await read.stop();
    await assert.rejects(read.commit([{ topic, partition: 0, offset: 1 }]), { code: "stopped" });
    assert.deepEqual(await c.log.committed(group, topic), []);
  });

  test("a deleted group starts anew; one that somebody is in is not deleted", async (c) => {
    const topic = await c.topic();
    const group = c.groupName();
    await c.write(topic, 0, numbered("r", 3));
    const first = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("3 records", () => first.records.length >= 3);
    await first.commit([{ topic, partition: 0, offset: 3 }]);
    await assert.rejects(c.log.deleteGroup(group), { code: "invalid_value" });
    await first.stop();
    await c.log.deleteGroup(group);
    assert.deepEqual(await c.log.committed(group, topic), []);
    const second = await c.read({ group, topics: [topic], from: "committed" });
    await c.eventually("3 records", () => second.records.length >= 3);
    await c.log.deleteGroup(c.groupName());
  });

  test("closing a connection ends its producers and subscriptions, and no one else's", async (c) => {
    const topic = await c.topic({ partitions: 1 });
    const other = await c.fixture.another();
    const mine = await c.read({ group: c.groupName(), topics: [topic], from: "committed" }, undefined, other);
    const theirs = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.write(topic, 0, ["before"]);
    await c.eventually("both have it", () => [mine, theirs].every((read) => read.records.length === 1));
    const producer = other.producer({ maxBuffered: 1, delivery: "critical" });
    await other.close();
    assert.equal(producer.append({ topic, partition: 0, key: "k", value: bytesOf("lost") }), "stopped");
    assert.equal(other.producer({ maxBuffered: 1, delivery: "critical" }).append({ topic, partition: 0, key: "k", value: bytesOf("lost") }), "stopped");
    await assertAllStopped(other, topic, c);
    await c.write(topic, 0, ["after"]);
    await c.eventually("the other connection goes on", () => theirs.texts().includes("after"));
    assert.deepEqual(mine.texts(), ["before"]);
  });
}

async function assertAllStopped(log: EventLog, topic: string, c: LogCase): Promise<void> {
  await assert.rejects(log.bounds(topic), { code: "stopped" });
  await assert.rejects(c.read({ group: c.groupName(), topics: [topic], from: "committed" }, undefined, log), { code: "stopped" });
}

/**
 * Writes one marked record to each partition, round after round, until a round is shared out as wanted.
 * `wanted` gets, per reader, the partitions it read the round's record of; no partition had two readers.
 */
async function untilRound(c: LogCase, topic: string, readers: readonly Read[], wanted: (got: readonly number[][]) => boolean): Promise<void> {
  const partitions = (await c.log.bounds(topic)).map(({ partition }) => partition);
  let round = 0;
  await c.eventually("a round that is shared out as wanted", async () => {
    const text = `round-${(round += 1)}`;
    for (const partition of partitions) await c.write(topic, partition, [text]);
    const got = () => readers.map((reader) => partitions.filter((partition) => reader.texts(partition).includes(text)));
    await c.eventually(`${text} on every partition`, () => new Set(got().flat()).size === partitions.length);
    const shares = got();
    return shares.flat().length === partitions.length && wanted(shares);
  });
}
