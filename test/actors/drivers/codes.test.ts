// Owns the tests of what the platforms' result codes mean.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mt4Answer } from "../../../actors/drivers/mt4Codes.ts";
import { mt5Answer } from "../../../actors/drivers/mt5Codes.ts";
import { answerOf } from "../../../actors/drivers/orderAnswers.ts";
import type { Magic, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Answer, Order, RefusalClass } from "../../../protocol/orders.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../../protocol/units.ts";
import type { WireErrorCode, WireResult } from "../../../protocol/wire.ts";

const SYMBOL = "EURUSD" as SymbolName;
const OPEN: Order = { kind: "open", symbol: SYMBOL, side: "buy", volume: 1 as VolumeUnits, priceLimit: null, stopLoss: null, takeProfit: null, magic: 1 as Magic, comment: "mc1" };
const PLACE: Order = { kind: "place", symbol: SYMBOL, pending: "buy_limit", volume: 1 as VolumeUnits, price: 1 as Points, stopLoss: null, takeProfit: null, magic: 1 as Magic, comment: "mc1" };
const CLOSE: Order = { kind: "close", ticket: 7 as Ticket, symbol: SYMBOL, volume: 1 as VolumeUnits, part: false };
const PART: Order = { ...CLOSE, part: true };

const result = (code: number): WireResult => ({ t: "result", id: 1, code, text: "said", ticket: 9 as Ticket, volume: 5 as VolumeUnits, price: 4 as Points, brokerMs: 3 as BrokerMs });
const outcome = (answer: Answer): string => (answer.kind === "refused" ? answer.refusal : answer.kind);

/** The table of the platforms' documentation, written down a second time. */
const TABLE: Readonly<Record<RefusalClass | "not_delivered" | "unknown", readonly [mt4: readonly number[], mt5: readonly number[]]>> = {
  already: [[1], [10025, 10036]],
  fresh_price: [[129, 135, 136, 138], [10004, 10015, 10020, 10021]],
  wait: [[4, 8, 137, 141, 146], [10024, 10028]],
  not_delivered: [[6], [10031]],
  unknown: [[2, 128, 142, 143], [10011, 10012]],
  adjust: [[130, 131, 145, 147], [10014, 10016, 10022, 10029, 10030]],
  market_closed: [[132], [10018]],
  final: [[133, 134, 139, 140, 148, 149, 150], [10013, 10017, 10019, 10026, 10027, 10032, 10033, 10034, 10035, 10038, 10040, 10042, 10043, 10044, 10045, 10046]],
};

describe("result codes", () => {
  for (const [name, [mt4, mt5]] of Object.entries(TABLE)) {
    test(`${name}: MT4 ${mt4.join(", ")} and MT5 ${mt5.join(", ")}`, () => {
      for (const code of mt4) assert.equal(outcome(mt4Answer(OPEN, result(code))), name, `MT4 ${code}`);
      for (const code of mt5) assert.equal(outcome(mt5Answer(OPEN, result(code))), name, `MT5 ${code}`);
    });
  }

  test("every code that nobody named is final and never retried", () => {
    const named = new Set([0, 10008, 10009, 10010, ...Object.values(TABLE).flatMap(([mt4, mt5]) => [...mt4, ...mt5])]);
    for (let code = -1; code < 11_000; code++) {
      if (named.has(code)) continue;
      assert.equal(outcome(mt4Answer(OPEN, result(code))), "final", `MT4 ${code}`);
      assert.equal(outcome(mt5Answer(OPEN, result(code))), "final", `MT5 ${code}`);
    }
  });

  test("a ticket that stands no more is as good as closed or cancelled, and final for everything else", () => {
    const cancel: Order = { kind: "cancel", ticket: 7 as Ticket, symbol: SYMBOL };
    const modify: Order = { kind: "modify", ticket: 7 as Ticket, symbol: SYMBOL, stopLoss: null, takeProfit: null };
    for (const order of [CLOSE, PART, cancel]) assert.equal(outcome(mt4Answer(order, result(4108))), "already", order.kind);
    for (const order of [OPEN, PLACE, modify]) assert.equal(outcome(mt4Answer(order, result(4108))), "final", order.kind);
  });

  test("one platform's codes mean nothing on the other", () => {
    assert.equal(outcome(mt4Answer(OPEN, result(10009))), "final");
    assert.equal(outcome(mt5Answer(OPEN, result(0))), "final");
  });

  test("MT4 0, MT5 10009 and 10010 carry what was executed", () => {
    const executed = { ticket: 9, volume: 5, price: 4, brokerMs: 3 };
    assert.deepEqual(mt4Answer(OPEN, result(0)), { kind: "done", ...executed });
    assert.deepEqual(mt5Answer(OPEN, result(10009)), { kind: "done", ...executed });
    assert.deepEqual(mt5Answer(OPEN, result(10010)), { kind: "done_in_part", ...executed });
  });

  test("MT5 10008 is done for what rests at the server, unknown for what should have been executed", () => {
    assert.equal(outcome(mt5Answer(PLACE, result(10008))), "done");
    assert.equal(outcome(mt5Answer(OPEN, result(10008))), "unknown");
    assert.equal(outcome(mt5Answer(CLOSE, result(10008))), "unknown");
  });

  test("MT4 does not name the rest of a part-close, whatever ticket it repeats; MT5 does", () => {
    const ticketOf = (answer: Answer) => (answer.kind === "done" ? answer.ticket : undefined);
    assert.equal(ticketOf(mt4Answer(PART, result(0))), null);
    assert.equal(ticketOf(mt4Answer(CLOSE, result(0))), 9);
    assert.equal(ticketOf(mt5Answer(PART, result(10009))), 9);
  });
});

describe("errors of the protocol itself", () => {
  const answer = (code: WireErrorCode) => outcome(answerOf(OPEN, { t: "error", id: 1, code, text: "" }, mt4Answer));

  test("a flood refusal was not delivered", () => assert.equal(answer("flood"), "not_delivered"));
  test("an order the server cannot read or does not know is refused for good", () => {
    assert.equal(answer("malformed"), "final");
    assert.equal(answer("unsupported"), "final");
  });
  test("an answer of another kind leaves an order unknown", () => {
    assert.equal(outcome(answerOf(OPEN, { t: "pong", id: 1, brokerMs: 1 as BrokerMs }, mt4Answer)), "unknown");
  });
});
