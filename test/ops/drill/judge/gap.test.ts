// Owns the tests of the gap: how long it may be in each kind of drill, and from what on it is one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAST } from "../../../../actors/core/leaseProfile.ts";
import { DEFAULT_SESSION_LIMITS } from "../../../../actors/drivers/sessionLimits.ts";
import { LOG_RETURN_MS } from "../../../../ops/drill/judge/absences.ts";
import { judge } from "../../../../ops/drill/judge/judge.ts";
import { longestPauseMs } from "../../../../ops/drill/judge/sessions.ts";
import type { DrillRecord } from "../../../../ops/drill/record.ts";
import { cut, down, killed, logGone, QUICK_MS, sessionCut, stopped } from "./drills.ts";
import { F1, F2, M1, N1, N2 } from "./drillCast.ts";
import type { DrillStage } from "./drillStage.ts";

const found = (record: DrillRecord, rule: string): number => judge(record).violations.filter((violation) => violation.rule === rule).length;
const unjudged = (record: DrillRecord, what: string): boolean => judge(record).violations.some(({ rule, detail }) => rule === "not-judged" && detail.startsWith(what));

describe("a gap", () => {
  const late = (ms: number) => (stage: DrillStage): void => {
    stage.trade(ms);
    stage.acquire(F1, N2, 2);
  };

  test("of a second more than the arithmetic: right", () => assert.equal(found(killed({ takeover: late(900) }), "gap-too-long"), 0));
  test("longer than that: found", () => assert.equal(found(killed({ takeover: late(1_500) }), "gap-too-long"), 1));
  test("longer than that, and less than the drill allows besides: found all the same", () => assert.equal(found(killed({ takeover: late(1_500), expects: { longestGapMs: 4_000 } }), "gap-too-long"), 1));
  test("longer than the drill allows besides: found", () => assert.equal(found(killed({ expects: { longestGapMs: 100 } }), "gap-too-long"), 1));
  test("a lease that was ended by nobody excuses no killed process", () => assert.equal(found(killed({ takeover: late(14_700) }), "gap-too-long"), 1));
  test("a new owner that only does what is old, and misses what is new: found", () => {
    const idle = (stage: DrillStage): void => {
      stage.acquire(F1, N2, 2);
      stage.mute.add(F1);
    };
    assert.equal(found(killed({ takeover: idle }), "gap-too-long"), 1);
  });
  test("that nobody ended: found", () => assert.equal(found(killed({ takeover: () => undefined }), "gap-too-long"), 1));
  test("of a drill without arithmetic: said", () => assert.ok(unjudged({ ...killed(), drill: "another" }, "gap")));
  test("of which nobody told how long session and reconcile took: said", () => {
    const record = killed();
    const silent = { ...record, timeline: record.timeline.filter(({ event }) => event !== "plan") };
    assert.ok(unjudged(silent, "gap"));
    assert.ok(unjudged({ ...silent, expects: { ...silent.expects, longestGapMs: QUICK_MS } }, "gap"), "what the drill allows besides is no arithmetic");
  });
  test("in which no follower was struck: said", () => assert.ok(unjudged({ ...killed(), struck: [{ node: "n7", boot: "b7" }] }, "gap")));
  test("of a cut is that of its lease: as long as a killed process may not have", () => {
    const record = cut();
    assert.equal(found(record, "gap-too-long"), 0);
    assert.ok(unjudged({ ...record, drill: "process-kill" }, "gap"), "nothing ended its lease");
    assert.equal(found({ ...record, drill: "process-kill", expects: { ...record.expects, longestGapMs: QUICK_MS } }, "gap-too-long"), 1);
  });
});

describe("the gap of a node that ends in order", () => {
  const late = (stage: DrillStage): void => {
    stage.trade(1_500);
    stage.acquire(F1, N2, 2);
  };

  test("begins with the fault, and what it takes to give back is no fault of who claims: right", () => {
    const record = stopped({ finishesForMs: 2_400 });
    assert.deepEqual(judge(record).violations, []);
    // Given back after 2,400 ms and seen 60 ms later, claimed 440 ms after that was done; ready and next tick as ever.
    assert.deepEqual(judge(record).gapMs, { measured: 3_040, arithmetic: 2_440 + FAST.claimPollMs + 40 + 100 });
  });
  test("it may not take long all the same: found", () => assert.equal(found(stopped({ finishesForMs: 3_600 }), "gap-too-long"), 1));
  test("others may not take long to claim it, though the drill allowed more: found", () => assert.equal(found(stopped({ takeover: late }), "gap-too-long"), 1));
  test("what it gave back although its lease goes on is free from then on: found", () => {
    const { leases, ...record } = stopped({ takeover: late });
    assert.equal(found({ ...record, leases: leases.filter(({ endedBoot }) => endedBoot === null) }, "gap-too-long"), 1);
  });
});

describe("what is opened just after an acquisition", () => {
  /** Of no copy that could be ended, f1's new owner first sees this. */
  const opened = (afterMs: number, then: number): DrillRecord =>
    killed({
      before: (stage) => stage.rest(),
      takeover: (stage) => {
        stage.acquire(F1, N2, 2);
        stage.pass(afterMs);
        stage.open({ keep: true });
        stage.pass(then - afterMs);
      },
    });

  test("may be a former owner's: it waits, and the next one ends the gap: right", () => assert.equal(found(opened(160, 1_900), "gap-too-long"), 0));
  test("and later is not: found, where nobody copies it", () => {
    const idle = (stage: DrillStage): void => {
      stage.acquire(F1, N2, 2);
      stage.mute.add(F1);
      stage.trade(1_900);
      stage.mute.delete(F1);
    };
    assert.equal(found(killed({ before: (stage) => stage.rest(), takeover: idle }), "gap-too-long"), 1);
  });
});

describe("the gap where everybody keeps his", () => {
  const confirmedAfter = (ms: number, lateMs: number): DrillRecord =>
    down({
      takeover: (stage) => {
        stage.trade(ms - 500);
        stage.acquire(M1, N2, 2, { keepsSession: true });
        stage.acquire(F2, N2, 2, { keepsSession: true });
        stage.trade(lateMs);
        stage.acquire(F1, N1, 2, { keepsSession: true });
      },
    });
  const longestMs = FAST.retryMs + FAST.queryTimeoutMs;

  test("lasts until the database is back, and a renewal that is tried again: right", () => assert.equal(found(confirmedAfter(longestMs, 0), "gap-too-long"), 0));
  test("longer than that: found", () => assert.notEqual(found(confirmedAfter(longestMs + 1_500, 0), "gap-too-long"), 0));
  test("one that could not be confirmed with its node's others waits for the next renewal", () => {
    const alone = (lateMs: number): DrillRecord =>
      down({
        takeover: (stage) => {
          stage.trade(longestMs - 500);
          stage.acquire(M1, N1, 2, { keepsSession: true });
          stage.acquire(F2, N2, 2, { keepsSession: true });
          stage.trade(lateMs);
          stage.acquire(F1, N1, 2, { keepsSession: true });
        },
      });
    assert.equal(found(alone(FAST.renewMs), "gap-too-long"), 0);
    assert.notEqual(found(alone(FAST.renewMs + 1_500), "gap-too-long"), 0);
    assert.notEqual(found(confirmedAfter(longestMs, FAST.renewMs), "gap-too-long"), 0, "it was its node's first");
  });
  test("what is opened just after a lift is nobody else's, and is asked for at once: found", () => {
    const idle = (stage: DrillStage): void => {
      stage.acquire(M1, N2, 2, { keepsSession: true });
      stage.acquire(F1, N1, 2, { keepsSession: true });
      stage.acquire(F2, N2, 2, { keepsSession: true });
      stage.mute.add(F1);
      stage.pass(160);
      stage.open({ keep: true });
      stage.pass(longestMs + 1_500);
      stage.mute.delete(F1);
    };
    assert.equal(found(down({ takeover: idle }), "gap-too-long"), 1);
  });
  test("where no plan is of the epoch that was acquired: said", () => {
    const record = killed();
    const stale = record.timeline.map((entry) => (entry.event === "plan" && entry.account === F1 ? { ...entry, epoch: 1 as typeof entry.epoch } : entry));
    assert.ok(unjudged({ ...record, timeline: stale }, "gap"));
  });
  test("where no plan rests on what its master's owner acquired: said", () => {
    const record = down();
    const stale = record.timeline.map((entry) => (entry.event === "plan" && entry.account === F1 ? { ...entry, detail: { ...entry.detail, masterEpoch: 1 } } : entry));
    assert.ok(unjudged({ ...record, timeline: stale }, "gap"));
  });

  test("of sessions that were cut: until the broker is back, and the longest pause before they are tried again", () => {
    const pauseMs = longestPauseMs(DEFAULT_SESSION_LIMITS, 3_000, true);
    assert.deepEqual(judge(sessionCut()).violations, []);
    assert.equal(found(sessionCut({ pauseMs }), "gap-too-long"), 0);
    assert.notEqual(found(sessionCut({ pauseMs: pauseMs + 1_500 }), "gap-too-long"), 0);
  });
  test("of sessions that had been cut before: any pause, unless they had lasted since", () => {
    const afterOneThatLasted = (ms: number): DrillRecord =>
      sessionCut({
        before: (stage) => {
          stage.cutSessions();
          stage.pass(500);
          for (const account of [M1, F1, F2]) stage.reconnect(account);
          stage.trade(ms);
        },
        pauseMs: 9_000,
      });
    assert.equal(found(afterOneThatLasted(2_000), "gap-too-long"), 0);
    assert.notEqual(found(afterOneThatLasted(DEFAULT_SESSION_LIMITS.reconnectMaxMs), "gap-too-long"), 0);
  });
  test("of sessions of which nobody told how long they took, a follower's or its master's: said", () => {
    const record = sessionCut();
    for (const event of ["plan", "session_open"]) assert.ok(unjudged({ ...record, timeline: record.timeline.filter((entry) => entry.event !== event) }, "gap"), event);
  });
  test("pauses double while the broker is away, and go on doubling where a session did not last", () => {
    const pause = (awayMs: number, isAnew = true): number => longestPauseMs(DEFAULT_SESSION_LIMITS, awayMs, isAnew);
    // The fifth begins 1,875 ms after the cut at the earliest, the sixth 3,875 ms after it.
    assert.deepEqual([100, 3_000, 3_900, 600_000].map((ms) => pause(ms)), [250, 4_000, 8_000, DEFAULT_SESSION_LIMITS.reconnectMaxMs]);
    assert.equal(pause(100, false), DEFAULT_SESSION_LIMITS.reconnectMaxMs);
  });
  test("of a log that was away: until it is back and its clients are", () => {
    assert.deepEqual(judge(logGone()).violations, []);
    assert.equal(judge(logGone()).gapMs.arithmetic, 3_000 + LOG_RETURN_MS);
    assert.notEqual(found(logGone({ returnMs: LOG_RETURN_MS + 1_500 }), "gap-too-long"), 0);
  });
});
