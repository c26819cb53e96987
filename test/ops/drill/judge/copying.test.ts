// Owns the tests of the rules about what is copied all the same: by those that were left alone, in the log, and at the end.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judge } from "../../../../ops/drill/judge/judge.ts";
import type { DrillRecord, SaidEvent } from "../../../../ops/drill/record.ts";
import { frozen, killed } from "./drills.ts";
import { F1, F2, M1, N1, N2 } from "./drillCast.ts";
import { rulesOf, type DrillStage } from "./drillStage.ts";

const found = (record: DrillRecord, rule: string): number => judge(record).violations.filter((violation) => violation.rule === rule).length;
const unjudged = (record: DrillRecord, what: string): boolean => judge(record).violations.some(({ rule, detail }) => rule === "not-judged" && detail.startsWith(what));

describe("followers that were left alone", () => {
  const stops = (ms: number) => (stage: DrillStage): void => {
    stage.node(N2).acting = false;
    stage.trade(ms);
    stage.node(N2).acting = true;
  };

  test("not copied for longer than the grace: found", () => assert.notEqual(found(killed({ after: stops(2_500) }), "untouched-failed"), 0));
  test("late within the grace: right", () => assert.equal(found(killed({ after: stops(1_000) }), "untouched-failed"), 0));
  test("an order of theirs without an answer: found", () => {
    const unanswered = (stage: DrillStage): void => void stage.append({ kind: "request", account: F2, by: { kind: "connection", connection: 3, id: 9_999 }, epoch: 1 as never, order: stage.openOrder(F2, 5 as never), digits: 5 });
    assert.equal(found(killed({ after: unanswered }), "untouched-failed"), 1);
  });
  test("one that somebody else took: found", () => assert.equal(found(frozen({ after: (stage) => (stage.node(N2).renewing = false, stage.pass(16_000), stage.acquire(F2, N1, 2)) }), "untouched-failed") > 0, true));
  test("one whose owner had to acquire it anew: found", () => assert.notEqual(found(killed({ after: (stage) => stage.acquire(F2, N2, 2, { keepsSession: true }) }), "untouched-failed"), 0));
  test("their master's owner had to: found", () => assert.notEqual(found(killed({ after: (stage) => stage.acquire(M1, N2, 2, { keepsSession: true }) }), "untouched-failed"), 0));
  test("one that was given back in order moves: right", () => {
    const gives = (stage: DrillStage): void => {
      stage.release(F2);
      stage.pass(200);
      stage.acquire(F2, N1, 2);
    };
    const record = frozen({ after: gives });
    assert.deepEqual(judge(record).violations, []);
  });
  test("with nothing to do: said", () => {
    const record = killed();
    assert.ok(unjudged({ ...record, endAtMs: record.faultAtMs + 200 }, "untouched-failed"));
  });
  test("none is left where no node was struck", () => assert.equal(judge({ ...killed(), struck: [] }).untouched.followers, 0));
  test("a follower whose master was struck is none", () => assert.equal(judge({ ...killed(), struck: [N2] }).untouched.followers, 0));
});

describe("what the log lacks", () => {
  const untold = (beforeMs: number): DrillRecord =>
    killed({
      before: (stage) => {
        stage.cutOff.add(N1.boot);
        stage.open({ keep: true });
        stage.pass(20 + beforeMs);
      },
      after: (stage) => stage.tellAgain(F1, 2),
    });

  test("of a moment before a kill: counted, and adopted by its tag", () => assert.deepEqual(judge(untold(20)).lost, { events: 1, oldestMs: 40, adoptedByTag: 1 }));
  test("that is right", () => assert.equal(found(untold(20), "lost-too-old"), 0));
  test("and older than is allowed: found", () => assert.equal(found(untold(60), "lost-too-old"), 1));
  test("that nobody adopted is counted so", () => {
    const record = untold(20);
    assert.deepEqual(judge({ ...record, said: record.said.filter(({ event }) => event.epoch === 1) }).lost, { events: 1, oldestMs: 40, adoptedByTag: 0 });
  });
  test("of a node that ends in order: found, however young", () => {
    const { expects, ...record } = untold(20);
    assert.equal(found({ ...record, expects: { ...expects, lostOldestMs: 0 } }, "lost"), 1);
  });
  test("nothing where all was told", () => assert.deepEqual(judge(killed()).lost, { events: 0, oldestMs: 0, adoptedByTag: 0 }));
  test("`Sending` tells no outcome", () => {
    const record = killed({ before: (stage) => (stage.open({ keep: true }), stage.pass(100)) });
    const lastOpen = record.said.findLast(({ event, atMs }) => event.kind === "pair" && event.follower === F1 && event.pair.status === "Open" && atMs < record.faultAtMs);
    const sending = ({ atMs, event }: SaidEvent): SaidEvent => (event.kind === "pair" ? { atMs, event: { ...event, pair: { ...event.pair, status: "Sending", followerTicket: null } } } : { atMs, event });
    assert.equal(judge({ ...record, said: record.said.map((one) => (one === lastOpen ? sending(one) : one)) }).lost.events, 1);
  });
  test("an event of another epoch tells nothing for it", () => {
    const record = killed();
    const moved = record.said.map(({ atMs, event }) => ({ atMs, event: event.follower === F1 ? { ...event, epoch: 2 as typeof event.epoch } : event }));
    assert.ok(judge({ ...record, said: moved }).lost.events > 20);
  });
  test("where its events are not in the record: said", () => assert.ok(unjudged({ ...killed(), said: [] }, "lost")));
});

describe("the end", () => {
  const changed = (record: DrillRecord, rows: (of: DrillRecord["troupes"][number]["rows"]) => DrillRecord["troupes"][number]["rows"]): DrillRecord => ({ ...record, troupes: record.troupes.map((troupe) => ({ ...troupe, rows: rows(troupe.rows) })) });

  test("a copy without a row: found", () => assert.deepEqual(rulesOf(changed(killed(), (rows) => rows.slice(5))).filter((rule) => rule.startsWith("row-missing")).length, 2));
  test("a trade of the gap that still stands, without a copy or a row: found", () => {
    const forgets = (stage: DrillStage): void => {
      stage.mute.add(F1);
      stage.acquire(F1, N2, 2);
    };
    assert.notEqual(found(killed({ within: (stage) => void stage.open({ keep: true }), takeover: forgets }), "missing"), 0);
  });
  test("a trade that came and went in the gap needs neither: right", () => {
    let ticket = 0;
    const brief = (stage: DrillStage): void => {
      const one = stage.open();
      ticket = one;
      stage.pass(20);
      stage.close(one);
    };
    const record = killed({ within: brief });
    assert.deepEqual(judge(changed(record, (rows) => rows.filter(({ pair: { follower, masterTicket } }) => follower !== F1 || masterTicket !== ticket))).violations, []);
  });
  test("one that came and went when there was an owner needs one: found", () => {
    let ticket = 0;
    const record = killed({ after: (stage) => void (ticket = stage.open()) });
    assert.notEqual(found(changed(record, (rows) => rows.filter(({ pair: { follower, masterTicket } }) => follower !== F1 || masterTicket !== ticket)), "row-missing"), 0);
  });
  test("a copy that nobody ends: found", () => assert.notEqual(found(killed({ after: (stage) => stage.mute.add(F2) }), "left-open"), 0));
  test("what was wrong with the cluster at rest: found", () => assert.equal(found({ ...killed(), atEnd: [{ rule: "writers-lag", follower: null, detail: "3 events" }] }, "writers-lag"), 1));
  test("it is judged of the last record only", () => assert.equal(found({ ...killed(), rounds: 2, atEnd: [{ rule: "writers-lag", follower: null, detail: "3 events" }] }, "writers-lag"), 0));
});
