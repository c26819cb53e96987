// Owns the tests of what the broker's engine makes of orders, on MT4 and MT5.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { symbolName, type Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import { resultCode, type Refusal } from "../../../ops/broker/engine/refusals.ts";
import { ASK, BID, closeOrder, Engine, EURUSD, lots, openOrder, placeOrder, points, priced } from "./market.ts";

const refusalOf = (engine: Engine, order: Order): Refusal | null => {
  const { outcome, events } = engine.ask(order);
  assert.equal(outcome.refusal === null, events.length > 0, "a refusal, and only a refusal, changes nothing");
  return outcome.refusal;
};

describe("orders that open", () => {
  test("a buy fills at the ask, a sell at the bid", () => {
    const engine = priced("mt4");
    assert.equal(engine.ask(openOrder({ side: "buy" })).outcome.price, ASK);
    assert.equal(engine.ask(openOrder({ side: "sell" })).outcome.price, BID);
    assert.deepEqual([...engine.state.positions.values()].map(({ openPrice }) => openPrice), [ASK, BID]);
  });

  test("a position has everything the order said, and the time and ticket of its opening", () => {
    const engine = priced("mt4");
    const { outcome } = engine.ask(openOrder({ stopLoss: points(108_000), takeProfit: points(109_000) }));
    assert.deepEqual(engine.state.positions.get(outcome.ticket as Ticket), {
      ticket: 100,
      identifier: 100,
      symbol: EURUSD,
      digits: 5,
      side: "buy",
      volume: lots("0.10"),
      openPrice: ASK,
      openTimeMs: engine.nowMs,
      stopLoss: 108_000,
      takeProfit: 109_000,
      magic: 7,
      comment: "mc42",
    });
  });

  test("a market worse than the price limit is a requote, a market at it is not", () => {
    const engine = priced("mt4");
    assert.equal(refusalOf(engine, openOrder({ side: "buy", priceLimit: points(ASK - 1) })), "requote");
    assert.equal(refusalOf(engine, openOrder({ side: "sell", priceLimit: points(BID + 1) })), "requote");
    assert.equal(refusalOf(engine, openOrder({ side: "buy", priceLimit: points(ASK) })), null);
    assert.equal(refusalOf(engine, openOrder({ side: "sell", priceLimit: points(BID) })), null);
  });

  test("a volume off the grid, below the minimum or above the maximum is refused", () => {
    const engine = new Engine("mt4", { volumeMin: lots("0.05"), volumeStep: lots("0.02"), volumeMax: lots("1") });
    engine.quote(BID, ASK);
    for (const bad of ["0.00", "0.04", "0.06", "1.01", "1.03"]) assert.equal(refusalOf(engine, openOrder({ volume: lots(bad) })), "invalid_volume", bad);
    for (const good of ["0.05", "0.07", "0.99"]) assert.equal(refusalOf(engine, openOrder({ volume: lots(good) })), null, good);
  });

  test("stops on the wrong side, or nearer than the stop level to the closing price, are refused", () => {
    const engine = priced("mt4");
    const stop = (side: "buy" | "sell", stopLoss: number | null, takeProfit: number | null): Refusal | null =>
      refusalOf(engine, openOrder({ side, stopLoss: stopLoss === null ? null : points(stopLoss), takeProfit: takeProfit === null ? null : points(takeProfit) }));
    assert.equal(stop("buy", BID - 9, null), "invalid_stops");
    assert.equal(stop("buy", BID - 10, null), null);
    assert.equal(stop("buy", null, BID + 9), "invalid_stops");
    assert.equal(stop("buy", null, BID + 10), null);
    assert.equal(stop("sell", ASK + 9, null), "invalid_stops");
    assert.equal(stop("sell", ASK + 10, null), null);
    assert.equal(stop("sell", null, ASK - 9), "invalid_stops");
    assert.equal(stop("sell", null, ASK - 10), null);
    assert.equal(stop("buy", BID + 50, null), "invalid_stops", "a stop above a buy");
    assert.equal(stop("sell", null, 0), "invalid_stops", "a target at zero");
  });

  test("without a stop level a stop at the market is still refused: it would fire at once", () => {
    const engine = new Engine("mt4", { stopLevelPoints: 0 });
    engine.quote(BID, ASK);
    assert.equal(refusalOf(engine, openOrder({ stopLoss: points(BID) })), "invalid_stops");
    assert.equal(refusalOf(engine, openOrder({ stopLoss: points(BID - 1) })), null);
  });

  test("a comment is cut at 31 characters", () => {
    const engine = priced("mt5");
    const ticket = engine.standing(openOrder({ comment: "0123456789".repeat(4) }));
    assert.equal(engine.state.positions.get(ticket)?.comment, "0123456789012345678901234567890");
  });

  test("before the first quote nothing opens", () => {
    assert.equal(refusalOf(new Engine("mt4"), openOrder()), "off_quotes");
  });

  test("a symbol is matched exactly", () => {
    assert.equal(refusalOf(priced("mt4"), openOrder({ symbol: symbolName("eurusd") })), "unknown_symbol");
  });

  test("positions and pendings together are bounded", () => {
    const engine = new Engine("mt4", {}, { maxOpen: 2, maxHistory: 10 });
    engine.quote(BID, ASK);
    engine.standing(openOrder());
    engine.standing(placeOrder());
    assert.equal(refusalOf(engine, openOrder()), "too_many_positions");
    assert.equal(refusalOf(engine, placeOrder()), "too_many_pendings");
  });
});

describe("orders that close", () => {
  test("a buy closes at the bid, a sell at the ask", () => {
    const engine = priced("mt5");
    const buy = engine.standing(openOrder({ side: "buy" }));
    const sell = engine.standing(openOrder({ side: "sell" }));
    assert.equal(engine.ask(closeOrder(buy, lots("0.10"))).outcome.price, BID);
    assert.equal(engine.ask(closeOrder(sell, lots("0.10"))).outcome.price, ASK);
    assert.equal(engine.state.positions.size, 0);
    assert.deepEqual(engine.state.closed.map(({ closePrice, reason }) => [closePrice, reason]), [[BID, "manual"], [ASK, "manual"]]);
  });

  test("MT4: a part-close leaves the old ticket to the closed part and gives the rest a new one, without the comment", () => {
    const engine = priced("mt4");
    const old = engine.standing(openOrder({ stopLoss: points(108_000), takeProfit: points(109_000) }));
    const before = engine.state.positions.get(old);
    assert.ok(before !== undefined);

    const { outcome } = engine.ask(closeOrder(old, lots("0.04")));
    assert.deepEqual(outcome, { refusal: null, ticket: null, left: 101, volume: lots("0.04"), price: BID });
    assert.deepEqual([...engine.state.positions.values()], [{ ...before, ticket: 101, identifier: 101, volume: lots("0.06"), comment: "from #100" }]);
    assert.deepEqual(engine.state.closed.map(({ position }) => position), [{ ...before, volume: lots("0.04"), comment: "to #101" }]);
  });

  test("MT4: a chain of part-closes goes from ticket to ticket, with the open time and price of the first", () => {
    const engine = priced("mt4");
    const first = engine.standing(openOrder());
    const opened = engine.state.positions.get(first);
    const second = engine.standing(closeOrder(first, lots("0.04")));
    const third = engine.standing(closeOrder(second, lots("0.03")));
    engine.ask(closeOrder(third, lots("0.03")));
    assert.deepEqual(engine.state.closed.map(({ position }) => [position.ticket, position.comment]), [
      [first, `to #${second}`],
      [second, `to #${third}`],
      [third, `from #${second}`],
    ]);
    for (const { position } of engine.state.closed) assert.deepEqual([position.openPrice, position.openTimeMs], [opened?.openPrice, opened?.openTimeMs]);
  });

  test("MT4: no close names a ticket, whole or in part", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder());
    assert.equal(engine.ask(closeOrder(ticket, lots("0.10"))).outcome.ticket, null);
  });

  test("MT5: a part-close keeps ticket and comment", () => {
    const engine = priced("mt5");
    const ticket = engine.standing(openOrder());
    const { outcome } = engine.ask(closeOrder(ticket, lots("0.04")));
    assert.deepEqual([outcome.ticket, outcome.left], [ticket, ticket]);
    assert.deepEqual([...engine.state.positions.values()].map(({ volume, comment }) => [volume, comment]), [[lots("0.06"), "mc42"]]);
    assert.deepEqual(engine.state.closed.map(({ position }) => [position.ticket, position.volume]), [[ticket, lots("0.04")]]);
  });

  test("a part off the grid, more than is open, or a rest below the minimum is refused", () => {
    const engine = new Engine("mt4", { volumeMin: lots("0.03") });
    engine.quote(BID, ASK);
    const ticket = engine.standing(openOrder());
    for (const bad of ["0.00", "0.02", "0.035", "0.08", "0.11"]) assert.equal(refusalOf(engine, closeOrder(ticket, lots(bad))), "invalid_volume", bad);
    assert.equal(refusalOf(engine, closeOrder(ticket, lots("0.07"))), null);
  });

  test("what is closed, was never there, or is a pending order cannot be closed", () => {
    const engine = priced("mt5");
    const ticket = engine.standing(openOrder());
    engine.ask(closeOrder(ticket, lots("0.10")));
    assert.equal(refusalOf(engine, closeOrder(ticket, lots("0.10"))), "unknown_position");
    assert.equal(refusalOf(engine, closeOrder(5 as Ticket, lots("0.10"))), "unknown_position");
    assert.equal(refusalOf(engine, closeOrder(engine.standing(placeOrder()), lots("0.10"))), "unknown_position");
  });

  test("the history keeps the newest up to its bound", () => {
    const engine = new Engine("mt4", {}, { maxOpen: 10, maxHistory: 2 });
    engine.quote(BID, ASK);
    const tickets = [1, 2, 3].map(() => engine.standing(openOrder()));
    for (const ticket of tickets) engine.ask(closeOrder(ticket, lots("0.10")));
    assert.deepEqual(engine.state.closed.map(({ position }) => position.ticket), tickets.slice(1));
  });
});

describe("orders that modify", () => {
  const modify = (ticket: Ticket, stopLoss: number | null, takeProfit: number | null): Order => ({
    kind: "modify",
    ticket,
    symbol: EURUSD,
    stopLoss: stopLoss === null ? null : points(stopLoss),
    takeProfit: takeProfit === null ? null : points(takeProfit),
  });

  test("stop and target are set and taken away", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder());
    assert.equal(refusalOf(engine, modify(ticket, 108_000, 109_000)), null);
    assert.deepEqual([engine.state.positions.get(ticket)?.stopLoss, engine.state.positions.get(ticket)?.takeProfit], [108_000, 109_000]);
    assert.equal(refusalOf(engine, modify(ticket, null, null)), null);
    assert.deepEqual([engine.state.positions.get(ticket)?.stopLoss, engine.state.positions.get(ticket)?.takeProfit], [null, null]);
  });

  test("a modify that changes nothing is answered so", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder({ stopLoss: points(108_000) }));
    assert.equal(refusalOf(engine, modify(ticket, 108_000, null)), "no_changes");
  });

  test("a stop that stays is not judged again, one that moves is", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder({ stopLoss: points(108_000) }));
    engine.quote(108_005, 108_015);
    assert.equal(refusalOf(engine, modify(ticket, 108_000, 109_000)), null);
    assert.equal(refusalOf(engine, modify(ticket, 107_996, 109_000)), "invalid_stops");
  });

  test("a closed position cannot be modified", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder());
    engine.ask(closeOrder(ticket, lots("0.10")));
    assert.equal(refusalOf(engine, modify(ticket, 108_000, null)), "unknown_position");
  });
});

test("a ticket under another symbol is refused, whatever is asked", () => {
  const engine = priced("mt4");
  const symbol = symbolName("GBPUSD");
  const stops = { stopLoss: points(106_000), takeProfit: null };
  const position = engine.standing(openOrder());
  const pending = engine.standing(placeOrder());
  assert.equal(refusalOf(engine, closeOrder(position, lots("0.10"), symbol)), "invalid_request");
  assert.equal(refusalOf(engine, { kind: "modify", ticket: position, symbol, ...stops }), "invalid_request");
  assert.equal(refusalOf(engine, { kind: "change", ticket: pending, symbol, price: points(107_500), ...stops }), "invalid_request");
  assert.equal(refusalOf(engine, { kind: "cancel", ticket: pending, symbol }), "invalid_request");
});

describe("pending orders", () => {
  const change = (ticket: Ticket, price: number, stopLoss: number | null = null): Order => ({
    kind: "change",
    ticket,
    symbol: EURUSD,
    price: points(price),
    stopLoss: stopLoss === null ? null : points(stopLoss),
    takeProfit: null,
  });

  test("each kind stands on its own side of the market, at least the stop level away", () => {
    const engine = priced("mt4");
    const place = (pending: "buy_limit" | "buy_stop" | "sell_limit" | "sell_stop", price: number): Refusal | null => refusalOf(engine, placeOrder({ pending, price: points(price) }));
    assert.deepEqual([place("buy_limit", ASK - 10), place("buy_limit", ASK - 9), place("buy_limit", ASK + 50)], [null, "invalid_pending_price", "invalid_pending_price"]);
    assert.deepEqual([place("buy_stop", ASK + 10), place("buy_stop", ASK + 9), place("buy_stop", ASK - 50)], [null, "invalid_pending_price", "invalid_pending_price"]);
    assert.deepEqual([place("sell_limit", BID + 10), place("sell_limit", BID + 9), place("sell_limit", BID - 50)], [null, "invalid_pending_price", "invalid_pending_price"]);
    assert.deepEqual([place("sell_stop", BID - 10), place("sell_stop", BID - 9), place("sell_stop", BID + 50)], [null, "invalid_pending_price", "invalid_pending_price"]);
    assert.equal(place("buy_limit", 0), "invalid_price");
  });

  test("a pending's stops are judged from its own price", () => {
    const engine = priced("mt4");
    assert.equal(refusalOf(engine, placeOrder({ price: points(107_000), stopLoss: points(107_500) })), "invalid_stops");
    assert.equal(refusalOf(engine, placeOrder({ price: points(107_000), stopLoss: points(106_990), takeProfit: points(107_010) })), null);
  });

  test("price and stops are changed; no change is answered so; a price at the market is refused", () => {
    const engine = priced("mt5");
    const ticket = engine.standing(placeOrder());
    assert.equal(refusalOf(engine, change(ticket, 107_000)), "no_changes");
    assert.equal(refusalOf(engine, change(ticket, ASK)), "invalid_pending_price");
    assert.equal(refusalOf(engine, change(ticket, 106_000, 105_000)), null);
    assert.deepEqual([engine.state.pendings.get(ticket)?.price, engine.state.pendings.get(ticket)?.stopLoss], [106_000, 105_000]);
  });

  test("a cancelled pending is gone and in the history; it cannot be cancelled or changed again", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(placeOrder());
    assert.equal(refusalOf(engine, { kind: "cancel", ticket, symbol: EURUSD }), null);
    assert.equal(engine.state.pendings.size, 0);
    assert.deepEqual(engine.state.removed.map(({ pending, reason }) => [pending.ticket, reason]), [[ticket, "cancelled"]]);
    assert.equal(refusalOf(engine, { kind: "cancel", ticket, symbol: EURUSD }), "unknown_pending");
    assert.equal(refusalOf(engine, change(ticket, 106_000)), "unknown_pending");
  });
});

describe("result codes", () => {
  test("every refusal has the platform's own code", () => {
    const codes = (refusal: Refusal | null): [number, number] => [resultCode("mt4", refusal).code, resultCode("mt5", refusal).code];
    assert.deepEqual(codes(null), [0, 10009]);
    assert.deepEqual(codes("no_changes"), [1, 10025]);
    assert.deepEqual(codes("invalid_request"), [3, 10013]);
    assert.deepEqual(codes("invalid_price"), [129, 10015]);
    assert.deepEqual(codes("invalid_pending_price"), [130, 10015]);
    assert.deepEqual(codes("invalid_stops"), [130, 10016]);
    assert.deepEqual(codes("invalid_volume"), [131, 10014]);
    assert.deepEqual(codes("market_closed"), [132, 10018]);
    assert.deepEqual(codes("no_money"), [134, 10019]);
    assert.deepEqual(codes("requote"), [138, 10004]);
    assert.deepEqual(codes("off_quotes"), [136, 10021]);
    assert.deepEqual(codes("unknown_position"), [4108, 10036]);
    assert.deepEqual(codes("unknown_pending"), [4108, 10013]);
  });
});
