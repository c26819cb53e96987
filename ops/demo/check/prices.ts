// Owns the prices of the log: every quote by instrument, seen in any symbol's digits.
//
// 1. A price is rounded half up when digits are taken from it, as brokers show it.

import type { Points } from "../../../protocol/units.ts";
import type { Side } from "../../../protocol/trades.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Moment, Span } from "./periods.ts";

/** In points of whoever's digits it was asked in. */
export interface Price extends Moment {
  readonly bid: Points;
  readonly ask: Points;
}

interface Series {
  readonly digits: number;
  readonly quotes: Price[];
}

/** The same price in points of other digits (1). */
export function rescaled(points: Points, fromDigits: number, toDigits: number): Points {
  if (toDigits >= fromDigits) return (points * 10 ** (toDigits - fromDigits)) as Points;
  const unit = 10 ** (fromDigits - toDigits);
  const rest = points % unit;
  return ((points - rest) / unit + (2 * rest >= unit ? 1 : 0)) as Points;
}

/** What a trade of that side is opened at. */
export const entryPrice = (side: Side, price: Price): Points => (side === "buy" ? price.ask : price.bid);
/** What a trade of that side is closed at. */
export const exitPrice = (side: Side, price: Price): Points => (side === "buy" ? price.bid : price.ask);
/** How much worse than `wanted` an opening at `price` is. */
export const pointsAgainst = (side: Side, wanted: Points, price: Points): number => (side === "buy" ? price - wanted : wanted - price);

export class QuoteBook {
  readonly #series = new Map<string, Series>();
  readonly #instrumentOf = new Map<number, string>();

  /** Quotes come in the order of the log. */
  add(instrument: string, digits: number, quote: Price): void {
    const series = this.#series.get(instrument) ?? { digits, quotes: [] };
    series.quotes.push(quote);
    this.#series.set(instrument, series);
    this.#instrumentOf.set(quote.n, instrument);
  }

  has(n: number): boolean {
    return this.#instrumentOf.has(n);
  }

  /** The quote that is entry `n` of the log, if it is one of this symbol. */
  at(symbol: BrokerSymbol, n: number): Price | null {
    const quote = this.#instrumentOf.get(n) === symbol.instrument ? this.before(symbol, n + 1) : null;
    return quote?.n === n ? quote : null;
  }

  /** The quote in force just before entry `n`. */
  before(symbol: BrokerSymbol, n: number): Price | null {
    const series = this.#series.get(symbol.instrument);
    const quote = series?.quotes[firstIndex(series.quotes, (quote) => quote.n >= n) - 1];
    return series === undefined || quote === undefined ? null : seen(quote, series.digits, symbol.digits);
  }

  /** Every quote that was in force at some moment of the span. */
  inForce(symbol: BrokerSymbol, { fromMs, toMs }: Span): Price[] {
    const series = this.#series.get(symbol.instrument);
    if (series === undefined) return [];
    const first = firstIndex(series.quotes, (quote) => quote.atMs >= fromMs);
    const end = firstIndex(series.quotes, (quote) => quote.atMs > toMs);
    return series.quotes.slice(Math.max(0, first - 1), end).map((quote) => seen(quote, series.digits, symbol.digits));
  }
}

const seen = ({ n, atMs, bid, ask }: Price, from: number, to: number): Price => ({ n, atMs, bid: rescaled(bid, from, to), ask: rescaled(ask, from, to) });

/** The first index whose element passes a test that all later ones pass too; the length when none does. */
function firstIndex<T>(list: readonly T[], test: (element: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = list[middle];
    if (element !== undefined && test(element)) high = middle;
    else low = middle + 1;
  }
  return low;
}
