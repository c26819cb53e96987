// Owns the tests of what quotes do: stops, targets, pending fills and their order.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { closeOrder, lots, openOrder, placeOrder, points, priced } from "./market.ts";
import type { TradeEvent } from "../../../ops/broker/log.ts";

const closes = (events: readonly TradeEvent[]): unknown[] =>
  events.flatMap((event) => (event.kind === "deal" && event.deal === "closed" ? [[event.closed.position.ticket, event.closed.reason, event.closed.closePrice]] : []));

describe("stops and targets", () => {
  test("a buy's stop and target look at the bid", () => {
    const engine = priced();
    const ticket = engine.standing(openOrder({ side: "buy", stopLoss: points(108_400), takeProfit: points(108_600) }));
    assert.deepEqual(closes(engine.quote(108_401, 108_399)), []);
    assert.deepEqual(closes(engine.quote(108_599, 108_700)), []);
    assert.deepEqual(closes(engine.quote(108_600, 108_700)), [[ticket, "take_profit", 108_600]]);
    const second = engine.standing(openOrder({ side: "buy", stopLoss: points(108_400) }));
    assert.deepEqual(closes(engine.quote(108_400, 108_410)), [[second, "stop_loss", 108_400]]);
  });

  test("a sell's stop and target look at the ask", () => {
    const engine = priced();
    const ticket = engine.standing(openOrder({ side: "sell", stopLoss: points(108_600), takeProfit: points(108_400) }));
    assert.deepEqual(closes(engine.quote(108_390, 108_401)), []);
    assert.deepEqual(closes(engine.quote(108_610, 108_599)), []);
    assert.deepEqual(closes(engine.quote(108_590, 108_600)), [[ticket, "stop_loss", 108_600]]);
    const second = engine.standing(openOrder({ side: "sell", takeProfit: points(108_400) }));
    assert.deepEqual(closes(engine.quote(108_390, 108_400)), [[second, "take_profit", 108_400]]);
  });

  test("a gap through a stop closes at the market, not at the stop", () => {
    const engine = priced();
    const ticket = engine.standing(openOrder({ stopLoss: points(108_400) }));
    assert.deepEqual(closes(engine.quote(107_000, 107_010)), [[ticket, "stop_loss", 107_000]]);
  });

  test("MT4 marks the comment of a stopped position, MT5 leaves it", () => {
    for (const [platform, comment] of [["mt4", "mc42[sl]"], ["mt5", "mc42"]] as const) {
      const engine = priced(platform);
      engine.standing(openOrder({ stopLoss: points(108_400) }));
      engine.quote(108_300, 108_310);
      assert.equal(engine.state.closed[0]?.position.comment, comment);
    }
  });

  test("MT4's mark takes the end of a comment that fills all 31 characters", () => {
    const engine = priced();
    engine.standing(openOrder({ takeProfit: points(108_600), comment: "x".repeat(31) }));
    engine.quote(108_600, 108_610);
    assert.equal(engine.state.closed[0]?.position.comment, `${"x".repeat(27)}[tp]`);
  });

  test("MT4: the rest of a part-close that is stopped is marked behind its chain comment", () => {
    const engine = priced();
    const first = engine.standing(openOrder({ stopLoss: points(108_400) }));
    engine.standing(closeOrder(first, lots("0.04")));
    engine.quote(108_300, 108_310);
    assert.equal(engine.state.closed.at(-1)?.position.comment, `from #${first}[sl]`);
  });

  test("a position is closed once: the next quote finds nothing", () => {
    const engine = priced();
    engine.standing(openOrder({ stopLoss: points(108_400) }));
    assert.equal(engine.quote(108_300, 108_310).length, 1);
    assert.equal(engine.quote(108_300, 108_310).length, 0);
  });
});

describe("pending orders", () => {
  const cases = [
    { pending: "buy_limit", price: 108_000, before: [107_990, 108_001], at: [107_980, 107_990], fill: 107_990 },
    { pending: "buy_stop", price: 109_000, before: [108_999, 108_999], at: [108_995, 109_005], fill: 109_005 },
    { pending: "sell_limit", price: 109_000, before: [108_999, 109_010], at: [109_004, 109_014], fill: 109_004 },
    { pending: "sell_stop", price: 108_000, before: [108_001, 108_002], at: [107_995, 108_005], fill: 107_995 },
  ] as const;
  for (const { pending, price, before, at, fill } of cases) {
    test(`a ${pending} fills when the market reaches it, at the quote, under its own ticket`, () => {
      const engine = priced();
      const ticket = engine.standing(placeOrder({ pending, price: points(price) }));
      assert.deepEqual(engine.quote(before[0], before[1]), []);
      const events = engine.quote(at[0], at[1]);
      assert.deepEqual(events.map(({ kind }) => kind), ["pending"]);
      assert.equal(engine.state.pendings.size, 0);
      const position = engine.state.positions.get(ticket);
      assert.deepEqual([position?.openPrice, position?.volume, position?.magic, position?.comment], [fill, lots("0.10"), 7, "mc42"]);
      assert.equal(position?.side, pending.startsWith("buy") ? "buy" : "sell");
      assert.equal(position.openTimeMs, engine.nowMs);
    });
  }

  test("in one quote pendings fill first, and a position it made is not stopped before the next", () => {
    const engine = priced();
    const held = engine.standing(openOrder({ stopLoss: points(108_400) }));
    const pending = engine.standing(placeOrder({ pending: "buy_limit", price: points(108_300), stopLoss: points(108_200) }));
    // Through the pending's price and through both stops at once.
    const events = engine.quote(108_000, 108_010);
    assert.deepEqual(events.map((event) => (event.kind === "pending" ? event.step : event.kind === "deal" ? event.deal : event.kind)), ["filled", "closed"]);
    assert.deepEqual(closes(events), [[held, "stop_loss", 108_000]]);
    assert.deepEqual(closes(engine.quote(108_000, 108_010)), [[pending, "stop_loss", 108_000]]);
  });
});
