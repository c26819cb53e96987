// Owns the tests of whole reports: drills that went as they should are right, and their numbers are those that happened.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { Points } from "../../../../protocol/units.ts";
import { judge, judgeAll } from "../../../../ops/drill/judge/judge.ts";
import { cut, down, frozen, killed, logGone, sessionCut, stopped } from "./drills.ts";
import { F1, N1, N2 } from "./drillCast.ts";
import { rulesOf, SETTLE_MS, type DrillStage } from "./drillStage.ts";

describe("a drill that went as it should", () => {
  for (const [what, record] of [
    ["a process that is killed", killed()],
    ["a node that stood still", frozen()],
    ["a node that is cut off from the database", cut()],
    ["a database that is away from all", down()],
    ["a node that is told to end", stopped()],
    ["brokers that restart", sessionCut()],
    ["a log that restarts", logGone()],
  ] as const) {
    test(`${what}: right`, () => assert.deepEqual(judge(record).violations, []));
  }
});

describe("the numbers of a report", () => {
  const report = judge(killed({ within: (stage) => void stage.open({ keep: true }) }));

  test("the gap, and its arithmetic: the end of the lease, claim poll, session and reconcile, and the next tick", () => {
    // Its lease is ended 40 ms after the fault. Claimed 440 ms after the fault, seen 60 ms later; ready 40 ms after that; the master's next tick is 100 ms away.
    assert.deepEqual(report.gapMs, { measured: 640, arithmetic: 40 + 500 + 40 + 100 });
  });
  test("a trade of the gap is opened late, when the former owner's orders have settled", () => assert.equal(report.lateOpenMs, 400 + 100 + SETTLE_MS));
  test("also when its master has changed it since", () => {
    let ticket = 0 as Ticket;
    const changed = (stage: DrillStage): void => {
      stage.acquire(F1, N2, 2);
      stage.pass(200);
      stage.master.modify(ticket, { stopLoss: 100_000 as Points, takeProfit: null });
    };
    assert.equal(judge(killed({ within: (stage) => void (ticket = stage.open({ keep: true })), takeover: changed })).lateOpenMs, 400 + 100 + SETTLE_MS);
  });
  test("followers that were left alone, and their orders since", () => {
    assert.equal(report.untouched.followers, 1);
    assert.ok(report.untouched.orders > 50);
    assert.equal(report.untouched.failed, 0);
  });
  test("of a cut: it is the lease that was left, and claim poll, session, next tick", () => {
    const { measured, arithmetic } = judge(cut()).gapMs;
    assert.ok(measured !== null && arithmetic !== null && measured <= arithmetic + 1_000 && measured > 12_000, `${measured} ${arithmetic}`);
  });
  test("where no gap is to be measured there is none", () => assert.deepEqual(judge(killed({ expects: { gap: false } })).gapMs, { measured: null, arithmetic: null }));
  test("units that were dropped at a gate: entries without a count are one", () => {
    const dropped = (stage: DrillStage): void => {
      stage.tell(N1, "dropped");
      stage.tell(N1, "dropped", null, null, { count: 3 });
    };
    assert.equal(judge(killed({ within: dropped })).dropped, 4);
  });
  test("times of the timeline are from the fault", () => assert.deepEqual(judge(killed({ within: (stage) => stage.tell(N1, "renewed") })).timeline.filter(({ event }) => event === "renewed").map(({ atMs }) => atMs), [40]));
});

describe("records of several faults", () => {
  const wrong = (more: Parameters<typeof killed>[0] = {}) => killed({ after: (stage) => void stage.ask(F1, N1, 1, stage.openOrder(F1, stage.open())), ...more });
  const { faultAtMs, endAtMs } = killed();

  test("what lies after a record is not its", () => assert.deepEqual(rulesOf(wrong({ more: { rounds: 2, endAtMs: faultAtMs + 4_000 } })), []));
  test("what lies before it neither", () => assert.equal(rulesOf(wrong({ more: { fromMs: endAtMs } })).some((rule) => rule.startsWith("order-outside-lease")), false));
  test("read together they come to what each comes to alone", () => {
    const shared = wrong({ more: { rounds: 2 } });
    const records = [{ ...shared, endAtMs: faultAtMs + 4_000 }, { ...shared, round: 2, fromMs: faultAtMs + 4_000, faultAtMs: faultAtMs + 4_500 }];
    assert.deepEqual(judgeAll(records).map(({ report }) => report), records.map(judge));
    assert.deepEqual(judgeAll([]), []);
  });
  test("the last has what is left, and the end", () => assert.equal(rulesOf(wrong({ more: { endAtMs: faultAtMs + 4_000 } })).some((rule) => rule.startsWith("order-outside-lease")), true));
});

test("a record of nothing is not right: each rule says that it cannot be judged", () => {
  const { violations, verdict } = judge(killed({ more: { leases: [], owners: [], said: [] } }));
  assert.equal(verdict, "failed");
  assert.deepEqual([...new Set(violations.filter(({ rule }) => rule === "not-judged").map(({ detail }) => detail.split(":")[0]))].sort(), ["gap", "lost", "order-after-fault", "order-outside-lease", "not-moved", "unowned", "untouched-failed"].sort());
});
