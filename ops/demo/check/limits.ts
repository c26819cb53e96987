// Owns the checker's own judgement of what a broker must refuse: stops and pending prices that are
// too near to the market, or on its wrong side.

import type { PendingKind, Side } from "../../../protocol/trades.ts";
import type { Points } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Levels } from "./history.ts";
import type { Price } from "./prices.ts";

type Limits = Pick<BrokerSymbol, "stopLevelPoints">;

/** A stop at the market itself would fire at once, so one point is the least everywhere. */
const least = (limits: Limits): number => Math.max(1, limits.stopLevelPoints);

/**
 * Whether stop and target are far enough from `reference` (the exit price, or a pending's own), each on its side.
 * @param standing what is set already: it is not judged again
 */
export function levelsAreValid(levels: Levels, standing: Levels, side: Side, reference: Points, limits: Limits): boolean {
  const above = (level: Points): number => level - reference;
  const below = (level: Points): number => reference - level;
  const [stopDistance, targetDistance] = side === "buy" ? [below, above] : [above, below];
  const isValid = (level: Points | null, old: Points | null, distance: (level: Points) => number): boolean =>
    level === null || level === old || (level > 0 && distance(level) >= least(limits));
  return isValid(levels.stopLoss, standing.stopLoss, stopDistance) && isValid(levels.takeProfit, standing.takeProfit, targetDistance);
}

export function pendingPriceIsValid(kind: PendingKind, price: Points, market: Price, limits: Limits): boolean {
  const distances: Readonly<Record<PendingKind, number>> = {
    buy_limit: market.ask - price,
    buy_stop: price - market.ask,
    sell_limit: price - market.bid,
    sell_stop: market.bid - price,
  };
  return price > 0 && distances[kind] >= least(limits);
}

export const NO_LEVELS: Levels = { stopLoss: null, takeProfit: null };
