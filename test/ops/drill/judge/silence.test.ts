// Owns the tests of the rules about what struck nodes send, and what became of their accounts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAST } from "../../../../actors/core/leaseProfile.ts";
import type { Ticket } from "../../../../protocol/ids.ts";
import { ARRIVAL_MS } from "../../../../ops/drill/judge/evidence.ts";
import { judge } from "../../../../ops/drill/judge/judge.ts";
import type { DrillRecord } from "../../../../ops/drill/record.ts";
import { cut, down, frozen, killed } from "./drills.ts";
import { EUR, F1, F2, M1, N1, N2 } from "./drillCast.ts";
import type { DrillStage } from "./drillStage.ts";

const cancel = { kind: "cancel", ticket: 77 as Ticket, symbol: EUR } as const;
const found = (record: DrillRecord, rule: string): number => judge(record).violations.filter((violation) => violation.rule === rule).length;
const unjudged = (record: DrillRecord, what: string): boolean => judge(record).violations.some(({ rule, detail }) => rule === "not-judged" && detail.startsWith(what));

describe("orders of a node that was killed", () => {
  const after = (ms: number): DrillRecord =>
    killed({
      within: (stage) => {
        stage.pass(ms - 40);
        stage.ask(F1, N1, 1, cancel);
      },
    });

  test("when they can be on their way no more: found", () => assert.equal(found(after(ARRIVAL_MS + 20), "order-after-fault"), 1));
  test("that were on their way: right", () => assert.equal(found(after(ARRIVAL_MS), "order-after-fault"), 0));
  test("where nothing is promised: right", () => {
    const { expects, ...record } = after(ARRIVAL_MS + 20);
    assert.equal(found({ ...record, expects: { ...expects, silentFrom: null } }, "order-after-fault"), 0);
  });
  test("where no node was struck: said", () => assert.ok(unjudged({ ...killed(), struck: [] }, "what struck nodes sent")));
  test("where it had no boot: said", () => assert.ok(unjudged({ ...killed(), struck: [{ node: "n1", boot: null }] }, "what struck nodes sent")));
  test("where its lease was not seen: said", () => {
    const record = killed();
    assert.ok(unjudged({ ...record, leases: record.leases.filter(({ node }) => node !== "n1") }, "order-after-fault"));
  });
});

describe("orders of a node that was frozen", () => {
  test("after the thaw, under an epoch it had before: each is found", () => {
    const zombie = (stage: DrillStage): void => {
      stage.ask(F1, N1, 1, cancel);
      stage.ask(F1, N1, 1, cancel);
    };
    assert.equal(found(frozen({ after: zombie }), "order-after-thaw"), 2);
  });
  test("after the thaw, under an epoch that it got since: right", () => {
    const back = (stage: DrillStage): void => {
      stage.release(F1);
      stage.pass(200);
      stage.acquire(F1, N1, 3);
    };
    assert.deepEqual(judge(frozen({ after: back })).violations, []);
  });
  test("under an epoch that nobody was given: found", () => assert.equal(found(frozen({ after: (stage) => void stage.ask(F1, N1, 9, cancel) }), "order-after-thaw"), 1));
  test("where it was never let go on: said", () => assert.ok(unjudged({ ...frozen(), healAtMs: null }, "order-after-thaw")));
  test("where that was before its lease had run out: said", () => {
    const record = frozen();
    assert.ok(unjudged({ ...record, healAtMs: record.faultAtMs + 1_000 }, "order-after-thaw"));
  });
});

describe("a node that is cut off from the database", () => {
  test("stops a second too early: found", () => assert.equal(found(cut({ copiesForMs: 10_300 }), "stopped-early"), 1));
  test("stops long before: each second is found", () => assert.ok(found(cut({ copiesForMs: 5_000 }), "stopped-early") >= 5));
  test("sends nothing in a second on its way: found", () => {
    const pause = (stage: DrillStage): void => {
      stage.trade(4_000);
      stage.node(N1).acting = false;
      stage.trade(2_200);
      stage.node(N1).acting = true;
    };
    assert.equal(found(cut({ within: pause, copiesForMs: 5_000 }), "stopped-early"), 1);
  });
  test("goes on after its deadline: found", () => {
    assert.notEqual(found(cut({ copiesForMs: 13_000 }), "ordered-after-deadline"), 0);
    assert.equal(found(cut({ copiesForMs: 13_000 }), "order-outside-lease"), 0);
  });
  test("lifts under its old epoch when it is healed: found", () => assert.equal(found(cut({ after: (stage) => void stage.ask(F1, N1, 1, cancel) }), "ordered-after-deadline"), 1));
  test("whose masters do nothing: said", () => assert.ok(unjudged(cut({ within: (stage) => stage.pass(4_000), copiesForMs: 7_200 }), "stopped-early")));
  test("whose last renewal had no answer: may stop by either deadline", () => {
    const before = (stage: DrillStage): void => stage.trade(1_400);
    const renewed = (stage: DrillStage): void => stage.seenLease(N1, stage.nowMs - 20 + FAST.ttlMs);
    assert.equal(found(cut({ before, within: renewed }), "stopped-early"), 0);
    assert.equal(found(cut({ before, within: renewed, copiesForMs: FAST.ttlMs - FAST.marginMs }), "ordered-after-deadline"), 0);
    assert.notEqual(found(cut({ before, copiesForMs: FAST.ttlMs - FAST.marginMs }), "ordered-after-deadline"), 0);
  });
  test("whose lease was not seen: said", () => {
    const record = cut();
    assert.ok(unjudged({ ...record, leases: record.leases.filter(({ node }) => node !== "n1") }, "stopped-early"));
  });
});

describe("what becomes of accounts", () => {
  const nobodys = (stage: DrillStage): void => stage.release(F1);

  test("nobody has one at the end: found", () => assert.equal(found(killed({ after: nobodys }), "unowned"), 1));
  test("its owner has no lease at the end: found", () => assert.equal(found(killed({ takeover: () => undefined }), "unowned"), 1));
  test("nobody took it: found", () => assert.equal(found(killed({ takeover: () => undefined }), "not-moved"), 1));
  test("the same took it again where others had to: found", () => assert.equal(found(killed({ takeover: (stage) => stage.acquire(F1, N1, 2) }), "not-moved"), 1));
  test("where all may keep theirs and one is another's: found", () => {
    const shuffled = (stage: DrillStage): void => {
      stage.acquire(M1, N2, 2, { keepsSession: true });
      stage.acquire(F1, N2, 2);
      stage.acquire(F2, N2, 2, { keepsSession: true });
    };
    assert.equal(found(down({ takeover: shuffled }), "not-own"), 1);
  });
  test("where one was given back: found", () => assert.equal(found(down({ after: (stage) => stage.release(F1) }), "not-own"), 1));
  test("where nothing that was struck had an account: said", () => assert.ok(unjudged({ ...killed(), struck: [{ node: "n7", boot: "b7" }] }, "not-moved")));
  test("where all is struck that all share, everybody keeps his: right", () => assert.equal(found({ ...down(), struck: [] }, "not-own"), 0));
  test("and is found where he does not", () => {
    const { expects, ...record } = killed();
    assert.equal(found({ ...record, struck: [], expects: { ...expects, accounts: "stay" } }, "not-own"), 1);
  });
  test("a lease of the last owner that lapsed: found", () => {
    const record = killed();
    assert.notEqual(found({ ...record, endAtMs: record.endAtMs + 2 * FAST.ttlMs }, "unowned"), 0);
    assert.equal(record.struck[0]?.boot, N1.boot);
    assert.equal(N2.node, "n2");
  });
});
