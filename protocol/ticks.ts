// Owns what a master did, as the log carries it: ticks and books.
//
// 1. One master's ticks are numbered by (epoch, seq) without a hole; `alive` repeats the last seq.
// 2. A trade's identity is its master ticket, the first ticket of its chain; `ticket` is the
//    current one at the broker.
// 3. Books are compared by (epoch, seq), never by arrival.

import type { AccountId, Epoch, Magic, Seq, SymbolName, Ticket } from "./ids.ts";
import type { CloseReason, PendingKind, RemovalReason, Side } from "./trades.ts";
import type { BrokerMs, Points, VolumeUnits, WallMs } from "./units.ts";

export interface MasterPosition {
  readonly masterTicket: Ticket;
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  /** Of the master's symbol: every price of this record is in these points. */
  readonly digits: number;
  readonly side: Side;
  /** What it was opened with: shares are computed from it, never chained. */
  readonly initialVolume: VolumeUnits;
  /** What is still open. */
  readonly volume: VolumeUnits;
  readonly openPrice: Points;
  readonly openTimeMs: BrokerMs;
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  readonly magic: Magic;
  readonly comment: string;
}

export interface MasterPending {
  readonly masterTicket: Ticket;
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

export type TickBody =
  | { readonly kind: "opened"; readonly position: MasterPosition }
  | { readonly kind: "part_closed"; readonly position: MasterPosition }
  | { readonly kind: "modified"; readonly position: MasterPosition }
  | { readonly kind: "closed"; readonly masterTicket: Ticket; readonly reason: CloseReason; readonly closePrice: Points; readonly digits: number }
  | { readonly kind: "pending_placed"; readonly pending: MasterPending }
  | { readonly kind: "pending_changed"; readonly pending: MasterPending }
  | { readonly kind: "pending_cancelled"; readonly masterTicket: Ticket; readonly reason: RemovalReason }
  | { readonly kind: "pending_filled"; readonly position: MasterPosition }
  | { readonly kind: "alive" };

export interface Tick {
  readonly master: AccountId;
  readonly epoch: Epoch;
  readonly seq: Seq;
  /** When it happened, by the master broker's clock. */
  readonly occurredAtMs: BrokerMs;
  /** The master broker's clock when the tick was made: with `occurredAtMs` two readings of one clock. */
  readonly brokerNowMs: BrokerMs;
  /** Our wall clock at the broker's callback; own time starts here. */
  readonly callbackAtMs: WallMs;
  readonly body: TickBody;
}

export interface Book {
  readonly master: AccountId;
  readonly epoch: Epoch;
  /** The last tick that this book contains. */
  readonly seq: Seq;
  readonly brokerNowMs: BrokerMs;
  readonly positions: readonly MasterPosition[];
  readonly pendings: readonly MasterPending[];
}

/** How far a master's story is told. */
export interface MasterVersion {
  readonly epoch: Epoch;
  readonly seq: Seq;
}

/** Negative when a is older. */
export function compareVersions(a: MasterVersion, b: MasterVersion): number {
  return a.epoch === b.epoch ? a.seq - b.seq : a.epoch - b.epoch;
}
