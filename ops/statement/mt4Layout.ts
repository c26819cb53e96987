// Owns the layout of an MT4 HTML statement: what kind of row a row is, by its columns alone.
//
// 1. Headers and titles may be in any language; the order of the columns, the times and the type
//    words (English in every language) are what counts.
// 2. Closed rows have a close time, open trades and working orders have none; sections are not looked at.

import type { PendingKind, Side } from "../../protocol/trades.ts";
import { bookingName, orderType } from "./cells.ts";
import { noStatement } from "./format.ts";
import { cellAt, isTitle, onlyText, textAt } from "./grid.ts";
import type { Row } from "./grid.ts";
import { isCut, refuseCut } from "./html.ts";
import { isTime } from "./values.ts";

export const COLUMN = { ticket: 0, openTime: 1, type: 2, volume: 3, symbol: 4, price: 5, stopLoss: 6, takeProfit: 7, closeTime: 8, lastPrice: 9, outcome: 10 } as const;

/** Builds without the Taxes column have 13. */
const MIN_TRADE_WIDTH = 13;
/** The columns of a pending order up to its market price. */
const MIN_PENDING_WIDTH = 10;
/** The header of the working orders has the fewest. */
const FEWEST_NAMES = 9;

export type RowKind =
  | { readonly kind: "order"; readonly type: Side | PendingKind }
  /** A booking that is no trade: `name` is its type word. */
  | { readonly kind: "booking"; readonly name: string }
  /** One text alone, not bold: a comment if it follows a trade. */
  | { readonly kind: "text"; readonly text: string }
  /** One bold text alone across the table: a section's title. */
  | { readonly kind: "title" }
  /** Column names. Those of the open trades have a gap where the close time would be: no other table has. */
  | { readonly kind: "header"; readonly openTrades: boolean }
  /** A trade's type word in a row that is not laid out as MT4 does it. */
  | { readonly kind: "foreign"; readonly why: string }
  /** Other headers, totals, the summary, blank rows. */
  | { readonly kind: "other" };

export interface KnownRow {
  readonly row: Row;
  readonly kind: RowKind;
}

export function rowKind(row: Row): RowKind {
  const only = onlyText(row);
  if (only !== null) {
    if (!only.bold) return { kind: "text", text: only.text };
    return { kind: isTitle(only) ? "title" : "other" };
  }
  if (isTime(textAt(row, COLUMN.openTime))) {
    const word = textAt(row, COLUMN.type);
    const type = orderType(word);
    if (type === undefined) return { kind: "booking", name: bookingName(word) };
    const needed = type === "buy" || type === "sell" ? MIN_TRADE_WIDTH : MIN_PENDING_WIDTH;
    if (row.width >= needed) return { kind: "order", type };
    return { kind: "foreign", why: `a ${JSON.stringify(word)} row of ${row.width} columns, and MT4 writes 13 or 14` };
  }
  if (row.cells.some((cell) => orderType(cell.text) !== undefined)) {
    const why = isTime(textAt(row, 0)) ? "a row that begins with its time, as in an MT5 report" : "a trade without an open time in its second column";
    return { kind: "foreign", why };
  }
  const filled = row.cells.filter((cell) => cell.text !== "");
  const named = filled.length >= FEWEST_NAMES && filled.every((cell) => /\p{L}/u.test(cell.text));
  return named ? { kind: "header", openTrades: cellAt(row, COLUMN.closeTime)?.text === "" } : { kind: "other" };
}

/**
 * Refuses what is no MT4 statement, and one that is cut.
 * @throws LockstepError `bad_statement`, naming the place of the cut.
 */
export function checkWhole(html: string, rows: readonly KnownRow[], name: string): void {
  const cut = isCut(html);
  const kinds = rows.map(({ kind }) => kind);
  // Of a cut file less can be asked: the headers that only MT4 writes come late.
  const isEvidence = (kind: RowKind): boolean => kind.kind === "order" || (kind.kind === "header" && (kind.openTrades || cut));
  if (!kinds.some(isEvidence)) {
    const foreign = kinds.find((each) => each.kind === "foreign");
    const found = foreign === undefined ? "HTML with a table, but no row of trades and no column header as MT4 or MT5 write them" : foreign.why;
    throw noStatement(name, `${found}${cut ? "; the file also ends in the middle" : ""}`);
  }
  refuseCut(html, rows.map(({ row }) => row), name);
}
