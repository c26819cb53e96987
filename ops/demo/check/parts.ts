// Owns which of the master's trades plays which part of the statement.
//
// 1. A trade plays the ticket that its comment names: a filled pending is named by its own ticket or by
//    that of the trade it became. One trade plays one part.
// 2. MT5 gives one ticket to several things: a pending that was filled in part and works on beside its
//    position, a position that stood again. Those that fit in kind are taken first, in their order.

import type { Ticket } from "../../../protocol/ids.ts";
import type { ClosedTrade, FilledPending, OpenTrade, RemovedPending, Statement, WorkingOrder } from "../../statement/model.ts";
import { wholeTrades } from "../../statement/trades.ts";
import type { AccountHistory, Trade } from "./history.ts";
import { playedTicket } from "./names.ts";

/** Of one trade, in the order of their closing. */
export type Rows = readonly [ClosedTrade | OpenTrade, ...(ClosedTrade | OpenTrade)[]];

export interface TradePart {
  readonly kind: "trade";
  readonly rows: Rows;
  /** The pending order that became it; null where it was opened at the market. */
  readonly filled: FilledPending | null;
  readonly played: Trade | null;
}

export interface PendingPart {
  readonly kind: "pending";
  readonly row: RemovedPending | FilledPending | WorkingOrder;
  readonly end: "removed" | "working";
  /** One that was filled as a trade which the statement does not have: it cannot be played as it was. */
  readonly isOptional: boolean;
  readonly played: Trade | null;
}

export type Part = TradePart | PendingPart;

export interface MasterCase {
  readonly parts: readonly Part[];
  /** Trades that play nothing. */
  readonly foreign: readonly Trade[];
}

export function masterCase(statement: Statement, { trades }: AccountHistory): MasterCase {
  const left = new Set(trades);
  const take = (tickets: readonly Ticket[], isPosition: boolean): Trade | null => {
    const named = [...left].filter(({ comment }) => tickets.some((ticket) => ticket === playedTicket(comment)));
    const found = named.find(({ position }) => (position !== null) === isPosition) ?? named[0] ?? null; // 2
    if (found !== null) left.delete(found); // 1
    return found;
  };
  const fills = new Map(statement.filledPendings.map((row) => [row.filledAs, row]));
  const wholes = wholeTrades(statement).flatMap(({ ticket, parts, rest }): Omit<TradePart, "played">[] => {
    const [first, ...others] = rest === null ? parts : [...parts, rest];
    const filled = fills.get(ticket) ?? null;
    fills.delete(ticket);
    return first === undefined ? [] : [{ kind: "trade", rows: [first, ...others], filled }];
  });
  const pendings = (rows: readonly PendingPart["row"][], end: PendingPart["end"], isOptional = false): Omit<PendingPart, "played">[] => rows.map((row) => ({ kind: "pending", row, end, isOptional }));
  const unplayable = statement.filledPendings.filter(({ filledAs }) => filledAs === null);
  const parts: Part[] = [
    ...wholes.map((part) => ({ ...part, played: take(part.filled === null ? [part.rows[0].ticket] : [part.filled.ticket, part.rows[0].ticket], true) })),
    ...[...pendings(statement.pendings, "removed"), ...pendings(statement.working, "working"), ...pendings(unplayable, "removed", true)].map((part) => ({ ...part, played: take([part.row.ticket], false) })),
  ];
  return { parts, foreign: [...left] };
}
