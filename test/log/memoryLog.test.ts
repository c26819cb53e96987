// Owns the cases about the in-memory log that the contract cannot ask of a real one: turns, forced
// hand-overs, processes that die, and runs in which a seed decides what happens first.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MEMORY_LOG_LIMITS, type MemoryLogLimits } from "../../log/memory/limits.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { ConsumeOptions, EventLog } from "../../protocol/ports/log.ts";
import { bytesOf, latch, LogCase, numbered } from "../contract/logFixture.ts";
import { FakeScheduler } from "../sim/scheduler.ts";

const TOPIC = "topic";
const DELETED = { name: TOPIC, cleanup: "delete", retentionMs: null } as const;
/** A case's readers; fake time is moved by the case itself, so nothing is waited for. */
const caseOf = (log: MemoryLog): LogCase => new LogCase({ log, another: () => Promise.resolve(log), trim: () => Promise.resolve(), compact: () => Promise.resolve(), member: () => Promise.reject(new Error("not here")) }, 0);

function setUp(seed = 1, limits: Partial<MemoryLogLimits> = {}, partitions = 2) {
  const scheduler = new FakeScheduler(seed);
  const options = { clock: scheduler, limits: { ...MEMORY_LOG_LIMITS, ...limits } };
  const log = new MemoryLog(options);
  log.store.ensureTopics([{ ...DELETED, partitions }]);
  /** Lets a promise that needs turns come to its end. */
  const done = async <T>(promise: Promise<T>): Promise<T> => {
    const state = { isSettled: false };
    const settled = () => void (state.isSettled = true);
    promise.then(settled, settled);
    await scheduler.until(() => state.isSettled);
    return promise;
  };
  const read = (group: string, onBatch?: ConsumeOptions["onBatch"], on = log) => done(caseOf(on).read({ group, topics: [TOPIC], from: "committed" }, onBatch));
  return { scheduler, log, done, read, other: () => new MemoryLog(options, log.store), rest: () => scheduler.advance(0) };
}

function append(log: EventLog, partition: number, texts: readonly string[], onSettled?: (error: Error | null) => void): void {
  const producer = log.producer({ maxBuffered: texts.length, delivery: "critical" });
  for (const text of texts) producer.append({ topic: TOPIC, partition, key: text, value: bytesOf(text) }, onSettled);
}

/** A log on a clock whose turns come one at a time, first come first served, with a reader that waits. */
async function idleReader() {
  const turns: (() => void)[] = [];
  const clock: Clock = { wallMs: () => 0, monotonicMs: () => 0, after: () => ({ cancel() {} }), soon: (fn) => void turns.push(fn) };
  const nextTurn = async () => {
    for (const fn of turns.splice(0)) fn();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const log = new MemoryLog({ clock, limits: MEMORY_LOG_LIMITS });
  log.store.ensureTopics([{ ...DELETED, partitions: 1 }]);
  const reading = caseOf(log).read({ group: "group", topics: [TOPIC], from: "committed" });
  await nextTurn();
  const read = await reading;
  await nextTurn();
  return { log, nextTurn, read };
}

describe("turns of the in-memory log", () => {
  test("an idle reader gets a record in the first turn after its append", async () => {
    const { log, nextTurn, read } = await idleReader();
    append(log, 0, ["r"]);
    assert.equal(read.records.length, 0, "a batch begins in a turn of its own");
    await nextTurn();
    assert.deepEqual(read.texts(), ["r"]);
  });

  test("360 records handed over in one turn leave as one record and one batch of 359", async () => {
    const { log, nextTurn, read } = await idleReader();
    append(log, 0, numbered("r", 360));
    await nextTurn();
    await nextTurn();
    await nextTurn();
    assert.deepEqual(read.batches.map((batch) => batch.records.length), [1, 359]);
    assert.deepEqual(read.texts(), numbered("r", 360));
  });

  test("a seeded source of randomness cuts batches anywhere, and loses nothing", async () => {
    const scheduler = new FakeScheduler(7);
    const log = new MemoryLog({ clock: scheduler, random: scheduler.random, limits: MEMORY_LOG_LIMITS });
    log.store.ensureTopics([{ ...DELETED, partitions: 1 }]);
    append(log, 0, numbered("r", 400));
    const reading = caseOf(log).read({ group: "group", topics: [TOPIC], from: "committed" });
    await scheduler.advance(0);
    const read = await reading;
    assert.deepEqual(read.texts(), numbered("r", 400));
    assert.ok(new Set(read.batches.map((batch) => batch.records.length)).size > 1);
  });
});

describe("hand-over in the in-memory log", () => {
  test("a handler that never ends loses its partition after handoverMs; its commit is refused, its late end changes nothing", async () => {
    const { scheduler, log, read, done, other, rest } = setUp(1, { handoverMs: 5_000 });
    const stuck = latch();
    const slow = await read("group", () => stuck.opened);
    for (const partition of [0, 1]) append(log, partition, ["r"]);
    await rest();
    const fresh = await read("group", undefined, other());
    await scheduler.advance(4_900);
    assert.deepEqual(fresh.texts(), [], "the batch under way has its time");
    await scheduler.advance(200);
    const taken = fresh.records.map((record) => record.partition);
    assert.equal(taken.length, 1);
    const partition = taken[0] ?? -1;
    await assert.rejects(done(slow.commit([{ topic: TOPIC, partition, offset: 1 }])), { code: "stopped" });
    await done(fresh.commit([{ topic: TOPIC, partition, offset: 1 }]));
    stuck.open();
    append(log, partition, ["next"]);
    await rest();
    assert.deepEqual(fresh.texts(), ["r", "next"]);
    assert.ok(!slow.texts().includes("next"));
    assert.deepEqual(await done(log.committed("group", TOPIC)), [{ topic: TOPIC, partition, offset: 1 }]);
  });

  test("a batch that was due when its reader left is not handed over", async () => {
    const { log, read, done, rest } = setUp();
    const reader = await read("group");
    append(log, 0, ["r"]);
    await done(reader.stop());
    await rest();
    assert.deepEqual(reader.batches, []);
  });

  test("a reader that leaves on hearing of a gap gets nothing after it", async () => {
    const { log, done, rest } = setUp();
    const slow = latch();
    const heard: string[] = [];
    const subscription = await done(
      log.consume({
        group: "group",
        topics: [TOPIC],
        from: "committed",
        async onBatch(batch) {
          heard.push(`batch at ${batch.records[0]?.offset}`);
          await slow.opened;
        },
        onGap(gap) {
          heard.push(`gap to ${gap.start}`);
          void subscription.stop();
        },
        onCrash: () => heard.push("crash"),
      }),
    );
    append(log, 0, ["a"]);
    await rest();
    append(log, 0, ["b", "c"]);
    await rest();
    log.trim({ topic: TOPIC, partition: 0, offset: 2 });
    slow.open();
    await rest();
    assert.deepEqual(heard, ["batch at 0", "gap to 2"]);
  });

  test("a commit keeps what the member holds, and names what it does not", async () => {
    const { log, read, done, other, rest } = setUp();
    const first = await read("group");
    const second = await read("group", undefined, other());
    for (const partition of [0, 1]) append(log, partition, ["r"]);
    await rest();
    const mine = first.records[0]?.partition ?? -1;
    const theirs = second.records[0]?.partition ?? -1;
    const both = [mine, theirs].map((partition) => ({ topic: TOPIC, partition, offset: 1 }));
    await assert.rejects(done(first.commit(both)), (error: Error) => error.message.includes(`${TOPIC}/${theirs} `) && !error.message.includes(`${TOPIC}/${mine}`));
    assert.deepEqual(await done(log.committed("group", TOPIC)), [{ topic: TOPIC, partition: mine, offset: 1 }]);
  });

  test("a commit beyond the end or of another topic is refused", async () => {
    const { read, done } = setUp();
    const reader = await read("group");
    for (const position of [{ topic: TOPIC, partition: 0, offset: 1 }, { topic: TOPIC, partition: 9, offset: 0 }, { topic: "other", partition: 0, offset: 0 }]) {
      await assert.rejects(done(reader.commit([position])), { code: "invalid_value" });
    }
  });

  test("given positions are for a group of one's own", async () => {
    const { log, read, done } = setUp();
    await read("group");
    await assert.rejects(done(caseOf(log).read({ group: "group", topics: [TOPIC], from: [] })), { code: "invalid_value" });
  });

  test("whatever the seed: members come and go, each record is read, and the group ends at the end", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const { scheduler, log, read, done, other } = setUp(seed, { maxBatchRecords: 3 }, 4);
      const chance = scheduler.random;
      const seen = new Set<string>();
      const member = async (): Promise<{ stop(): Promise<void> }> => {
        const reader = await read("group", async (batch) => {
          await new Promise<void>((resolve) => scheduler.after(chance.next() * 20, resolve));
          for (const record of batch.records) seen.add(`${batch.partition}/${record.offset}`);
          const last = batch.records.at(-1)?.offset ?? -1;
          await reader.commit([{ topic: TOPIC, partition: batch.partition, offset: last + 1 }]).catch(() => undefined);
        }, other());
        return reader;
      };
      const members = [await member()];
      for (let step = 0; step < 12; step++) {
        append(log, step % 4, numbered("r", 5));
        if (chance.next() < 0.4) members.push(await member());
        else if (members.length > 1) await done(members.shift()?.stop() ?? Promise.resolve());
        await scheduler.advance(chance.next() * 30);
      }
      await scheduler.advance(60_000);
      assert.equal(seen.size, 60, `seed ${seed}`);
      const ends = (await done(log.committed("group", TOPIC))).map((position) => position.offset);
      assert.deepEqual(ends, [15, 15, 15, 15], `seed ${seed}`);
      for (const left of members) await done(left.stop());
    }
  });
});

describe("a process that dies on the in-memory log", () => {
  test("its partitions move when its session has run out, and it hears nothing more", async () => {
    const { scheduler, log, read, other, rest } = setUp(1, { sessionMs: 6_000 });
    const dying = other();
    const dead = await read("group", undefined, dying);
    const heir = await read("group");
    dying.kill();
    for (const partition of [0, 1]) append(log, partition, ["r"]);
    await scheduler.advance(5_999);
    assert.equal(heir.records.length, 1, "only its own partition");
    await scheduler.advance(1);
    await rest();
    assert.deepEqual(heir.records.map((record) => record.partition).sort(), [0, 1]);
    assert.deepEqual([dead.records, dead.crashes], [[], []]);
  });

  test("a handler that was running at its death changes nothing: neither its commit nor its failure is heard", async () => {
    const { scheduler, log, read, done, other } = setUp(1, { sessionMs: 6_000 });
    const dying = other();
    const death = latch();
    const dead = await read(
      "group",
      async (batch) => {
        await death.opened;
        void dead.commit([{ topic: TOPIC, partition: batch.partition, offset: 1 }]);
        throw new Error("nobody hears this");
      },
      dying,
    );
    for (const partition of [0, 1]) append(log, partition, ["r"]);
    await scheduler.until(() => dead.batches.length === 2);
    const heir = await read("group");
    dying.kill();
    death.open();
    await scheduler.advance(5_000);
    assert.deepEqual(heir.records, []);
    assert.deepEqual(await done(log.committed("group", TOPIC)), []);
    await scheduler.advance(1_000);
    assert.equal(heir.records.length, 2);
    assert.deepEqual(dead.crashes, []);
  });

  test("what waited in its producer is lost, and what was in flight may be there without an answer", async () => {
    const { log, done, other, rest } = setUp();
    const dying = other();
    const answers: unknown[] = [];
    append(dying, 0, ["in flight", "waiting"], (error) => answers.push(error));
    dying.kill();
    await rest();
    assert.deepEqual(answers, []);
    assert.equal((await done(log.bounds(TOPIC)))[0]?.end, 1);
  });
});

describe("bounds of the in-memory log", () => {
  test("one topic too many and one group too many are answered with full", async () => {
    const { log, read, done } = setUp(1, { maxTopics: 2, maxGroups: 1 });
    await done(log.ensureTopics([{ ...DELETED, name: "second", partitions: 1 }]));
    await assert.rejects(done(log.ensureTopics([{ ...DELETED, name: "third", partitions: 1 }])), { code: "full" });
    const reader = await read("group");
    await assert.rejects(read("another"), { code: "full" });
    await done(reader.stop());
    await done(log.deleteGroup("group"));
    await read("another");
  });

  test("a record over the record bound settles as invalid", async () => {
    const { log, rest } = setUp(1, { maxRecordBytes: 10 });
    const answers: (Error | null)[] = [];
    append(log, 0, ["much too long a text"], (error) => answers.push(error));
    await rest();
    assert.ok(isLockstepError(answers[0], "invalid_value"));
  });

  test("retention passes a reader that is busy: the gap is told before it reads on", async () => {
    const { scheduler, log, read, rest } = setUp(1, { maxRecordsPerPartition: 10 });
    const slow = latch();
    const reader = await read("group", () => slow.opened);
    append(log, 0, ["first"]);
    await rest();
    append(log, 0, numbered("r", 50));
    await rest();
    slow.open();
    await scheduler.advance(1);
    assert.deepEqual(reader.gaps, [{ topic: TOPIC, partition: 0, wanted: 1, start: reader.records[1]?.offset }]);
    assert.equal(reader.texts().at(-1), "r-49");
  });
});
