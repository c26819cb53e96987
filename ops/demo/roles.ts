// Owns what the master has to do so that its account ends with the statement's rows: trades with
// their part-closes, and pending orders, each with the moments at which something happens to it.
//
// 1. The rows of one part-close chain are one trade, opened once with their whole volume.
// 2. A trade that was a pending order is placed and filled, and goes by the order's ticket.

import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import { pendingSide, type CloseReason, type PendingKind, type Side } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import { isReached } from "../broker/engine/validation.ts";
import type { FilledPending, RemovedPending, Statement, WorkingOrder } from "../statement/model.ts";
import { wholeTrades, type WholeTrade } from "../statement/trades.ts";

export interface Levels {
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}

/** A close of a part or of all that was left, with the stop and target of its row. */
export interface Closing extends Levels {
  readonly atMs: BrokerMs;
  readonly price: Points;
  readonly volume: VolumeUnits;
  readonly reason: CloseReason;
}

export interface TradeRole {
  /** Of its first row. */
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly side: Side;
  readonly volume: VolumeUnits;
  readonly openedMs: BrokerMs;
  readonly openPrice: Points;
  /** In their order, which is that of the rows. */
  readonly closings: readonly Closing[];
  /** Of what was still open when the statement was made; null where nothing was. */
  readonly standing: Standing | null;
  /** The order that opened it; null for one opened at the market. */
  readonly pending: { readonly kind: PendingKind; readonly price: Points; readonly placedMs: BrokerMs } | null;
}

export interface Standing extends Levels {
  readonly marketPrice: Points;
}

export interface PendingRole extends Levels {
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly kind: PendingKind;
  readonly volume: VolumeUnits;
  readonly price: Points;
  readonly placedMs: BrokerMs;
  /** Null: still working when the statement was made. */
  readonly removedMs: BrokerMs | null;
  /** The market at its end, on the side that would fill it; null where the statement does not show it. */
  readonly marketPrice: Points | null;
}

export function tradeRoles(statement: Statement): TradeRole[] {
  const filled = new Map(statement.filledPendings.flatMap((row) => (row.filledAs === null ? [] : [[row.filledAs, row] as const])));
  return wholeTrades(statement).flatMap((trade) => {
    const role = tradeOf(trade);
    const pending = filled.get(trade.ticket);
    // Invariant 2. A ticket that stands again later was not opened by the order a second time.
    if (role === null || pending === undefined || !becomes(pending, role)) return role ?? [];
    filled.delete(trade.ticket);
    return { ...role, ticket: pending.ticket, pending: { kind: pending.kind, price: pending.price, placedMs: pending.placedTimeMs } };
  });
}

function tradeOf({ parts, rest }: WholeTrade): TradeRole | null {
  const first = parts[0] ?? rest;
  if (first === null) return null;
  const closings: Closing[] = [];
  for (const { closePrice: price, closeReason: reason, closeTimeMs, volume, stopLoss, takeProfit } of parts) {
    // Nothing can close before what it is the rest of.
    const atMs = Math.max(closeTimeMs, closings.at(-1)?.atMs ?? 0) as BrokerMs;
    closings.push({ atMs, price, volume, reason, stopLoss, takeProfit });
  }
  return {
    ticket: first.ticket,
    symbol: first.symbol,
    side: first.side,
    volume: closings.reduce((sum, closing) => sum + closing.volume, rest?.volume ?? 0) as VolumeUnits,
    openedMs: first.openTimeMs,
    openPrice: first.openPrice,
    closings,
    standing: rest === null ? null : { stopLoss: rest.stopLoss, takeProfit: rest.takeProfit, marketPrice: rest.marketPrice },
    pending: null,
  };
}

/** Whether the market at the trade's open fills the order: else it must have been changed, and the trade is opened as it is. */
function becomes({ kind, price, placedTimeMs, symbol }: FilledPending, trade: TradeRole): boolean {
  return isReached(kind, price, { bid: trade.openPrice, ask: trade.openPrice }) && pendingSide(kind) === trade.side && symbol === trade.symbol && placedTimeMs <= trade.openedMs;
}

export function pendingRoles(statement: Statement): PendingRole[] {
  const role = (row: RemovedPending | WorkingOrder, removedMs: BrokerMs | null): PendingRole => ({
    ticket: row.ticket,
    symbol: row.symbol,
    kind: row.kind,
    volume: row.volume,
    price: row.price,
    stopLoss: row.stopLoss,
    takeProfit: row.takeProfit,
    placedMs: row.placedTimeMs,
    removedMs,
    marketPrice: row.marketPrice,
  });
  return [...statement.pendings.map((row) => role(row, row.removedTimeMs)), ...statement.working.map((row) => role(row, null))];
}
