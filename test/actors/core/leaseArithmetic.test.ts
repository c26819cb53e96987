// Owns the cases of the lease's arithmetic: deadlines, what is known of the database's clock, and the comparison of lists.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { expectedAt, heard, isAnother, jumpMs, together, type KnownClock } from "../../../actors/core/databaseClock.ts";
import { deadlineOf, divergenceMs, jumpToleranceMs, leftMs, patienceMs } from "../../../actors/core/leaseDeadline.ts";
import { FAST, PUBLISHED, STEADY } from "../../../actors/core/leaseProfile.ts";
import { compareOwned } from "../../../actors/core/ownedList.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { HeldAccount } from "../../../protocol/ports/storage.ts";

describe("a deadline", () => {
  const SENT = { monotonicMs: 1_000, wallMs: 5_000_000 };

  test("counts from the moment of sending, on both clocks", () => {
    assert.deepEqual(deadlineOf(SENT, FAST), { monotonicMs: 13_000, wallMs: 5_012_000 });
  });

  test("leaves what the clock that comes first leaves, and never less than nothing", () => {
    const deadline = deadlineOf(SENT, FAST);
    assert.equal(leftMs(deadline, { monotonicMs: 3_000, wallMs: 5_001_000 }), 10_000);
    assert.equal(leftMs(deadline, { monotonicMs: 1_000, wallMs: 5_011_000 }), 1_000, "a machine that was suspended");
    assert.equal(leftMs(deadline, { monotonicMs: 20_000, wallMs: 5_000_000 }), 0, "a wall clock that was put back");
  });

  test("row 20: an answer is waited for no longer than it is worth, and not at all at the end", () => {
    assert.deepEqual([patienceMs(FAST, 12_000), patienceMs(FAST, 900), patienceMs(FAST, 0)], [FAST.queryTimeoutMs, 900, 0]);
  });

  test("two moments tell how far the clocks went apart, either way", () => {
    assert.equal(divergenceMs(SENT, { monotonicMs: 2_000, wallMs: 5_004_000 }), 3_000);
    assert.equal(divergenceMs(SENT, { monotonicMs: 2_000, wallMs: 5_000_000 }), -1_000);
    assert.deepEqual([FAST, STEADY, PUBLISHED].map(jumpToleranceMs), [750, 3_750, 3_750]);
  });
});

describe("the database's clock", () => {
  const known = (nowMs: number, sentAtMs: number, readAtMs: number, timeline: number | null = 1): KnownClock => heard({ nowMs, timeline }, sentAtMs, readAtMs);

  test("a reply gives the interval between its sending and its reading", () => {
    assert.deepEqual(known(1_000_000, 10, 30), { fromMs: 999_970, toMs: 999_990, readAtMs: 30, timeline: 1 });
  });

  test("replies that overlap are one clock, however slow they were; and together they say more", () => {
    const [quick, slow] = [known(1_000_010, 10, 12), known(1_005_000, 4_500, 6_500)];
    assert.equal(jumpMs(quick, slow), 0);
    const both = together(quick, slow);
    assert.ok(both.toMs - both.fromMs < 20, `${both.toMs - both.fromMs}`);
    assert.equal(both.readAtMs, 6_500);
  });

  test("a jump is what is left between the intervals: more than the tolerance is another clock, either way", () => {
    const before = known(1_000_000, 0, 10);
    for (const [jump, isOther] of [[30_000, true], [-30_000, true], [700, false], [-700, false]] as const) {
      const now = known(1_005_000 + jump, 5_000, 5_010);
      assert.equal(isAnother(before, now, 750), isOther, `${jump}`);
      assert.equal(Math.sign(jumpMs(before, now)), Math.sign(jump));
      assert.deepEqual(together(before, now), now, "what contradicts what was known replaces it");
    }
  });

  test("another timeline is another clock, whatever it shows; a server that tells none proves nothing by that", () => {
    const before = known(1_000_000, 0, 10);
    assert.deepEqual([1, 2, null].map((timeline) => isAnother(before, known(1_000_005, 5, 15, timeline), 750)), [false, true, false]);
    assert.equal(isAnother(known(1_000_000, 0, 10, null), known(1_000_005, 5, 15, 7), 750), false);
  });

  test("clocks that drift stay one clock, for as long as one likes", () => {
    let [at, clock] = [0, known(1_000_000, 0, 10)];
    for (let renewal = 0; renewal < 1_000; renewal += 1) {
      at += 2_500;
      const now = known(1_000_000 + at * 1.0005, at, at + 10);
      assert.ok(!isAnother(clock, now, 750));
      clock = together(clock, now);
    }
    assert.ok(Math.abs(expectedAt(clock, at).nowMs - (1_000_000 + at * 1.0005)) < 50);
  });

  test("what was known long ago is known less well: a drift in which nothing was heard is no jump", () => {
    const [before, hourMs] = [known(1_000_000, 0, 10), 3_600_000];
    for (const drift of [0.0005, -0.0005]) assert.equal(isAnother(before, known(1_000_000 + hourMs * (1 + drift), hourMs, hourMs + 10), 750), false);
    assert.equal(isAnother(before, known(1_000_000 + hourMs * 1.01, hourMs, hourMs + 10), 750), true);
  });

  test("what is expected is never further from the truth than what was heard together allows", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 2_000 })), { minLength: 1, maxLength: 30 }), (replies) => {
        let [at, clock] = [0, null as KnownClock | null];
        for (const [pauseMs, wayThereMs, wayBackMs] of replies) {
          const sentAtMs = at + pauseMs;
          const now = known(7_000_000 + sentAtMs + wayThereMs, sentAtMs, sentAtMs + wayThereMs + wayBackMs);
          assert.ok(clock === null || !isAnother(clock, now, 0), "one clock");
          clock = clock === null ? now : together(clock, now);
          at = now.readAtMs;
          assert.ok(clock.fromMs <= 7_000_000 && 7_000_000 <= clock.toMs);
        }
      }),
    );
  });
});

describe("a list of what is ours", () => {
  const at = (text: string): HeldAccount[] => text.split(" ").filter((one) => one !== "").map((one) => ({ account: accountId(one.split("@")[0] ?? ""), epoch: Number(one.split("@")[1]) as Epoch }));
  const said = (heldThen: string, heldNow: string, listed: string): string => {
    const { lost, moved, unknown } = compareOwned(at(heldThen), at(heldNow), at(listed));
    return Object.entries({ lost, moved, unknown }).flatMap(([kind, all]) => all.map(({ account, epoch }) => `${kind} ${account}@${epoch}`)).join(", ");
  };

  for (const [what, heldThen, heldNow, listed, expected] of [
    ["the same says nothing", "a@1 b@2", "a@1 b@2", "a@1 b@2", ""],
    ["what is missing is lost", "a@1 b@2", "a@1 b@2", "b@2", "lost a@1"],
    ["what is at another epoch is ours there, and not lost", "a@1", "a@1", "a@3", "moved a@3"],
    ["what was claimed while the renewal was under way is not lost", "a@1", "a@1 b@1", "a@1", ""],
    ["what was confirmed meanwhile is at the newer epoch, whatever the list says", "a@1", "a@2", "a@1", ""],
    ["nor is it lost for being missing", "a@1", "a@2", "", ""],
    ["what was given back meanwhile is no loss", "a@1", "", "", ""],
    ["what nobody told us of is unknown", "", "", "a@4", "unknown a@4"],
    ["what was given back and is still listed is unknown too", "a@1", "", "a@1", "unknown a@1"],
  ] as const) {
    test(what, () => assert.equal(said(heldThen, heldNow, listed), expected));
  }
});
