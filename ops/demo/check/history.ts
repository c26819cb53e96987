// Owns what the checker knows of an account: its trades from beginning to end, and what was asked.
//
// 1. A trade keeps its identity through every ticket it has: MT4's part-closes, a pending's fill, a
//    ticket that server work replaced.

import type { AccountId, Magic, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { CloseReason, PendingKind, Platform, Side } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Fault } from "../../broker/faults.ts";
import type { RequestSource } from "../../broker/log.ts";
import type { Moment, Span, Step } from "./periods.ts";

export interface Levels {
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}

export interface PendingTerms extends Levels {
  readonly price: Points;
}

/** `causeN`: the request or quote in the log that brought it about; null where the broker acted by itself. */
export interface Caused extends Moment {
  readonly causeN: number | null;
}

export interface PendingLife {
  readonly placed: Caused;
  readonly kind: PendingKind;
  readonly volume: VolumeUnits;
  readonly terms: readonly Step<PendingTerms>[];
  readonly end: (Caused & { readonly how: "removed" | "filled" }) | null;
}

/** A close of all or of a part. */
export interface Close extends Caused {
  readonly volume: VolumeUnits;
  readonly price: Points;
  readonly reason: CloseReason;
  /** As they stood when it closed. */
  readonly levels: Levels;
}

export interface PositionLife {
  readonly opened: Caused;
  readonly side: Side;
  /** What it was opened with: all fills of its order together. */
  readonly volume: VolumeUnits;
  readonly openPrice: Points;
  /** What remains, as long as something does. */
  readonly volumes: readonly Step<VolumeUnits>[];
  readonly levels: readonly Step<Levels>[];
  /** In order; the last one is `end` when it is closed whole. */
  readonly closes: readonly Close[];
  readonly end: Close | null;
}

export interface Trade {
  /** In the order in which it had them (1). */
  readonly tickets: readonly Ticket[];
  readonly symbol: SymbolName;
  /** Of `symbol`: its prices are in these points. */
  readonly digits: number;
  readonly magic: Magic;
  /** As it was opened or placed with. */
  readonly comment: string;
  readonly pending: PendingLife | null;
  readonly position: PositionLife | null;
}

export interface Request extends Moment {
  readonly by: RequestSource;
  readonly order: Order;
  /** The trade whose ticket it names; null for a new one, and for a ticket nobody had. */
  readonly target: Trade | null;
  /** `notSent`: why the asker never got it; null when it was sent. */
  readonly answer: { readonly atMs: number; readonly code: number | null; readonly text: string; readonly notSent: string | null } | null;
  /** What took hold of it on its way. */
  readonly faults: readonly Fault[];
  /** When it was executed or refused after its arrival, where it was. */
  readonly late: Moment | null;
}

export interface AccountHistory {
  readonly account: AccountId;
  readonly platform: Platform;
  readonly symbols: ReadonlyMap<SymbolName, BrokerSymbol>;
  /** In the order of their beginning. */
  readonly trades: readonly Trade[];
  /** By the `n` of their entries, in order. */
  readonly requests: ReadonlyMap<number, Request>;
  /** When its session heard nothing, in no order. */
  readonly deaf: readonly Span[];
  /** When one of its connections ended. */
  readonly cutsMs: readonly number[];
  /** From the end of one owner's session to the login of another's. */
  readonly moves: readonly Span[];
}

export function firstTicketOf(trade: Trade): Ticket {
  const [first] = trade.tickets;
  if (first === undefined) throw new Error("a trade without a ticket");
  return first;
}

/** Under which it stands, or stood at its end. */
export const currentTicketOf = (trade: Trade): Ticket => trade.tickets.at(-1) ?? firstTicketOf(trade);

export function beginOf({ pending, position }: Trade): Caused {
  const begin = pending?.placed ?? position?.opened;
  if (begin === undefined) throw new Error("a trade that is neither a pending nor a position");
  return begin;
}

/** Null while it stands. A filled pending goes on as its position. */
export function endOf({ pending, position }: Trade): Caused | null {
  return position === null ? (pending?.end ?? null) : position.end;
}

export const wasFilled = ({ pending, position }: Trade): boolean => pending !== null && position !== null;

export function sideOf({ pending, position }: Trade): Side {
  if (position !== null) return position.side;
  return pending?.kind.startsWith("buy") === true ? "buy" : "sell";
}

export const initialVolumeOf = ({ pending, position }: Trade): VolumeUnits => position?.volume ?? pending?.volume ?? (0 as VolumeUnits);

export const sameLevels = (a: Levels, b: Levels): boolean => a.stopLoss === b.stopLoss && a.takeProfit === b.takeProfit;
