// Owns what the bundled demo statement must hold, so that a replay of its rows as quotes can
// honour every row.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { loadStatement } from "../../../ops/statement/read.ts";
import { summarise } from "../../../ops/statement/summary.ts";
import { demoFile } from "./fixture.ts";

const statement = await loadStatement(demoFile);
const { positions, open, pendings } = statement;

interface Seen {
  readonly symbol: string;
  readonly atMs: number;
  readonly price: number;
}
/** Every price that some row shows with its time. */
const seen: readonly Seen[] = [
  ...positions.flatMap(({ symbol, openTimeMs, openPrice, closeTimeMs, closePrice }) => [
    { symbol, atMs: openTimeMs, price: openPrice },
    { symbol, atMs: closeTimeMs, price: closePrice },
  ]),
  ...open.map(({ symbol, openTimeMs, openPrice }) => ({ symbol, atMs: openTimeMs, price: openPrice })),
  ...pendings.flatMap(({ symbol, removedTimeMs, marketPrice }) => (marketPrice === null ? [] : [{ symbol, atMs: removedTimeMs, price: marketPrice }])),
];
const seenBetween = (symbol: string, fromMs: number, toMs: number): readonly Seen[] => seen.filter((each) => each.symbol === symbol && each.atMs > fromMs && each.atMs < toMs);
/** The price as seen from a buyer: a seller's is mirrored. */
const sign = (side: "buy" | "sell"): 1 | -1 => (side === "buy" ? 1 : -1);

test("it is of the size that the demo promises", () => {
  assert.deepEqual(summarise(statement), {
    format: "mt4-html",
    positions: 29,
    open: 2,
    pendings: 3,
    working: 1,
    chains: 3,
    ignored: { balance: 1 },
    symbols: ["eurusd.", "gbpusd.", "usdjpy.", "xauusd."],
    from: "2024-05-14T07:14:32",
    to: "2024-05-16T19:10:00",
  });
  assert.deepEqual(statement.unresolvedChains, []);
});

describe("it holds each kind of trade", () => {
  const count = (predicate: (position: (typeof positions)[number]) => boolean): number => positions.filter(predicate).length;
  const trailed = (position: (typeof positions)[number]): boolean => position.stopLoss !== null && sign(position.side) * (position.stopLoss - position.openPrice) > 0;

  test("stops, targets, a gap and closes by hand", () => {
    assert.ok(count(({ closeReason, gap }) => closeReason === "stop_loss" && !gap) >= 4);
    assert.ok(count(({ closeReason }) => closeReason === "take_profit") >= 4);
    assert.equal(count(({ gap }) => gap), 1);
    assert.ok(count(({ closeReason, chainTo }) => closeReason === "manual" && chainTo === null) >= 4);
  });
  test("stops trailed into profit", () => assert.ok(count((position) => trailed(position) && position.closeReason === "stop_loss") >= 2));
  test("a chain of two rows and one of three", () => {
    assert.equal(count(({ chainFrom, chainTo }) => chainFrom !== null && chainTo !== null), 1);
    assert.equal(count(({ chainFrom, chainTo }) => chainFrom === null && chainTo !== null), 2);
  });
  test("bursts of three opens within five seconds", () => {
    const times = positions.filter(({ chainFrom }) => chainFrom === null).map(({ openTimeMs }) => openTimeMs);
    assert.ok(times.filter((first) => times.filter((time) => time >= first && time < first + 5000).length >= 3).length >= 2);
  });
  test("each way in which a pending order ends", () => assert.deepEqual(pendings.map(({ reason }) => reason).sort(), ["cancelled", "deleted", "expired"]));
  test("sizes from 0.01 to 1.00 lots", () => {
    const volumes = positions.map(({ volume }) => volume);
    assert.deepEqual([Math.min(...volumes), Math.max(...volumes)], [1_000_000, 100_000_000]);
  });
});

describe("it is consistent", () => {
  test("a stop or target that was hit is the price of the close, unless it was jumped over", () => {
    for (const { ticket, closeReason, closePrice, stopLoss, takeProfit, gap } of positions) {
      if (gap) assert.notEqual(closePrice, stopLoss);
      else if (closeReason === "stop_loss") assert.equal(closePrice, stopLoss, String(ticket));
      else if (closeReason === "take_profit") assert.equal(closePrice, takeProfit, String(ticket));
    }
  });
  test("no other row's price crosses a position's final stop or target while it is open", () => {
    for (const { ticket, symbol, side, openTimeMs, closeTimeMs, stopLoss, takeProfit } of positions) {
      for (const { price, atMs } of seenBetween(symbol, openTimeMs, closeTimeMs)) {
        const place = `${ticket} at ${new Date(atMs).toISOString()}`;
        if (stopLoss !== null) assert.ok(sign(side) * (price - stopLoss) > 0, `stop of ${place}`);
        if (takeProfit !== null) assert.ok(sign(side) * (takeProfit - price) > 0, `target of ${place}`);
      }
    }
  });
  test("no row's price fills a pending order that was not filled", () => {
    for (const { ticket, symbol, kind, placedTimeMs, removedTimeMs, price, marketPrice } of pendings) {
      assert.ok(marketPrice !== null);
      const below = kind === "buy_limit" || kind === "sell_stop";
      for (const each of [...seenBetween(symbol, placedTimeMs, removedTimeMs), { price: marketPrice }]) assert.ok(below ? each.price > price : each.price < price, String(ticket));
    }
  });
});
