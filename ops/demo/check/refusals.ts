// Owns whether a broker's refusal had a cause: its code, and the checker's own look at the quotes
// and the account's limits of that moment.
//
// 1. A refusal is believed only where what it says can be recomputed, or lies outside the log
//    (money, permissions, the market's hours, the number of orders).

import type { Platform } from "../../../protocol/trades.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import { sideOf, type Request, type Trade } from "./history.ts";
import { levelsAreValid, NO_LEVELS, pendingPriceIsValid } from "./limits.ts";
import { entryPrice, exitPrice, type QuoteBook } from "./prices.ts";
import { valueBefore } from "./periods.ts";

export type Cause = "stops" | "price" | "requote" | "market_closed" | "account" | "other";

const CAUSES: Readonly<Record<Platform, Readonly<Record<number, Cause>>>> = {
  // MT4 says 130 of the price of a pending order too.
  mt4: { 129: "price", 130: "stops", 132: "market_closed", 133: "account", 134: "account", 138: "requote", 140: "account", 148: "account", 4109: "account" },
  mt5: { 10004: "requote", 10015: "price", 10016: "stops", 10017: "account", 10018: "market_closed", 10019: "account", 10026: "account", 10027: "account", 10033: "account", 10034: "account", 10040: "account" },
};
const SUCCESSES: ReadonlySet<number> = new Set([0, 10008, 10009, 10010]);

/** Null where it was not refused: done, not looked at, or not answered yet. */
export function refusalOf({ answer }: Request, platform: Platform): Cause | null {
  if (answer === null || answer.code === null || SUCCESSES.has(answer.code)) return null;
  return CAUSES[platform][answer.code] ?? "other";
}

/** Whether the broker had to refuse these levels or this pending price just before entry `n`, when `order` came. */
export function isInvalidAt({ order, target }: Pick<Request, "order" | "target">, n: number, symbol: BrokerSymbol, quotes: QuoteBook): boolean {
  const market = quotes.before(symbol, n);
  if (market === null) return false;
  switch (order.kind) {
    case "open":
      return !levelsAreValid(order, NO_LEVELS, order.side, exitPrice(order.side, market), symbol);
    case "modify": {
      const standing = standingAt(target, n);
      return standing !== null && !levelsAreValid(order, standing.levels, standing.side, exitPrice(standing.side, market), symbol);
    }
    case "place":
      return !pendingPriceIsValid(order.pending, order.price, market, symbol) || !levelsAreValid(order, NO_LEVELS, order.pending.startsWith("buy") ? "buy" : "sell", order.price, symbol);
    case "change": {
      const before = valueBefore(target?.pending?.terms ?? [], n);
      if (target === null || target.pending === null || before === null) return false;
      const isMoved = order.price !== before.price;
      if (isMoved && !pendingPriceIsValid(target.pending.kind, order.price, market, symbol)) return true;
      return !levelsAreValid(order, isMoved ? NO_LEVELS : before, sideOf(target), order.price, symbol);
    }
    case "close":
    case "cancel":
      return false;
  }
}

function standingAt(target: Trade | null, n: number) {
  if (target === null || target.position === null) return null;
  return { side: target.position.side, levels: valueBefore(target.position.levels, n) ?? NO_LEVELS };
}

/** Whether the log bears out that a request had to be refused as it was (1). */
export function isBorneOut(request: Request, platform: Platform, symbol: BrokerSymbol, quotes: QuoteBook): boolean {
  const cause = refusalOf(request, platform);
  switch (cause) {
    case "stops":
    case "price":
      return isInvalidAt(request, request.n, symbol, quotes);
    case "requote":
      return isRequote(request, symbol, quotes);
    case "market_closed":
    case "account":
      return true;
    case "other":
    case null:
      return false;
  }
}

/** Whether the market was worse than the order's limit. */
function isRequote({ order, n }: Request, symbol: BrokerSymbol, quotes: QuoteBook): boolean {
  const market = quotes.before(symbol, n);
  if (order.kind !== "open" || order.priceLimit === null || market === null) return false;
  const price = entryPrice(order.side, market);
  return order.side === "buy" ? price > order.priceLimit : price < order.priceLimit;
}
