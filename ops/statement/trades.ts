// Owns the putting together of part-closes: a statement's rows as whole trades.
//
// 1. Every row of `positions` and `open` is in exactly one whole trade.

import type { Ticket } from "../../protocol/ids.ts";
import type { ClosedTrade, OpenTrade, Statement } from "./model.ts";

type Row = ClosedTrade | OpenTrade;

/** One trade: its parts in the order in which they closed, then what is still open. It has at least one of the two. */
export interface WholeTrade {
  /** Of its first row. */
  readonly ticket: Ticket;
  readonly parts: readonly ClosedTrade[];
  readonly rest: OpenTrade | null;
}

export function wholeTrades({ positions, open }: Pick<Statement, "positions" | "open">): WholeTrade[] {
  const rows: readonly Row[] = [...positions, ...open];
  /** The rests of a ticket, the next to close on top. */
  const restsOf = new Map<Ticket, Row[]>();
  for (const row of rows.toSorted((a, b) => closing(b) - closing(a))) {
    if (row.chainFrom === null) continue;
    const rests = restsOf.get(row.ticket);
    if (rests === undefined) restsOf.set(row.ticket, [row]);
    else rests.push(row);
  }
  const takeRest = (part: ClosedTrade): Row | undefined => {
    const rests = part.chainTo === null ? [] : (restsOf.get(part.chainTo) ?? []);
    // A ticket that reappeared has rests of two trades.
    const index = rests.findLastIndex((rest) => rest.openTimeMs === part.openTimeMs);
    return index === -1 ? undefined : rests.splice(index, 1)[0];
  };
  return rows.filter(({ chainFrom }) => chainFrom === null).map((first) => {
    const parts: ClosedTrade[] = [];
    let row: Row | undefined = first;
    for (; row !== undefined && isClosed(row); row = takeRest(row)) parts.push(row);
    return { ticket: first.ticket, parts, rest: row ?? null };
  });
}

const isClosed = (row: Row): row is ClosedTrade => "closeTimeMs" in row;
/** What is still open closes after all that is closed. */
const closing = (row: Row): number => (isClosed(row) ? row.closeTimeMs : Number.MAX_SAFE_INTEGER);
