// Owns the cases of a fenced node's writer and the watch over the log together: having left the writers is no silence of
// the log, and a log that is silent to a writer is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cycleMs, STEADY } from "../../../actors/core/leaseProfile.ts";
import { LogWatch } from "../../../actors/shell/logWatch.ts";
import { WriterSeat } from "../../../actors/shell/writerSeat.ts";
import { elapsed } from "../../sim/cell.ts";
import { silent } from "../../support/silent.ts";
import { range, writing } from "./writing.ts";

/** A writer on the in-memory log, its seat, and the watch as a node joins them; other nodes always say that they reach the log. */
async function fencing() {
  const run = await writing();
  const { clock, log } = run;
  const gate = { open: true };
  const cutOff: Error[] = [];
  let silentSinceMs = Infinity;
  const consume = log.consume.bind(log);
  log.consume = async (options) => {
    const subscription = await consume(options);
    return { ...subscription, fetchedAtMs: () => Math.min(clock.monotonicMs(), silentSinceMs) };
  };
  const seat = new WriterSeat({ make: run.writer, isOpen: () => gate.open, clock, logger: silent });
  const others = () => ({ reachLog: true, askedAtMs: clock.monotonicMs(), answeredSinceMs: 0 });
  const watch = new LogWatch({
    heardAtMs: () => [clock.monotonicMs(), ...seat.heardAtMs], others, clock, logger: silent,
    silentMs: 5_000, cycleMs: cycleMs(STEADY), cutOffMs: 30_000, onCutOff: (error) => cutOff.push(error),
  });
  await elapsed(clock, seat.start());
  watch.start();
  await clock.advance(60_000);
  const end = async (): Promise<void> => {
    watch.stop();
    await elapsed(clock, seat.stop());
    assert.equal(clock.pending, 0);
  };
  return { ...run, gate, cutOff, watch, seat, end, fallSilent: () => void (silentSinceMs = clock.monotonicMs()) };
}

test("a node that is fenced for long leaves the writers: its log is well, nobody ends, and it writes again when its gate is open", async () => {
  const run = await fencing();
  run.gate.open = false;
  for (let second = 0; second < 300; second++) {
    await run.clock.advance(1_000);
    assert.equal(run.watch.ok, true, `after ${second} s`);
  }
  run.events(...range(1, 10));
  await run.clock.advance(1_000);
  assert.deepEqual([run.store.rows.size, run.cutOff], [0, []], "it does not write");
  run.gate.open = true;
  await run.clock.advance(10_000);
  assert.deepEqual([run.store.rows.size, run.watch.ok, run.cutOff], [10, true, []]);
  await run.end();
});

test("row 36: a log that is silent to a writer that has not left ends the node", async () => {
  const run = await fencing();
  run.fallSilent();
  await run.clock.advance(10_000);
  assert.equal(run.watch.ok, false);
  await run.clock.advance(60_000);
  assert.equal(run.cutOff.length, 1);
  await run.end();
});
