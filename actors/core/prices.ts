// Owns prices across brokers: the master's levels in the follower's points, and how far the market
// has moved against us.
//
// 1. A distance in points is always of the follower's symbol.

import { closingPrice, openingPrice, type Quote, type Side, type SymbolSpec } from "../../protocol/trades.ts";
import { rescalePoints, type Points } from "../../protocol/units.ts";

export interface Stops {
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}

export const NO_STOPS: Stops = { stopLoss: null, takeProfit: null };

/** The master's stop and target in the follower's points. */
export function stopsAt(spec: Pick<SymbolSpec, "digits">, master: Stops & { readonly digits: number }): Stops {
  const at = (level: Points | null): Points | null => (level === null ? null : rescalePoints(level, master.digits, spec.digits));
  return { stopLoss: at(master.stopLoss), takeProfit: at(master.takeProfit) };
}

/**
 * The wanted levels as far as the broker takes them at this quote: one that stands so already or takes a level away is
 * always taken, another only at least the stop level, and one point, from the price at which the position would be closed.
 */
export function stopsTaken(side: Side, wanted: Stops, standing: Stops, quote: Quote, stopLevelPoints: number): Stops {
  const distance = Math.max(stopLevelPoints, 1);
  const price = closingPrice(side, quote);
  const isTaken = (level: Points, below: boolean): boolean => (below ? level <= price - distance : level >= price + distance);
  const take = (level: Points | null, now: Points | null, below: boolean): Points | null => (level === null || level === now || isTaken(level, below) ? level : now);
  return { stopLoss: take(wanted.stopLoss, standing.stopLoss, side === "buy"), takeProfit: take(wanted.takeProfit, standing.takeProfit, side === "sell") };
}

export const sameStops = (a: Stops, b: Stops): boolean => a.stopLoss === b.stopLoss && a.takeProfit === b.takeProfit;

/** How many points worse than `price` the market is for somebody who opens now; negative when it is better. */
export function pointsAgainst(side: Side, price: Points, quote: Quote): number {
  const now = openingPrice(side, quote);
  return side === "buy" ? now - price : price - now;
}

/** The worst price accepted for an open: the master's price, `slippagePoints` against us. */
export function worstPrice(side: Side, price: Points, slippagePoints: number): Points {
  return (side === "buy" ? price + slippagePoints : price - slippagePoints) as Points;
}
