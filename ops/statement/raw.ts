// Owns what a format's reader hands on: each trade and pending order as its rows show it, its
// comment already understood. Prices are decimal text: a symbol's digits are only known when all
// rows are read.

import { LockstepError } from "../../protocol/errors.ts";
import type { Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { CloseReason, PendingKind, RemovalReason, Side } from "../../protocol/trades.ts";
import type { BrokerMs, VolumeUnits } from "../../protocol/units.ts";
import type { StatementFormat } from "./model.ts";

interface RawOrder {
  /** Where it stands, for errors. */
  readonly place: string;
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly volume: VolumeUnits;
  /** Empty or zero where none was set. */
  readonly stopLoss: string;
  readonly takeProfit: string;
  readonly magic: Magic | null;
  readonly comment: string;
}

/** What the broker wrote about a close of its own doing. */
export interface CloseMark {
  readonly reason: Exclude<CloseReason, "manual">;
  /** The price jumped over the stop or target. */
  readonly gap: boolean;
}

export interface RawTrade extends RawOrder {
  readonly side: Side;
  readonly openTimeMs: BrokerMs;
  readonly openPrice: string;
  /** Null while it is open. */
  readonly closeTimeMs: BrokerMs | null;
  /** At the close, else the market's when the statement was made. */
  readonly lastPrice: string;
  readonly mark: CloseMark | null;
  /** The part-closes that its comment names. */
  readonly namedFrom: Ticket | null;
  readonly namedTo: Ticket | null;
}

export type PendingEnd =
  | { readonly kind: "working" }
  | { readonly kind: "removed"; readonly timeMs: BrokerMs; readonly reason: RemovalReason; readonly reasonText: string }
  | { readonly kind: "filled"; readonly timeMs: BrokerMs; readonly volume: VolumeUnits; readonly as: Ticket | null };

export interface RawPending extends RawOrder {
  readonly kind: PendingKind;
  readonly placedTimeMs: BrokerMs;
  readonly price: string;
  readonly end: PendingEnd;
  /** Null where the statement does not show it. */
  readonly marketPrice: string | null;
}

export interface RawStatement {
  readonly format: StatementFormat;
  readonly trades: readonly RawTrade[];
  readonly pendings: readonly RawPending[];
  /** The kind of each row that is neither. */
  readonly ignored: readonly string[];
}

/** @throws LockstepError `bad_statement` when a ticket stands there twice, naming both places. */
export function refuseDoubles(orders: readonly Pick<RawOrder, "ticket" | "place">[]): void {
  const placeOf = new Map<Ticket, string>();
  for (const { ticket, place } of orders) {
    const before = placeOf.get(ticket);
    if (before !== undefined) throw new LockstepError("bad_statement", `${place}: the ticket stands there twice, first at ${before}`);
    placeOf.set(ticket, place);
  }
}
