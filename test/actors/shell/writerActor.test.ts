// Owns the cases of batches: what goes in together, partitions, offsets, stops.

import { test } from "node:test";
import assert from "node:assert/strict";
import { WriterActor } from "../../../actors/shell/writerActor.ts";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { pack } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { elapsed } from "../../sim/cell.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";
import { range, TOPIC, writing } from "./writing.ts";

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

test("partitions do not wait for one another: one whose rows cannot be written holds up no other", async () => {
  const run = await writing(1, 3);
  const writer = await run.start();
  const write = run.store.write.bind(run.store);
  run.store.write = (events) => (events.some((event) => event.kind === "pair" && event.pair.masterTicket === 1) ? Promise.reject(new LockstepError("database_busy", "57014: statement timeout")) : write(events));
  run.events(1);
  run.append(run.event(2), 1);
  await run.clock.advance(1_000);
  run.append(run.event(3), 2);
  run.append(run.event(4), 1);
  await run.clock.advance(20_000);
  assert.deepEqual([...run.store.rows.keys()], [2, 3, 4]);
  assert.deepEqual(writer.waiting?.partitions, [0]);
  assert.deepEqual(await run.committed(1), 2);
});

test("what comes after a quiet time is written at once; what follows it is gathered", async () => {
  const run = await writing();
  await run.start();
  run.events(1);
  await run.clock.advance(50);
  assert.deepEqual(run.store.batches, [[1]]);
  for (let number = 2; number <= 11; number++) {
    run.events(number);
    await run.clock.advance(4);
  }
  await run.clock.advance(200);
  assert.equal(run.store.rows.size, 11);
  assert.ok(run.store.batches.slice(1).length <= 2, JSON.stringify(run.store.batches));
});

test("a drain waits for what the log has, and not for a database that takes nothing", async () => {
  const run = await writing();
  const writer = await run.start();
  const write = run.store.write.bind(run.store);
  run.store.write = async (events) => {
    await new Promise<void>((resolve) => void run.clock.after(200, resolve));
    return write(events);
  };
  run.events(...range(1, 200));
  await run.clock.advance(100);
  assert.equal(run.store.rows.size, 0);
  await elapsed(run.clock, writer.drain(60_000));
  assert.deepEqual([run.store.rows.size, await run.committed()], [200, 200]);
  run.store.down = true;
  run.events(201);
  await run.clock.advance(1_000);
  const startMs = run.clock.monotonicMs();
  await elapsed(run.clock, writer.drain(10_000));
  assert.ok(run.clock.monotonicMs() - startMs < 1_000);
});

test("a writer that stops gives its partition up while the database swallows its statement: the next one writes what it read", async () => {
  const run = await writing();
  const write = run.store.write.bind(run.store);
  let swallowed = 0;
  let answer = (): void => undefined;
  run.store.write = (events) => {
    swallowed += 1;
    return new Promise((resolve) => (answer = () => resolve(write(events))));
  };
  const writer = await run.start();
  run.events(...range(1, 5));
  await run.clock.advance(60_000);
  const startMs = run.clock.monotonicMs();
  await elapsed(run.clock, writer.stop());
  assert.ok(run.clock.monotonicMs() - startMs <= 1_000, "although its statement is under way");
  assert.deepEqual([swallowed, await run.committed()], [1, 0]);

  run.store.write = write;
  await run.start();
  await run.clock.advance(1_000);
  assert.deepEqual([run.store.rows.size, await run.committed()], [5, 5]);
  answer();
  await run.clock.advance(1_000);
  assert.deepEqual([await run.committed(), run.crashes], [5, []], "what comes late commits nothing");
});

test("a writer that stops waits for a statement that ends soon", async () => {
  const run = await writing();
  const write = run.store.write.bind(run.store);
  run.store.write = async (events) => {
    await new Promise<void>((resolve) => void run.clock.after(600, resolve));
    return write(events);
  };
  const writer = await run.start();
  run.events(1);
  await run.clock.advance(100);
  await elapsed(run.clock, writer.stop());
  assert.deepEqual([run.store.rows.size, await run.committed()], [1, 1]);
});
