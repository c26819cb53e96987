// Owns the cases of a log that does not answer: who ends, who keeps its accounts.

import { test } from "node:test";
import assert from "node:assert/strict";
import { cycleMs, FAST, PUBLISHED, STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { isBelieved, LogWatch, type OthersWord } from "../../../actors/shell/logWatch.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const SILENT_MS = 5_000;

function watching(profile: LeaseProfile = STEADY) {
  const scheduler = new FakeScheduler(1);
  let stoodStillMs = 0;
  const clock: Clock = { wallMs: () => scheduler.wallMs(), monotonicMs: () => scheduler.monotonicMs() + stoodStillMs, after: (delayMs, fn) => scheduler.after(delayMs, fn), soon: (fn) => scheduler.soon(fn) };
  const readers = { ticks: clock.monotonicMs() as number | null, rows: clock.monotonicMs() as number | null };
  const seen = { others: true, databaseDown: false, cutOff: [] as Error[], cutOffAtMs: 0 };
  let word: OthersWord | null = null;
  let answeredSinceMs: number | null = null;
  // As the lease keeper renews.
  const renew = (): void => {
    const askedAtMs = clock.monotonicMs();
    word = seen.databaseDown ? word : { reachLog: seen.others, askedAtMs, answeredSinceMs: answeredSinceMs ?? askedAtMs };
    answeredSinceMs = seen.databaseDown ? null : (answeredSinceMs ?? askedAtMs);
    clock.after(seen.databaseDown ? profile.retryMs : profile.renewMs, renew);
  };
  renew();
  const onCutOff = (error: Error): void => {
    seen.cutOff.push(error);
    seen.cutOffAtMs = scheduler.monotonicMs();
  };
  const watch = new LogWatch({ heardAtMs: () => [readers.ticks, readers.rows], others: () => word, clock, logger: recordingLogger(), silentMs: SILENT_MS, cycleMs: cycleMs(profile), cutOffMs: 30_000, onCutOff });
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
  test(`row 36: a node that is cut off (${hearing.length === 0 ? "wholly" : `only ${hearing[0]} are heard`}) ends after 30 s, once, when others reach the log`, async () => {
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

test("a word from before the others can have noticed ends nobody, however long the silence", async () => {
  const { seen, pass } = watching(PUBLISHED);
  await pass(10, "ticks", "rows");
  await pass(20); // the renewal of 20 s still says that others reach the log: they have only just heard nothing
  seen.others = false;
  await pass(600);
  assert.deepEqual(seen.cutOff, []);
});

for (const [name, profile] of Object.entries({ PUBLISHED, STEADY, FAST })) {
  test(`of a log that is down for all nobody ends, whenever the others' rows say so (${name})`, async () => {
    for (let offset = 0; offset <= profile.renewMs; offset += 500) {
      const { seen, pass } = watching(profile);
      await pass(60 + offset / 1_000, "ticks", "rows");
      // Another's row says it with its first renewal after it has noticed.
      await pass((SILENT_MS + 1_000 + profile.renewMs) / 1_000);
      seen.others = false;
      await pass(120);
      assert.deepEqual(seen.cutOff, [], `offset ${offset} ms`);
    }
  });
  test(`a node that is cut off alone ends (${name}), as soon as the others' rows are newer than its silence`, async () => {
    const { seen, pass } = watching(profile);
    await pass(60, "ticks", "rows");
    await pass(90);
    assert.equal(seen.cutOff.length, 1);
    const afterMs = seen.cutOffAtMs - 60_000;
    assert.ok(afterMs >= 29_000 && afterMs <= Math.max(31_000, SILENT_MS + cycleMs(profile) + profile.renewMs + 1_000), `${afterMs} ms`);
  });
}

test("with the database away too nobody ends; nor when it comes back, with rows from before", async () => {
  const { seen, pass } = watching();
  await pass(60, "ticks", "rows");
  seen.databaseDown = true;
  await pass(45);
  assert.deepEqual(seen.cutOff, []);
  seen.databaseDown = false; // leases that were not renewed are live still
  await pass(cycleMs(STEADY) / 1_000 - 1);
  seen.others = false; // by now each node that is there has renewed
  await pass(120);
  assert.deepEqual(seen.cutOff, []);
});

test("a word counts from when it was asked for, and only as long as a cycle", () => {
  const bounds = { silentMs: 8_000, cycleMs: 12_000 };
  const word = (change: Partial<OthersWord> = {}): OthersWord => ({ reachLog: true, askedAtMs: 120_000, answeredSinceMs: 0, ...change });
  assert.equal(isBelieved(word(), 100_000, 132_000, bounds), true);
  assert.equal(isBelieved(word(), 100_000, 132_001, bounds), false, "too old");
  assert.equal(isBelieved(word(), 100_001, 132_000, bounds), false, "asked before the others' rows can say it");
  assert.equal(isBelieved(word({ answeredSinceMs: 108_001 }), 100_000, 132_000, bounds), false, "the database has only just come back");
  assert.equal(isBelieved(word({ reachLog: false }), 100_000, 132_000, bounds), false);
  assert.equal(isBelieved(null, 0, 132_000, bounds), false);
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
