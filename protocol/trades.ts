// Owns how trades look at a broker: symbols, quotes, positions, pending orders, history, and the
// changes a broker reports. Masters and followers, MT4 and MT5, use the same shapes.

import type { AccountId, Magic, SymbolName, Ticket } from "./ids.ts";
import type { BrokerMs, Cents, Points, VolumeUnits } from "./units.ts";

export type Platform = "mt4" | "mt5";
export type Side = "buy" | "sell";
export type PendingKind = "buy_limit" | "sell_limit" | "buy_stop" | "sell_stop";
/** Why the broker closed a position. `manual`: somebody asked, a person or a program. */
export type CloseReason = "manual" | "stop_loss" | "take_profit" | "stop_out";
export type RemovalReason = "cancelled" | "expired" | "deleted";

export interface SymbolSpec {
  readonly symbol: SymbolName;
  /** Digits after the point of a price. */
  readonly digits: number;
  readonly volumeMin: VolumeUnits;
  readonly volumeStep: VolumeUnits;
  readonly volumeMax: VolumeUnits;
  /** A stop or a pending price must be at least this far from the market. */
  readonly stopLevelPoints: number;
}

export interface Quote {
  readonly symbol: SymbolName;
  readonly bid: Points;
  readonly ask: Points;
  readonly atMs: BrokerMs;
}

export interface Position {
  readonly ticket: Ticket;
  /** MT5: stays when the server's own work gives the position another ticket. MT4 has none: always the ticket. */
  readonly identifier: Ticket;
  readonly symbol: SymbolName;
  /** Of `symbol`: every price of this record is in these points. */
  readonly digits: number;
  readonly side: Side;
  /** What is still open. */
  readonly volume: VolumeUnits;
  readonly openPrice: Points;
  readonly openTimeMs: BrokerMs;
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  readonly magic: Magic;
  /** Bytes from outside: anything may be in them. */
  readonly comment: string;
}

export interface PendingOrder {
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly digits: number;
  readonly kind: PendingKind;
  readonly volume: VolumeUnits;
  readonly price: Points;
  readonly placedTimeMs: BrokerMs;
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  readonly magic: Magic;
  readonly comment: string;
}

/** A closed position, or the closed part of one (`position.volume` is then the part). */
export interface ClosedPosition {
  readonly position: Position;
  readonly closePrice: Points;
  readonly closeTimeMs: BrokerMs;
  readonly reason: CloseReason;
}

export interface RemovedPending {
  readonly pending: PendingOrder;
  readonly removedTimeMs: BrokerMs;
  readonly reason: RemovalReason;
}

/** An account's money. */
export interface Funds {
  readonly balance: Cents;
  /** With what open positions have won or lost. */
  readonly equity: Cents;
  readonly currency: string;
}

/** All of one account at one moment, as its broker tells it. */
export interface AccountSnapshot {
  readonly account: AccountId;
  /** The broker's clock when it was taken. */
  readonly takenAtMs: BrokerMs;
  /** False right after a reconnect, while the broker still loads: such a snapshot proves no absence. */
  readonly synced: boolean;
  readonly positions: readonly Position[];
  readonly pendings: readonly PendingOrder[];
  readonly closed: readonly ClosedPosition[];
  readonly removed: readonly RemovedPending[];
  /** Not every server tells. */
  readonly funds?: Funds;
}

/** One change on an account, as its broker reports it. `brokerMs`: the broker's clock. */
export type AccountChange =
  | { readonly kind: "position_opened"; readonly brokerMs: BrokerMs; readonly position: Position }
  /**
   * Volume, stop, target or ticket are other than before. MT5 only: the volume (a part-close, or more of an order filled), and
   * the ticket (server work; `identifier` tells which position it is).
   */
  | { readonly kind: "position_changed"; readonly brokerMs: BrokerMs; readonly position: Position }
  /** Gone under this ticket. MT4 part-close: followed by `position_opened` of the rest under a new ticket. */
  | { readonly kind: "position_closed"; readonly brokerMs: BrokerMs; readonly closed: ClosedPosition }
  | { readonly kind: "pending_placed"; readonly brokerMs: BrokerMs; readonly pending: PendingOrder }
  | { readonly kind: "pending_changed"; readonly brokerMs: BrokerMs; readonly pending: PendingOrder }
  | { readonly kind: "pending_removed"; readonly brokerMs: BrokerMs; readonly removed: RemovedPending }
  /** `pending` is gone, `position` stands in its place (MT4 under the same ticket). */
  | { readonly kind: "pending_filled"; readonly brokerMs: BrokerMs; readonly pendingTicket: Ticket; readonly position: Position };

export const oppositeSide = (side: Side): Side => (side === "buy" ? "sell" : "buy");
export const pendingSide = (kind: PendingKind): Side => (kind === "buy_limit" || kind === "buy_stop" ? "buy" : "sell");

/** The price a side trades at: buyers pay the ask, sellers get the bid. */
export const openingPrice = (side: Side, quote: Quote): Points => (side === "buy" ? quote.ask : quote.bid);
/** The price a position of that side is closed at. */
export const closingPrice = (side: Side, quote: Quote): Points => (side === "buy" ? quote.bid : quote.ask);
