// Owns why an order is refused, and the code and text each platform gives for it. The codes are
// those of the vendor's documentation (MT4: trade server return codes and error codes; MT5: trade
// server return codes).

import type { Platform } from "../../../protocol/trades.ts";

export interface ResultCode {
  readonly code: number;
  readonly text: string;
}

const DONE: Readonly<Record<Platform, ResultCode>> = {
  mt4: { code: 0, text: "no error" },
  mt5: { code: 10009, text: "request completed" },
};

/** MT5: an open of which only a part was filled. */
export const DONE_IN_PART: ResultCode = { code: 10010, text: "only part of the request was completed" };

const both = (mt4: number, mt5: number, text: string): Readonly<Record<Platform, ResultCode>> => ({ mt4: { code: mt4, text }, mt5: { code: mt5, text } });

const CODES = {
  no_changes: both(1, 10025, "no changes"),
  invalid_request: both(3, 10013, "invalid request"),
  unknown_symbol: both(4106, 10013, "unknown symbol"),
  invalid_price: both(129, 10015, "invalid price"),
  /** MT4's 130 is said to mean the open price of a pending order too. */
  invalid_pending_price: both(130, 10015, "invalid price of a pending order"),
  invalid_stops: both(130, 10016, "invalid stops"),
  invalid_volume: both(131, 10014, "invalid volume"),
  /** MT5 says "position does not exist" for a closed one and for one that never was. */
  unknown_position: both(4108, 10036, "no such position"),
  unknown_pending: both(4108, 10013, "no such pending order"),
  too_many_positions: both(148, 10040, "the number of open positions has reached the limit"),
  too_many_pendings: both(148, 10033, "the number of pending orders has reached the limit"),
  off_quotes: both(136, 10021, "no quotes"),
  requote: both(138, 10004, "requote"),
  // Below are those that only a fault gives.
  price_changed: both(135, 10020, "price changed"),
  market_closed: both(132, 10018, "market is closed"),
  trade_disabled: both(133, 10017, "trade is disabled"),
  no_money: both(134, 10019, "not enough money"),
  too_many_requests: both(141, 10024, "too many requests"),
  timed_out: both(128, 10012, "trade timeout"),
  autotrading_off: both(4109, 10027, "automated trading is switched off"),
} as const satisfies Record<string, Readonly<Record<Platform, ResultCode>>>;

export type Refusal = keyof typeof CODES;

/** What a platform answers: null is success. */
export function resultCode(platform: Platform, refusal: Refusal | null): ResultCode {
  return refusal === null ? DONE[platform] : CODES[refusal][platform];
}
