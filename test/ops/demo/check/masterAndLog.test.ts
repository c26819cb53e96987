// Owns the tests that a fault of the player, or a damaged log, is found and blamed on no follower.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { BrokerLogEntry } from "../../../../ops/broker/log.ts";
import type { ClosedTrade, Statement } from "../../../../ops/statement/model.ts";
import { closed, ONE, PENDING, playFilled, playOne, playPending, staged, stillOpen, statementOf } from "./script.ts";
import { brokenRules, EUR, GBP, lots, points, type Theatre } from "./theatre.ts";

function played(statement: Statement, play: (theatre: Theatre) => void): Theatre {
  const { theatre } = staged(statement);
  play(theatre);
  return theatre;
}

describe("what was played on the master", () => {
  const one = played(ONE, playOne);
  const against = (change: (rows: readonly [ClosedTrade, ClosedTrade]) => readonly ClosedTrade[], more: Partial<Statement> = {}): string[] => {
    const [first, last] = ONE.positions;
    return brokenRules(one.report({ statement: { ...ONE, positions: change([first ?? assert.fail(), last ?? assert.fail()]), ...more } }));
  };

  test("is the statement", () => assert.deepEqual(against((rows) => rows), []));
  test("lacks a trade", () => {
    const row = closed(210, GBP, "0.10", { side: "buy", openPrice: points(1), closePrice: points(1) });
    assert.deepEqual(against((rows) => [...rows, row]), ["master-missing -"]);
  });
  test("lacks a pending order", () => assert.deepEqual(against((rows) => rows, { pendings: PENDING.pendings }), ["master-missing -"]));
  test("has a trade that is in no row", () => assert.deepEqual(against(() => []), ["master-foreign -"]));

  for (const [name, change, rule] of [
    ["the symbol", { symbol: GBP }, "master-opening"],
    ["the side", { side: "sell" }, "master-opening"],
    ["the open price", { openPrice: points(108_501) }, "master-opening"],
  ] as const) {
    test(`differs in ${name}`, () => assert.ok(against(([first, last]) => [{ ...first, ...change }, last]).includes(`${rule} -`)));
  }
  test("differs in a part's volume", () => assert.deepEqual(against(([first, last]) => [{ ...first, volume: lots("0.10") }, { ...last, volume: lots("0.30") }]), ["master-close -"]));
  test("differs in a close price", () => assert.deepEqual(against(([first, last]) => [{ ...first, closePrice: points(108_499) }, last]), ["master-close -"]));
  test("differs in why it was closed", () => assert.ok(against(([first, last]) => [first, { ...last, closeReason: "stop_loss" }]).includes("master-close -")));
  test("differs in the last stop", () => assert.deepEqual(against(([first, last]) => [first, { ...last, stopLoss: points(107_999) }]), ["master-levels -"]));
  test("cannot differ in a stop that the price of the end leaves no room for", () => assert.deepEqual(against(([first, last]) => [first, { ...last, stopLoss: points(108_600) }]), []));
  test("is closed although it is open in the statement", () => {
    const open = stillOpen(202, EUR, "0.20", { side: "buy", openPrice: points(108_500), marketPrice: points(108_500), stopLoss: points(108_000), chainFrom: 201 as Ticket });
    assert.deepEqual(against(([first]) => [first], { open: [open] }), ["master-close -"]);
  });
  test("may be a chain whose rows all have one ticket, as on MT5", () => {
    assert.deepEqual(against(([first, last]) => [{ ...first, chainTo: 201 as Ticket }, { ...last, ticket: 201 as Ticket, chainFrom: 201 as Ticket }]), []);
  });
  test("may be a trade that was placed as a pending order and filled", () => {
    const [model] = PENDING.pendings;
    const filled = { ...(model ?? assert.fail()), price: points(108_300), filledTimeMs: 2 as never, filledVolume: lots("0.10"), filledAs: 302 as Ticket };
    const trade = closed(302, EUR, "0.10", { side: "buy", openPrice: points(108_300), closePrice: points(108_300) });
    const rules = brokenRules(played({ ...statementOf({ positions: [trade] }), filledPendings: [filled] }, playFilled).report());
    assert.deepEqual(rules.filter((rule) => rule.endsWith(" -")), []);
  });
  test("is played twice", () => {
    const theatre = played(ONE, playOne);
    theatre.open(201, EUR, "buy", "0.40");
    theatre.rest();
    assert.deepEqual(brokenRules(theatre.report()), ["master-foreign -"]);
  });

  const pending = played(PENDING, playPending);
  const pendingAgainst = (change: Partial<Statement["pendings"][number]>): string[] =>
    brokenRules(pending.report({ statement: statementOf({ pendings: PENDING.pendings.map((row) => ({ ...row, ...change })) }) }));
  test("differs in a pending's price", () => assert.deepEqual(pendingAgainst({ price: points(108_300) }), ["master-pending -"]));
  test("differs in a pending's kind", () => assert.deepEqual(pendingAgainst({ kind: "sell_limit" }), ["master-pending -"]));
  test("has removed a pending that is still working in the statement", () => {
    assert.deepEqual(brokenRules(pending.report({ statement: statementOf({ working: PENDING.pendings }) })), ["master-pending -"]);
  });
  test("has filled a pending", () => {
    const theatre = played(PENDING, (stage) => {
      stage.place(301, EUR, "buy_limit", "0.10", 108_200);
      stage.rest();
      stage.quote(EUR, 108_200);
    });
    assert.ok(brokenRules(theatre.report()).includes("master-pending -"));
  });
});

describe("a log that cannot be", () => {
  const { sink, report } = (() => {
    const theatre = played(ONE, playOne);
    return { sink: theatre.sink, report: theatre.report.bind(theatre) };
  })();
  const renumbered = (log: readonly BrokerLogEntry[]): BrokerLogEntry[] => log.map((entry, index) => ({ ...entry, n: index + 1, ...("causeN" in entry ? { causeN: null } : {}), ...(entry.kind === "answer" ? { requestN: entry.requestN } : {}) }));
  const details = (log: readonly BrokerLogEntry[]): string => report({ log }).violations.filter(({ rule }) => rule === "log-integrity").map(({ detail }) => detail).join("\n");
  const deals = sink.entries.filter((entry) => entry.kind === "deal");
  const last = deals.at(-1) ?? assert.fail();

  test("is whole as it is", () => assert.equal(details(sink.entries), ""));
  test("with a hole", () => assert.match(details(sink.entries.toSpliced(20, 1)), /^entry 22 comes after entry 20$/m));
  test("with a close of what is not open", () => assert.match(details([...sink.entries, { ...last, n: sink.entries.length + 1 }]), /no position \d+ of \w+ stands/));
  test("with a ticket that is given twice", () => {
    const opened = deals.find(({ deal }) => deal === "opened") ?? assert.fail();
    assert.match(details([...sink.entries, { ...opened, n: sink.entries.length + 1 }]), /ticket \d+ of \w+ is given twice/);
  });
  test("with a close of more than there was", () => {
    const log = sink.entries.map((entry) => (entry.kind === "deal" && entry.deal === "closed" ? { ...entry, closed: { ...entry.closed, position: { ...entry.closed.position, volume: lots("9.00") } } } : entry));
    assert.match(details(log), /units are not 900000000 closed and 0 left/);
  });
  test("with a second answer", () => {
    const answer = sink.entries.find(({ kind }) => kind === "answer") ?? assert.fail();
    assert.match(details([...sink.entries, { ...answer, n: sink.entries.length + 1 }]), /a second answer to entry \d+/);
  });
  test("with a cause that is none", () => assert.match(details(sink.entries.map((entry) => (entry === last ? { ...last, causeN: 1 } : entry))), /caused by entry 1, which is no quote and no request/));
  test("without the accounts", () => assert.match(details(renumbered(sink.entries.filter(({ kind }) => kind !== "account"))), /account f6 is not in the log/));
});
