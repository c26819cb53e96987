// Owns what a statement says, whatever file format it came in: trades in the broker's own time and
// in points of each symbol's digits.
//
// 1. Times are the broker's wall clock read as if it were UTC; nothing here knows the zone.
// 2. A statement holds final stops: what stood when the trade ended, not what it was opened with.
// 3. Prices of one symbol are all in points of the same digits: the most any row of it shows.
// 4. A trade is in one list only, and what is in no list is counted in `ignored`. A pending order that
//    was filled is in `filledPendings`, and the trade that it became in `positions` or `open`:
//    `filledAs` leads from the one to the other, so that nobody opens that trade a second time.
// 5. A chain's rows follow each other by `chainTo`. On MT4 that is another ticket, on MT5 the same
//    one: a ticket alone does not name a row. `wholeTrades` puts the rows together.

import type { Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { CloseReason, PendingKind, RemovalReason, Side } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";

/** The formats that can be read. */
export type StatementFormat = "mt4-html" | "mt5-html" | "mt5-xlsx";

interface Order {
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  /** Digits of `symbol` (invariant 3). */
  readonly digits: number;
  readonly volume: VolumeUnits;
  /** Final; null where none was set. */
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  /** Null where the statement does not show it. */
  readonly magic: Magic | null;
  /** What the trader or a program wrote, as far as the broker left it; its own marks are in the other fields. */
  readonly comment: string;
}

interface Trade extends Order {
  readonly side: Side;
  readonly openTimeMs: BrokerMs;
  readonly openPrice: Points;
  /** The ticket of the row that this one is the rest of (invariant 5), when that row is in this statement too. */
  readonly chainFrom: Ticket | null;
}

/** A closed position, or one closed part of a chain. */
export interface ClosedTrade extends Trade {
  readonly closeTimeMs: BrokerMs;
  readonly closePrice: Points;
  /**
   * Stop or target where a mark says so, or where the row closed at exactly that price; else `manual`,
   * as every part-close is. A mark is believed even where the row shows no stop or target.
   */
  readonly closeReason: CloseReason;
  /** A mark says that the price jumped over the stop or target, or names another price than it closed at. */
  readonly gap: boolean;
  /** The ticket of the rest's row (invariant 5), when that row is in this statement too. */
  readonly chainTo: Ticket | null;
}

export interface OpenTrade extends Trade {
  /** The market price when the statement was made. */
  readonly marketPrice: Points;
}

interface Pending extends Order {
  readonly kind: PendingKind;
  readonly placedTimeMs: BrokerMs;
  readonly price: Points;
}

/** A pending order that ended without being filled. */
export interface RemovedPending extends Pending {
  readonly removedTimeMs: BrokerMs;
  /** `cancelled` where the statement names no other reason. */
  readonly reason: RemovalReason;
  /** The broker's words, e.g. `deleted [no money]`. */
  readonly reasonText: string;
  /** The market price at the removal; null where the statement does not show it, as on MT5. */
  readonly marketPrice: Points | null;
}

/** A pending order that became a trade. Only MT5 shows these: on MT4 a filled one is its trade, and nothing else. */
export interface FilledPending extends Pending {
  /** When its trade opened, else when the order ended. */
  readonly filledTimeMs: BrokerMs;
  /** Less than `volume` when it was filled in part and the rest removed. */
  readonly filledVolume: VolumeUnits;
  /** The ticket of the trade it became; null when that is not in this statement. */
  readonly filledAs: Ticket | null;
}

/** On MT5 the `volume` is what still waits: a part may have been filled and be a trade under the same ticket. */
export interface WorkingOrder extends Pending {
  /** The market price when the statement was made; null where the statement does not show it. */
  readonly marketPrice: Points | null;
}

export interface StatementSymbol {
  readonly symbol: SymbolName;
  readonly digits: number;
}

export interface Statement {
  readonly format: StatementFormat;
  /** Closed buys and sells, in the file's order like every list here. */
  readonly positions: readonly ClosedTrade[];
  readonly open: readonly OpenTrade[];
  /** Pending orders of the history: those that were not filled, and those that were (invariant 4). */
  readonly pendings: readonly RemovedPending[];
  readonly filledPendings: readonly FilledPending[];
  readonly working: readonly WorkingOrder[];
  /** Part-closes: links between two rows of this statement. A chain of three rows counts two. */
  readonly chains: number;
  /** Trades that name an earlier or later ticket which this statement does not hold; they stand as ordinary trades. */
  readonly unresolvedChains: readonly Ticket[];
  /** Rows that are no trade, by kind (`balance`, `deal`, `market order`, `close by`, ...). Titles and totals are not counted. */
  readonly ignored: Readonly<Record<string, number>>;
  /** Of all trades and orders, by name. */
  readonly symbols: readonly StatementSymbol[];
  /** The earliest and the latest time of any trade or order; null when there is none. */
  readonly fromMs: BrokerMs | null;
  readonly toMs: BrokerMs | null;
}
