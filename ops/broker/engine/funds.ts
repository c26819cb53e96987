// Owns an account's money at the simulated broker: enough that a copier has something to show, and no more.
//
// 1. A point of a lot is one unit of the account's currency, whatever the instrument; there are no commissions,
//    swaps or margin.

import { LOT, type Cents, type Points } from "../../../protocol/units.ts";
import type { Funds, Position } from "../../../protocol/trades.ts";
import type { AccountState } from "./state.ts";

const DEPOSIT_CENTS = 1_000_000;
const CURRENCY = "USD";
const CENTS = 100;

/** What the position has won at this price; below 0: lost. */
export function wonCents({ side, volume, openPrice }: Position, price: Points): number {
  const points = side === "buy" ? price - openPrice : openPrice - price;
  return Math.round((points * CENTS * volume) / LOT);
}

export function fundsOf({ wonCents: closed, positions, quotes }: AccountState): Funds {
  const balance = DEPOSIT_CENTS + closed;
  let floating = 0;
  for (const position of positions.values()) {
    const quote = quotes.get(position.symbol);
    if (quote !== undefined) floating += wonCents(position, position.side === "buy" ? quote.bid : quote.ask);
  }
  return { balance: balance as Cents, equity: (balance + floating) as Cents, currency: CURRENCY };
}
