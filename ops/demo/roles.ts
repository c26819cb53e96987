// Owns what the master has to do so that its account ends with the statement's rows: trades with
// their part-closes, and pending orders, each with the moments at which something happens to it.
//
// 1. The rows of one part-close chain are one trade, opened once with their whole volume.

import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { CloseReason, PendingKind, Side } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import type { ClosedTrade, OpenTrade, RemovedPending, Statement, WorkingOrder } from "../statement/model.ts";

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
  const closed = new Map(statement.positions.map((row) => [row.ticket, row]));
  const open = new Map(statement.open.map((row) => [row.ticket, row]));
  const first = [...statement.positions, ...statement.open].filter((row) => row.chainFrom === null);
  return first.map((row) => tradeOf(row, closed, open));
}

function tradeOf(first: ClosedTrade | OpenTrade, closed: ReadonlyMap<Ticket, ClosedTrade>, open: ReadonlyMap<Ticket, OpenTrade>): TradeRole {
  const closings: Closing[] = [];
  let row: ClosedTrade | OpenTrade | undefined = first;
  while (row !== undefined && "closeTimeMs" in row) {
    const { closePrice: price, closeReason: reason, volume, stopLoss, takeProfit } = row;
    // Nothing can close before what it is the rest of.
    const atMs = Math.max(row.closeTimeMs, closings.at(-1)?.atMs ?? 0) as BrokerMs;
    closings.push({ atMs, price, volume, reason, stopLoss, takeProfit });
    row = row.chainTo === null ? undefined : (closed.get(row.chainTo) ?? open.get(row.chainTo));
  }
  const left = closings.reduce((sum, closing) => sum + closing.volume, row?.volume ?? 0);
  return {
    ticket: first.ticket,
    symbol: first.symbol,
    side: first.side,
    volume: left as VolumeUnits,
    openedMs: first.openTimeMs,
    openPrice: first.openPrice,
    closings,
    standing: row === undefined ? null : { stopLoss: row.stopLoss, takeProfit: row.takeProfit, marketPrice: row.marketPrice },
  };
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
