// Owns the cases of the decision for one trade: the next order, or the reason why there is none.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { decide, type DecideInput, type Decision, type Target } from "../../../actors/core/decide.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { PairStatus } from "../../../protocol/pairs.ts";
import type { SymbolName } from "../../../protocol/ids.ts";
import { link, lots, MAGIC, market, masterPending, masterPosition, NOW, pair, points, quote, spec, SYMBOL, ticket } from "./examples.ts";

const held = (more: Parameters<typeof masterPosition>[0] = {}): Target => ({ kind: "position", position: masterPosition(more) });
const waiting = (more: Parameters<typeof masterPending>[0] = {}): Target => ({ kind: "pending", pending: masterPending(more) });
const GONE: Target = { kind: "gone", reason: "master_closed" };

const decided = (more: Partial<DecideInput>): Decision =>
  decide({ link: link(), target: held(), pair: null, market: market(), opening: { late: false, ageMs: 0 }, plain: false, nowMs: NOW, ...more });

function orderOf(more: Partial<DecideInput>): Order | null {
  const decision = decided(more);
  return decision.kind === "order" ? decision.order : null;
}

function reasonOf(more: Partial<DecideInput>): string | null {
  const decision = decided(more);
  assert.ok(decision.kind !== "skip" || decision.pair.status === "Skipped");
  return decision.kind === "skip" ? decision.pair.reason : decision.kind;
}

describe("a position without a copy", () => {
  test("is opened with the tag, the stops, and the worst price that slippage allows", () => {
    assert.deepEqual(orderOf({ target: held({ stopLoss: points(109_000), takeProfit: points(112_000) }) }), {
      kind: "open", symbol: SYMBOL, side: "buy", volume: lots(1), priceLimit: 110_050, stopLoss: 109_000, takeProfit: 112_000, magic: MAGIC, comment: "mc1",
    });
  });
  test("its row is Sending, with the volumes that shares will count from", () => {
    const decision = decided({ link: link({ sizing: { mode: "multiplier", factorMillionths: 500_000 } }), target: held({ volume: lots(0.6) }) });
    assert.ok(decision.kind === "order");
    const { status, followerTicket, initialVolume, masterInitialVolume, opening } = decision.pair;
    assert.deepEqual([status, followerTicket, initialVolume, masterInitialVolume, opening], ["Sending", null, lots(0.3), lots(0.6), 1]);
  });
  test("is opened without the level that its broker would refuse at this quote", () => {
    const order = orderOf({ target: held({ side: "sell", stopLoss: points(110_011), takeProfit: points(109_000) }), market: market({ spec: spec({ stopLevelPoints: 2 }), quote: quote(110_000, 110_010) }) });
    assert.ok(order?.kind === "open");
    assert.deepEqual([order.stopLoss, order.takeProfit], [null, 109_000]);
  });
  test("is opened without stops when they are off, or were refused once", () => {
    const target = held({ stopLoss: points(109_000) });
    for (const input of [{ target, link: link({ copyStops: false }) }, { target, plain: true }]) {
      const order = orderOf(input);
      assert.ok(order?.kind === "open");
      assert.deepEqual([order.stopLoss, order.takeProfit], [null, null]);
    }
  });
  test("with the follower's digits, prices are the follower's points", () => {
    const order = orderOf({ target: held({ stopLoss: points(109_004) }), market: market({ spec: spec({ digits: 4 }), quote: quote(11_000) }), link: link({ slippagePoints: 3 }) });
    assert.ok(order?.kind === "open");
    assert.deepEqual([order.priceLimit, order.stopLoss], [11_003, 10_900]);
  });

  const skips: readonly (readonly [string, Partial<DecideInput>])[] = [
    ["link_off", { link: link({}, { enabled: false }) }],
    ["own_tag", { target: held({ comment: "mc77[sl]" }) }],
    ["symbol_unknown", { market: market({ spec: null, quote: null }) }],
    ["no_quote", { market: market({ quote: null }) }],
    ["too_old", { opening: { late: true, ageMs: 120_001 } }],
    ["volume_below_minimum", { target: held({ volume: lots(0.001) }) }],
    ["volume_above_maximum", { target: held({ volume: lots(101) }), link: link({ aboveMaximum: "skip" }) }],
    ["price_moved", { market: market({ quote: quote(110_000, 110_051) }) }],
    ["late_open_price_moved", { market: market({ quote: quote(110_000, 110_051) }), opening: { late: true, ageMs: 0 } }],
    // A tick that is read too late is a late open.
    ["late_open_price_moved", { market: market({ quote: quote(110_000, 110_051) }), opening: { late: false, ageMs: 10_001 } }],
    ["too_old", { opening: { late: false, ageMs: 10_001 }, link: link({ lateOpenMs: 10_000 }) }],
    ["too_old", { opening: { late: true, ageMs: 1 }, link: link({ lateOpenMs: 0 }) }],
  ];
  for (const [reason, input] of skips) test(`is skipped as ${reason}`, () => assert.equal(reasonOf(input), reason));

  test("a skip keeps the numbers that decided it", () => {
    const decision = decided({ market: market({ quote: quote(110_000, 110_051) }) });
    assert.deepEqual(decision.kind === "skip" ? decision.pair.detail : null, { againstPoints: 51, slippagePoints: 50, masterPrice: "1.10000" });
  });
  test("at the limit of slippage and of age it is still copied", () => {
    assert.equal(reasonOf({ market: market({ quote: quote(110_000, 110_050) }), opening: { late: false, ageMs: 10_000 } }), "order");
  });
  test("a better price is no reason to skip", () => assert.equal(reasonOf({ market: market({ quote: quote(100_000) }) }), "order"));
  test("the row of an unknown symbol has the follower's spelling and the master's digits", () => {
    const decision = decided({ target: held({ digits: 3 }), market: { symbol: "GOLD.Z" as SymbolName, spec: null, quote: null } });
    assert.deepEqual(decision.kind === "skip" ? [decision.pair.symbol, decision.pair.digits] : null, ["GOLD.Z", 3]);
  });
  test("what is gone and was never copied needs nothing", () => assert.equal(reasonOf({ target: GONE }), "nothing"));
});

describe("a pending order without a copy", () => {
  test("is placed with the tag", () => {
    assert.deepEqual(orderOf({ target: waiting({ stopLoss: points(109_000) }) }), {
      kind: "place", symbol: SYMBOL, pending: "buy_limit", volume: lots(1), price: 109_500, stopLoss: 109_000, takeProfit: null, magic: MAGIC, comment: "mc1",
    });
  });
  test("waits for its fill when the link copies none", () => assert.equal(reasonOf({ target: waiting(), link: link({ copyPendings: false }) }), "nothing"));
  test("needs no quote and is not too old", () => assert.equal(reasonOf({ target: waiting(), market: market({ quote: null }), opening: { late: true, ageMs: 1e9 } }), "order"));
  for (const [reason, input] of [
    ["link_off", { link: link({}, { enabled: false }) }],
    ["own_tag", { target: waiting({ comment: "mc77" }) }],
    ["symbol_unknown", { market: market({ spec: null }) }],
    ["volume_below_minimum", { target: waiting({ volume: lots(0.001) }) }],
  ] as const) test(`is skipped as ${reason}`, () => assert.equal(reasonOf({ target: waiting(), ...input }), reason));
});

describe("an open copy", () => {
  const open = pair({ stopLoss: points(109_000) });
  const same = { stopLoss: points(109_000) };

  test("of a trade that has not changed needs nothing", () => assert.equal(reasonOf({ pair: open, target: held(same) }), "nothing"));
  test("of a trade that is gone is closed whole", () => {
    assert.deepEqual(orderOf({ pair: pair({ volume: lots(0.7) }), target: GONE }), { kind: "close", ticket: 50, symbol: SYMBOL, volume: lots(0.7), part: false });
  });
  test("is closed and followed also when the link is off: only opens obey it", () => {
    const off = link({}, { enabled: false });
    assert.equal(orderOf({ pair: open, target: GONE, link: off })?.kind, "close");
    assert.equal(orderOf({ pair: open, target: held(), link: off })?.kind, "modify");
  });
  test("of a part-closed trade is part-closed", () => {
    const decision = decided({ pair: open, target: held({ ...same, volume: lots(0.4) }) });
    assert.ok(decision.kind === "order");
    assert.deepEqual(decision.order, { kind: "close", ticket: 50, symbol: SYMBOL, volume: lots(0.6), part: true });
    assert.equal(decision.pair.masterVolume, lots(0.4));
  });
  test("of a part-closed and modified trade is part-closed first", () => assert.equal(orderOf({ pair: open, target: held({ volume: lots(0.4), stopLoss: points(1) }) })?.kind, "close"));
  test("of a modified trade is modified to both levels", () => {
    assert.deepEqual(orderOf({ pair: open, target: held({ takeProfit: points(112_000) }) }), { kind: "modify", ticket: 50, symbol: SYMBOL, stopLoss: null, takeProfit: 112_000 });
  });
  test("of which the broker would refuse a level at this quote gets the other, and that one when the market allows it", () => {
    const near = market({ spec: spec({ stopLevelPoints: 20 }), quote: quote(110_000, 110_010) });
    const target = held({ stopLoss: points(109_981), takeProfit: points(110_020) });
    assert.deepEqual(orderOf({ pair: open, target, market: near }), { kind: "modify", ticket: 50, symbol: SYMBOL, stopLoss: 109_000, takeProfit: 110_020 });
    assert.equal(reasonOf({ pair: { ...open, takeProfit: points(110_020) }, target, market: near }), "later");
    assert.deepEqual(orderOf({ pair: open, target, market: market({ spec: spec({ stopLevelPoints: 20 }), quote: quote(110_001) }) }), { kind: "modify", ticket: 50, symbol: SYMBOL, stopLoss: 109_981, takeProfit: null });
  });
  test("whose level is taken away is modified whatever the market", () => {
    assert.deepEqual(orderOf({ pair: { ...open, stopLoss: points(109_999) }, target: held(), market: market({ spec: spec({ stopLevelPoints: 50 }) }) }), { kind: "modify", ticket: 50, symbol: SYMBOL, stopLoss: null, takeProfit: null });
  });
  test("keeps its own stops when they are not copied", () => assert.equal(reasonOf({ pair: open, target: held(), link: link({ copyStops: false }) }), "nothing"));
  test("without a spec of its symbol is left alone, but closed when its trade is gone", () => {
    assert.equal(reasonOf({ pair: open, target: held(), market: market({ spec: null }) }), "nothing");
    assert.equal(orderOf({ pair: open, target: GONE, market: market({ spec: null }) })?.kind, "close");
  });
  test("whose own pending filled first waits for the master's", () => assert.equal(reasonOf({ pair: open, target: waiting() }), "nothing"));
});

describe("a pending copy", () => {
  const placed = pair({ holds: "pending", openPrice: points(109_500) });

  test("that has not changed needs nothing", () => assert.equal(reasonOf({ pair: placed, target: waiting() }), "nothing"));
  test("of a trade that is gone is cancelled", () => assert.deepEqual(orderOf({ pair: placed, target: GONE }), { kind: "cancel", ticket: 50, symbol: SYMBOL }));
  test("of a changed order is changed", () => {
    const target = waiting({ price: points(109_400), stopLoss: points(109_000) });
    assert.deepEqual(orderOf({ pair: placed, target }), { kind: "change", ticket: 50, symbol: SYMBOL, price: 109_400, stopLoss: 109_000, takeProfit: null });
  });
  test("keeps its stops when they are not copied and only the price changed", () => {
    const order = orderOf({ pair: { ...placed, stopLoss: points(7) }, target: waiting({ price: points(109_400), stopLoss: points(109_000) }), link: link({ copyStops: false }) });
    assert.deepEqual(order?.kind === "change" ? [order.price, order.stopLoss] : null, [109_400, 7]);
  });
  test("whose master's order filled waits for its own broker", () => assert.equal(reasonOf({ pair: placed, target: held() }), "nothing"));
});

describe("a pair that is ended or not settled gets no order, whatever the master holds", () => {
  for (const status of ["Sending", "Closed", "Skipped", "Superseded"] satisfies PairStatus[]) {
    test(status, () => {
      for (const target of [held({ volume: lots(0.1) }), waiting(), GONE]) assert.equal(reasonOf({ pair: pair({ status }), target }), "nothing");
    });
  }
  test("nor does one whose ticket is not known yet", () => assert.equal(reasonOf({ pair: pair({ followerTicket: null }), target: GONE }), "nothing"));
});

test("a trade keeps its first ticket as its tag when its current one is another", () => {
  const order = orderOf({ target: held({ masterTicket: ticket(1), ticket: ticket(9) }) });
  assert.equal(order?.kind === "open" ? order.comment : null, "mc1");
});
