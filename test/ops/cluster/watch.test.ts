// Owns the tests of watching a cluster: it ends, whatever becomes of what is looked at.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LOOK_LIMIT_MS, watch, type WatchOptions } from "../../../ops/cluster/watch.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { silent } from "../../support/silent.ts";

const LIMIT_MS = 10_000;
const never = (): Promise<number> => new Promise(() => undefined);
const blind = (): Promise<number> => Promise.reject(new Error("nothing answers"));

/** What the watch comes to within a minute more than its limit and one look, and how long it took. */
async function watched(change: Partial<WatchOptions<number>>): Promise<{ readonly end: string; readonly tookMs: number }> {
  const clock = new FakeScheduler(1);
  const startMs = clock.monotonicMs();
  let end = "it never ended";
  let tookMs = Infinity;
  const options = { look: () => Promise.resolve(1), isSo: () => false, after: () => undefined, limitMs: LIMIT_MS, clock, logger: silent, ...change };
  void watch(options).then((look) => `look ${look}`, (error: Error) => error.message).then((text) => {
    [end, tookMs] = [text, clock.monotonicMs() - startMs];
  });
  await clock.advance(LIMIT_MS + LOOK_LIMIT_MS + 60_000);
  return { end, tookMs };
}

test("it resolves with the look in which it is so, over looks that failed", async () => {
  let looks = 0;
  const { end, tookMs } = await watched({ look: () => (++looks === 2 ? blind() : Promise.resolve(looks)), isSo: (look) => look === 3 });
  assert.equal(end, "look 3");
  assert.ok(tookMs < LIMIT_MS);
});

test("it resolves with the last look when the time is over", async () => {
  const { end, tookMs } = await watched({});
  assert.equal(end, "look 1");
  assert.ok(tookMs >= LIMIT_MS && tookMs < LIMIT_MS + 2_000, String(tookMs));
});

test("what ends it beside the looks is seen also while every look fails", async () => {
  const seen: (number | null)[] = [];
  const after = (look: number | null): void => {
    if (seen.push(look) === 3) throw new Error("the brokers have ended");
  };
  const { end, tookMs } = await watched({ look: blind, after });
  assert.deepEqual([end, seen], ["the brokers have ended", [null, null, null]]);
  assert.ok(tookMs < LIMIT_MS, String(tookMs));
});

test("it ends with their failure when every look fails", async () => {
  const { end, tookMs } = await watched({ look: blind });
  assert.equal(end, "nothing answers");
  assert.ok(tookMs < LIMIT_MS + 2_000, String(tookMs));
});

test("it ends when a look is never answered", async () => {
  const { end } = await watched({ look: never });
  assert.match(end, /no answer within/);
});
