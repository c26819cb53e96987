// Owns the cases of what the database says to rows: whose fault it is, what is kept, what goes in.

import { test } from "node:test";
import assert from "node:assert/strict";
import { LockstepError } from "../../../protocol/errors.ts";
import { UnknownCommit } from "../../../protocol/unknownCommit.ts";
import { range, writing } from "./writing.ts";

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

test("a refusal that blames nobody is a row's where others of its batch go in: they do, and it is kept aside", async () => {
  for (const suspect of [1, 20, 40]) {
    const run = await writing(suspect);
    run.store.suspects = (number) => number === suspect;
    await run.start();
    run.events(0);
    await run.clock.advance(1_000);
    run.events(...range(1, 40));
    await run.clock.advance(10_000);
    assert.deepEqual(run.store.rejected, [{ masterTicket: suspect, code: "P0001" }]);
    assert.deepEqual([...run.store.rows], range(0, 40).filter((number) => number !== suspect).map((number) => [number, 1]));
    assert.equal(await run.committed(), 41);
  }
});

test("where every row fails alike it is the batch: it waits, loud, and goes in whole when it can", async () => {
  const run = await writing();
  run.store.suspects = () => true;
  const writer = await run.start();
  run.events(...range(1, 40));
  await run.clock.advance(120_000);
  assert.deepEqual([run.store.rejected, run.store.rows.size, await run.committed()], [[], 0, 0]);
  assert.deepEqual([writer.waiting?.why, writer.waiting?.isFault, writer.waiting?.partitions], ["P0001: not today", true, [0]]);
  assert.ok(run.metrics.of("batches_refused") > 3);
  run.store.suspects = () => false;
  await run.clock.advance(60_000);
  assert.deepEqual([...run.store.rows], range(1, 40).map((number) => [number, 1]));
  assert.deepEqual([run.store.rejected, writer.waiting, await run.committed()], [[], null, 40]);
});

test("a row that the fence keeps out proves nothing of the others: the batch waits", async () => {
  const run = await writing();
  run.store.suspects = (number) => number !== 7;
  run.store.tryOut = (events) => (events.some((event) => event.kind === "pair" && event.pair.masterTicket === 7) ? Promise.resolve({ written: 0, fenced: 1 }) : Promise.reject(run.store.suspicion));
  await run.start();
  run.events(...range(1, 8));
  await run.clock.advance(60_000);
  assert.deepEqual([run.store.rejected, run.store.rows.size], [[], 0]);
});

test("a commit whose answer was lost is read back: done, it counts once; not done, it is written again", async () => {
  for (const isDone of [true, false]) {
    const run = await writing();
    const write = run.store.write.bind(run.store);
    let lost = 0;
    run.store.write = async (events) => {
      if (lost++ > 0) return write(events);
      if (isDone) await write(events);
      run.store.down = true; // also when it is read back
      throw new UnknownCommit(new Error("cut"), { written: events.length, fenced: 0 }, events);
    };
    await run.start();
    run.events(...range(1, 10));
    await run.clock.advance(1_000);
    assert.equal(await run.committed(), 0);
    run.store.down = false;
    await run.clock.advance(30_000);
    assert.deepEqual([...run.store.rows], range(1, 10).map((number) => [number, 1]));
    assert.deepEqual([run.metrics.of("rows_written"), run.metrics.of("commits_unknown"), await run.committed()], [10, 1, 10]);
  }
});

test("sessions that are in the way are waited for in a few short tries, then in long ones", async () => {
  const run = await writing();
  const writer = await run.start();
  const triedMs: number[] = [];
  const write = run.store.write.bind(run.store);
  run.store.write = () => {
    triedMs.push(run.clock.monotonicMs());
    return Promise.reject(new LockstepError("database_contended", "40P01: deadlock"));
  };
  run.events(1);
  await run.clock.advance(2_000);
  const soon = triedMs.length;
  assert.ok(soon >= 6 && soon < 15, `${soon} tries in two seconds`);
  assert.equal(writer.waiting?.isFault, false);
  await run.clock.advance(300_000);
  assert.ok(triedMs.length < soon + 125, `${triedMs.length} tries in five minutes`);
  run.store.write = write;
  await run.clock.advance(60_000);
  assert.deepEqual([run.store.rejected, run.store.rows.size], [[], 1]);
});

test("a missing column is nobody's row: kept, loud, and healed when it is there", async () => {
  const run = await writing();
  const writer = await run.start();
  const write = run.store.write.bind(run.store);
  run.store.write = () => Promise.reject(new LockstepError("database_fault", "42703: column does not exist"));
  run.events(...range(1, 10));
  await run.clock.advance(30_000);
  assert.deepEqual([writer.waiting?.isFault, writer.waiting?.why, run.store.rejected], [true, "42703: column does not exist", []]);
  assert.ok(run.metrics.of("batches_refused") > 0);
  run.store.write = write;
  await run.clock.advance(60_000);
  assert.deepEqual([run.store.rows.size, writer.waiting], [10, null]);
});

test("however long a database was away, rows do not wait long after its return", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const run = await writing(seed);
    await run.start();
    run.store.down = true;
    run.events(...range(1, 10));
    await run.clock.advance(600_000 + 500 * seed); // it comes back at any place of a pause
    run.store.down = false;
    await run.clock.advance(5_000);
    assert.deepEqual([run.store.rows.size, await run.committed()], [10, 10], `seed ${seed}`);
  }
});
