// Owns where a pending order may stand on a price path without being filled: at its final price
// from the start, or at another one first and at the final one from when the market allows it.
//
// 1. The market at a pending's end is shown as the statement has it, or as near to it as leaves the
//    order unfilled: so each comes to stand at its final price.

import { pendingSide, type PendingKind, type Side } from "../../protocol/trades.ts";
import type { Points } from "../../protocol/units.ts";
import { isReached } from "../broker/engine/validation.ts";
import type { Mark, Quoted } from "./pricePath.ts";
import type { Levels, PendingRole } from "./roles.ts";

export const SPREAD_POINTS = 2;

export interface PendingPath {
  readonly placed: Levels & { readonly price: Points };
  /** `from`: index of the quote after which it is changed to the final price; null when it stands there from the start, or never can. */
  readonly changed: (Levels & { readonly price: Points; readonly from: number }) | null;
  /** Index of the quote after which it is cancelled; null where it is working. */
  readonly removed: number | null;
}

/** How far from the nearest quote of its life a pending stands while its final price is not possible. */
const CLEAR_POINTS = 5;

export function pendingPath(marks: readonly Mark[], pending: PendingRole): PendingPath {
  const { kind, price: finalPrice } = pending;
  const placed = Math.max(0, marks.findLastIndex((mark) => mark.atMs < pending.placedMs));
  const removed = pending.removedMs === null ? null : marks.findIndex((mark) => mark.of === pending);
  const life = marks.slice(placed, removed === null ? marks.length : removed + 1);
  const lastFill = life.findLastIndex((mark) => isReached(kind, finalPrice, mark));
  const final = { price: finalPrice, ...stopsAround(kind, finalPrice, pending) };
  if (lastFill === -1) return { placed: final, changed: null, removed };
  const price = clearOfAll(kind, life);
  const apart = { price, ...stopsAround(kind, price, pending) };
  return { placed: apart, changed: lastFill + 1 < life.length ? { ...final, from: placed + lastFill + 1 } : null, removed };
}

/** Whether the order waits for the market to fall to its price. */
const isBelowMarket = (kind: PendingKind): boolean => kind === "buy_limit" || kind === "sell_stop";

/** The price nearest to the market's at which the order is not filled, and who deals at it (1). */
export function clearOfPending({ kind, price, marketPrice }: Pick<PendingRole, "kind" | "price" | "marketPrice">): { readonly deal: Side; readonly price: number } {
  const market = marketPrice ?? price;
  return { deal: pendingSide(kind), price: isBelowMarket(kind) ? Math.max(market, price + 1) : Math.max(1, Math.min(market, price - 1)) };
}

/** The bid has to stay above `low` and below `high`, or one of the orders is filled. */
export function roomForWorking(working: readonly PendingRole[]): { readonly low: number; readonly high: number } {
  let low = 0;
  let high = Infinity;
  for (const { kind, price } of working) {
    const bid = pendingSide(kind) === "buy" ? price - SPREAD_POINTS : price;
    if (isBelowMarket(kind)) low = Math.max(low, bid);
    else high = Math.min(high, bid);
  }
  return { low, high };
}

function clearOfAll(kind: PendingKind, life: readonly Quoted[]): Points {
  const prices = life.map((mark) => (pendingSide(kind) === "buy" ? mark.ask : mark.bid));
  const nearest = isBelowMarket(kind) ? Math.max(1, Math.min(...prices) - CLEAR_POINTS) : Math.max(...prices) + CLEAR_POINTS;
  return nearest as Points;
}

/** The levels that a position opened at `price` could carry. */
export function stopsAround(kind: PendingKind, price: Points, { stopLoss, takeProfit }: Levels): Levels {
  const buys = pendingSide(kind) === "buy";
  const beyond = (level: Points | null, above: boolean): Points | null => (level !== null && level > 0 && (above ? level > price : level < price) ? level : null);
  return { stopLoss: beyond(stopLoss, !buys), takeProfit: beyond(takeProfit, buys) };
}
