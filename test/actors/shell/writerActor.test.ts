// Owns the cases of turning events into rows.

import { test } from "node:test";
import assert from "node:assert/strict";
import { WriterActor } from "../../../actors/shell/writerActor.ts";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { encode, PAIR_EVENT, pack } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { PairStore } from "../../../protocol/ports/storage.ts";
import { topicName, topicSpecs } from "../../../protocol/topics.ts";
import { pair, ticket } from "../core/examples.ts";
import { CELL, CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const TOPIC = topicName(CELL, "pair-events");
const FOLLOWER = accountId("follower1");

/** Rows by master ticket and how often each was written; some rows are bad, and the database may be down. */
class ScriptedStore implements PairStore {
  readonly rows = new Map<number, number>();
  readonly batches: number[][] = [];
  readonly rejected: { readonly masterTicket: number; readonly code: string }[] = [];
  readonly bad = new Set<number>();
  down = false;
  rejectsFail = 0;

  write(events: readonly PairEvent[]): Promise<{ written: number; fenced: number }> {
    const tickets = events.map((event) => (event.kind === "pair" ? event.pair.masterTicket : 0));
    if (this.down) return Promise.reject(new LockstepError("database_busy", "no connection"));
    if (tickets.some((number) => this.bad.has(number))) return Promise.reject(new LockstepError("row_fault", "refused", Object.assign(new Error("refused"), { code: "23514" })));
    this.batches.push(tickets);
    for (const number of tickets) this.rows.set(number, (this.rows.get(number) ?? 0) + 1);
    return Promise.resolve({ written: events.length, fenced: 0 });
  }

  reject(event: PairEvent, { code }: { readonly code: string }): Promise<void> {
    if (this.rejectsFail-- > 0) return Promise.reject(new LockstepError("database_busy", "no connection"));
    this.rejected.push({ masterTicket: event.kind === "pair" ? event.pair.masterTicket : 0, code });
    return Promise.resolve();
  }

  rowsOf(): Promise<[]> {
    return Promise.resolve([]);
  }

  counts(): Promise<{ pairs: number; rejected: number }> {
    return Promise.resolve({ pairs: this.rows.size, rejected: this.rejected.length });
  }
}

async function writing(seed = 1) {
  const clock = new FakeScheduler(seed);
  const log = new MemoryLog({ clock, random: clock.random, limits: MEMORY_LOG_LIMITS });
  await elapsed(clock, log.ensureTopics(topicSpecs(CELL, 1)));
  const producer = log.producer({ maxBuffered: 1_000, delivery: "critical" });
  const store = new ScriptedStore();
  const metrics = new CountingMetrics();
  const crashes: Error[] = [];
  const writer = (): WriterActor => new WriterActor({ log, group: "writers", topic: TOPIC, pairs: store, clock, random: clock.random, logger: recordingLogger(), metrics, batchRows: 50, batchMs: 100, onCrash: (error) => crashes.push(error) });
  const append = (value: Uint8Array): void => void producer.append({ topic: TOPIC, partition: 0, key: FOLLOWER, value });
  return {
    clock, log, store, metrics, crashes, writer, append,
    events: (...tickets: readonly number[]) => {
      for (const number of tickets) append(encode(PAIR_EVENT, { kind: "pair", follower: FOLLOWER, epoch: 1 as Epoch, n: number, pair: pair({ masterTicket: ticket(number) }) }));
    },
    start: async (made = writer()) => {
      await elapsed(clock, made.start());
      return made;
    },
    committed: async () => (await elapsed(clock, log.committed("writers", TOPIC)))[0]?.offset ?? 0,
  };
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test("events go in in batches, and offsets are committed after them", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const run = await writing(seed);
    const writer = await run.start();
    run.events(...range(1, 120));
    await run.clock.advance(1_000);
    assert.deepEqual(run.store.batches.flat(), range(1, 120), `seed ${seed}`);
    assert.equal(await run.committed(), 120);
    await elapsed(run.clock, writer.stop());
    assert.equal(run.clock.pending, 0);
  }
});

test("a bad row is halved out: the others go in once, in order, the bad ones are kept aside with their code", async () => {
  const run = await writing();
  [7, 8, 31].forEach((number) => run.store.bad.add(number));
  run.store.rejectsFail = 2;
  await run.start();
  run.events(...range(1, 40));
  await run.clock.advance(5_000);
  assert.deepEqual(run.store.batches.flat(), range(1, 40).filter((number) => !run.store.bad.has(number)));
  assert.deepEqual(run.store.rejected, [7, 8, 31].map((masterTicket) => ({ masterTicket, code: "23514" })));
  assert.deepEqual([run.metrics.of("rows_written"), run.metrics.of("rows_rejected"), await run.committed()], [37, 3, 40]);
});

test("a database that is down keeps the batch: nothing is committed, nothing rejected, and all goes in later, once", async () => {
  const run = await writing();
  await run.start();
  run.store.down = true;
  run.events(...range(1, 30));
  await run.clock.advance(60_000);
  assert.deepEqual([await run.committed(), run.store.rejected], [0, []]);
  run.store.down = false;
  run.events(...range(31, 60));
  await run.clock.advance(31_000);
  assert.deepEqual(run.store.batches.flat(), range(1, 60));
  assert.equal(await run.committed(), 60);
});

test("a database that goes down while a bad row is looked for rejects no good one", async () => {
  const run = await writing();
  run.store.bad.add(20);
  await run.start();
  const write = run.store.write.bind(run.store);
  let calls = 0;
  run.store.write = (events) => (++calls > 2 && calls < 6 ? Promise.reject(new LockstepError("database_busy", "no connection")) : write(events));
  run.events(...range(1, 40));
  await run.clock.advance(60_000);
  assert.deepEqual(run.store.rejected.map(({ masterTicket }) => masterTicket), [20]);
  assert.deepEqual([...run.store.rows.keys()].sort((a, b) => a - b), range(1, 40).filter((number) => number !== 20));
});

test("a crash between rows and commit reads the rows again: none is lost", async () => {
  const run = await writing();
  const other = new MemoryLog({ clock: run.clock, random: run.clock.random, limits: MEMORY_LOG_LIMITS }, run.log.store);
  const write = run.store.write.bind(run.store);
  run.store.write = (events) => {
    other.kill();
    return write(events);
  };
  const dying = new WriterActor({ log: other, group: "writers", topic: TOPIC, pairs: run.store, clock: run.clock, random: run.clock.random, logger: recordingLogger(), metrics: run.metrics, batchRows: 50, batchMs: 100, onCrash: () => undefined });
  await run.start(dying);
  run.events(...range(1, 10));
  await run.clock.advance(1_000);
  assert.ok(run.store.rows.size > 0);
  assert.equal(await run.committed(), 0);
  run.store.write = write;
  await run.start();
  await run.clock.advance(20_000);
  assert.deepEqual([...run.store.rows.keys()].sort((a, b) => a - b), range(1, 10));
  assert.equal(await run.committed(), 10);
});

test("a restart goes on after what was committed", async () => {
  const run = await writing();
  const first = await run.start();
  run.events(...range(1, 10));
  await run.clock.advance(1_000);
  await elapsed(run.clock, first.stop());
  run.events(...range(11, 20));
  await run.start();
  await run.clock.advance(1_000);
  assert.deepEqual([...run.store.rows], range(1, 20).map((number) => [number, 1]));
});

test("a stop does not wait for a database that is down", async () => {
  const run = await writing();
  const writer = await run.start();
  run.store.down = true;
  run.events(1);
  await run.clock.advance(60_000);
  const startMs = run.clock.monotonicMs();
  await elapsed(run.clock, writer.stop());
  assert.ok(run.clock.monotonicMs() - startMs < 100);
  assert.equal(await run.committed(), 0);
});

test("bytes that nobody can read are passed over and counted; an event of a newer release is not", async () => {
  const run = await writing();
  const writer = await run.start();
  run.append(new Uint8Array([0xc1, 1, 2]));
  run.events(1);
  await run.clock.advance(1_000);
  assert.deepEqual([run.store.rows.size, run.metrics.of("rows_rejected"), await run.committed(), run.crashes.length], [1, 1, 2, 0]);
  run.events(2);
  run.append(pack({ schema: "pair-event", version: 99, value: {} }));
  run.events(3);
  await run.clock.advance(1_000);
  assert.deepEqual([...run.store.rows.keys()], [1, 2], "what came before it goes in");
  assert.equal(await run.committed(), 3, "never committed past");
  assert.deepEqual(writer.blockedPartitions, [0]);
  assert.deepEqual(run.crashes, []);
  await elapsed(run.clock, writer.stop());
  assert.equal(await run.committed(), 3);
});

test("a commit that the log did not take is tried again, though nothing new comes; a partition that is another's is left to it", async () => {
  for (const code of ["unreachable", "stopped"] as const) {
    const run = await writing();
    let refusals = 2;
    let asked = 0;
    const consume = run.log.consume.bind(run.log);
    run.log.consume = async (options) => {
      const subscription = await consume(options);
      const commit: typeof subscription.commit = (positions) => {
        asked += 1;
        return refusals-- > 0 ? Promise.reject(new LockstepError(code, "not now")) : subscription.commit(positions);
      };
      return { ...subscription, commit };
    };
    await run.start();
    run.events(1);
    await run.clock.advance(10_000);
    assert.deepEqual([asked, await run.committed()], code === "unreachable" ? [3, 1] : [1, 0]);
  }
});
