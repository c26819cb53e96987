// Owns the cases of pacing: bursts, the pace after them, rests, and who would wait too long.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextTurn, type Pace } from "../../../actors/core/pacing.ts";
import { LoginPacer } from "../../../actors/drivers/loginPacer.ts";

const PACE: Pace = { perSecond: 10, burst: 5, maxWaitMs: 1_000 };

/** What each of those who come at these moments is told. */
function waits(atMs: readonly number[], pace = PACE): readonly (number | null)[] {
  let paidUntilMs = -Infinity;
  return atMs.map((nowMs) => {
    const turn = nextTurn(paidUntilMs, nowMs, pace);
    if (turn.kind === "full") return null;
    paidUntilMs = turn.paidUntilMs;
    return turn.waitMs;
  });
}

test("a burst begins at once, then one after the other at the pace", () => assert.deepEqual(waits([0, 0, 0, 0, 0, 0, 0, 50]), [0, 0, 0, 0, 0, 100, 200, 250]));

test("after a rest the burst is there again, and no more than that", () => assert.deepEqual(waits([0, 0, 0, 0, 0, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000]), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100]));

test("who would wait too long is told so and takes nobody's turn", () => {
  const told = waits(Array.from({ length: 20 }, () => 0));
  assert.deepEqual([told[14], told[15], told[19]], [1_000, null, null]);
});

test("in no second do more begin than the burst and the pace allow", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 200 }), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), (moments, perSecond, burst) => {
      const atMs = [...moments].sort((a, b) => a - b);
      const begun = waits(atMs, { perSecond, burst, maxWaitMs: Infinity }).map((waitMs, index) => (atMs[index] ?? 0) + (waitMs ?? 0));
      for (const from of begun) {
        const within = begun.filter((at) => at >= from && at < from + 1_000 - 1e-6).length;
        assert.ok(within <= perSecond + burst, `${within} from ${from} on`);
      }
    }),
  );
});

test("each broker's host has a pace of its own; a pace that is none is refused", () => {
  const pacer = new LoginPacer({ monotonicMs: () => 0 }, { perSecond: 1, burst: 1, maxWaitMs: 1_000 });
  assert.deepEqual(["a", "a", "a", "b"].map((host) => pacer.reserve(host)), [0, 1_000, null, 0]);
  for (const wrong of [{ perSecond: 0 }, { burst: 0 }, { burst: 1.5 }, { maxWaitMs: -1 }, { perSecond: Number.NaN }]) {
    assert.throws(() => new LoginPacer({ monotonicMs: () => 0 }, { ...PACE, ...wrong }), { code: "configuration" });
  }
});
