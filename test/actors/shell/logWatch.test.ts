// Owns the cases of a log that does not answer: who ends, who keeps its accounts.

import { test } from "node:test";
import assert from "node:assert/strict";
import { LogWatch } from "../../../actors/shell/logWatch.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

function watching() {
  const scheduler = new FakeScheduler(1);
  let stoodStillMs = 0;
  const clock: Clock = { wallMs: () => scheduler.wallMs(), monotonicMs: () => scheduler.monotonicMs() + stoodStillMs, after: (delayMs, fn) => scheduler.after(delayMs, fn), soon: (fn) => scheduler.soon(fn) };
  const readers = { ticks: clock.monotonicMs() as number | null, rows: clock.monotonicMs() as number | null };
  const seen = { others: true, cutOff: [] as Error[] };
  const watch = new LogWatch({ heardAtMs: () => [readers.ticks, readers.rows], othersLogOk: () => seen.others, clock, logger: recordingLogger(), silentMs: 5_000, cutOffMs: 30_000, onCutOff: (error) => seen.cutOff.push(error) });
  watch.start();
  /** Lets seconds pass in which these readers hear of the log. */
  const pass = async (seconds: number, ...hearing: readonly ("ticks" | "rows")[]) => {
    for (let second = 0; second < seconds; second++) {
      for (const reader of hearing) readers[reader] = clock.monotonicMs();
      await scheduler.advance(1_000);
    }
  };
  return { seen, watch, pass, standStill: (ms: number) => void (stoodStillMs += ms) };
}

test("while both readers hear of the log it is ok, and nobody ends", async () => {
  const { seen, watch, pass } = watching();
  await pass(120, "ticks", "rows");
  assert.equal(watch.ok, true);
  assert.deepEqual(seen.cutOff, []);
});

for (const hearing of [[], ["ticks"], ["rows"]] as const) {
  test(`a node that is cut off (${hearing.length === 0 ? "wholly" : `only ${hearing[0]} are heard`}) ends after 30 s, once, when others reach the log`, async () => {
    const { seen, watch, pass } = watching();
    await pass(10, "ticks", "rows");
    await pass(8, ...hearing);
    assert.equal(watch.ok, false);
    await pass(20, ...hearing);
    assert.deepEqual(seen.cutOff, []);
    await pass(10, ...hearing);
    assert.deepEqual(seen.cutOff.map((error) => (error as { code?: string }).code), ["unreachable"]);
    await pass(60, ...hearing);
    assert.equal(seen.cutOff.length, 1);
  });
}

test("a log that is down for all ends nobody, however long; it is not ok meanwhile and ok afterwards", async () => {
  const { seen, watch, pass } = watching();
  seen.others = false;
  await pass(600);
  assert.equal(watch.ok, false);
  assert.deepEqual(seen.cutOff, []);
  await pass(2, "ticks", "rows");
  assert.equal(watch.ok, true);
  seen.others = true;
  await pass(20);
  assert.deepEqual(seen.cutOff, [], "the silence before does not count any more");
});

test("time in which this process stood still is no silence of the log", async () => {
  const { seen, watch, pass, standStill } = watching();
  await pass(5, "ticks", "rows");
  standStill(120_000);
  await pass(1);
  assert.deepEqual(seen.cutOff, []);
  await pass(3, "ticks", "rows");
  assert.equal(watch.ok, true);
});

test("before it starts and after it stops it vouches for nothing", async () => {
  const { watch, pass } = watching();
  await pass(3, "ticks", "rows");
  watch.stop();
  assert.equal(watch.ok, false);
  assert.equal(watch.silenceMs, null);
});
