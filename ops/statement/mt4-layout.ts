// Owns the layout of an MT4 HTML statement: what kind of row a row is, by its columns alone.
//
// 1. Headers and titles may be in any language; the order of the columns, the times and the type
//    words (English in every language) are what counts.
// 2. Closed rows have a close time, open trades and working orders have none; sections are not looked at.

import { LockstepError } from "../../protocol/errors.ts";
import type { PendingKind, Side } from "../../protocol/trades.ts";
import { cellAt, quoted, rowText, textAt } from "./rows.ts";
import type { Row } from "./rows.ts";
import { isTime } from "./values.ts";

export const COLUMN = { ticket: 0, openTime: 1, type: 2, volume: 3, symbol: 4, price: 5, stopLoss: 6, takeProfit: 7, closeTime: 8, lastPrice: 9, outcome: 10 } as const;

const ORDER_TYPES: ReadonlyMap<string, Side | PendingKind> = new Map<string, Side | PendingKind>([
  ["buy", "buy"],
  ["sell", "sell"],
  ["buy limit", "buy_limit"],
  ["sell limit", "sell_limit"],
  ["buy stop", "buy_stop"],
  ["sell stop", "sell_stop"],
]);

/** Builds without the Taxes column have 13. */
const MIN_TRADE_WIDTH = 13;
/** A title goes across the table; the summary has narrow bold texts too. */
const MIN_TITLE_SPAN = 10;
/** The columns of a pending order up to its market price. */
const MIN_PENDING_WIDTH = 10;
/** Type words go into reports; no real one is longer. */
const MAX_TYPE_LENGTH = 40;
/** The header of the working orders has the fewest. */
const FEWEST_NAMES = 9;

export type RowKind =
  | { readonly kind: "order"; readonly type: Side | PendingKind }
  /** A booking that is no trade: `name` is its type word. */
  | { readonly kind: "booking"; readonly name: string }
  /** One text alone, not bold: a comment if it follows a trade. */
  | { readonly kind: "text"; readonly text: string }
  /** One bold text alone across the table: a section's title. */
  | { readonly kind: "title"; readonly text: string }
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
  const filled = row.cells.filter((cell) => cell.text !== "");
  const [only] = filled;
  if (only !== undefined && filled.length === 1) {
    if (!only.bold) return { kind: "text", text: only.text };
    return only.span >= MIN_TITLE_SPAN ? { kind: "title", text: only.text } : { kind: "other" };
  }
  if (isTime(textAt(row, COLUMN.openTime))) {
    const name = textAt(row, COLUMN.type).toLowerCase();
    const type = ORDER_TYPES.get(name);
    if (type === undefined) return { kind: "booking", name: name === "" ? "row without a type" : name.slice(0, MAX_TYPE_LENGTH) };
    const needed = type === "buy" || type === "sell" ? MIN_TRADE_WIDTH : MIN_PENDING_WIDTH;
    if (row.width >= needed) return { kind: "order", type };
    return { kind: "foreign", why: `a ${JSON.stringify(name)} row of ${row.width} columns, and MT4 writes 13 or 14` };
  }
  if (row.cells.some((cell) => ORDER_TYPES.has(cell.text.toLowerCase()))) {
    const why = isTime(textAt(row, 0)) ? "a row that begins with its time, as in an MT5 report" : "a trade without an open time in its second column";
    return { kind: "foreign", why };
  }
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
    const found = foreign === undefined ? "HTML with a table, but no row of trades and no column header as MT4 writes them" : foreign.why;
    throw new LockstepError("bad_statement", `${name}: expected an MT4 HTML statement, found ${found}${cut ? "; the file also ends in the middle" : ""}`);
  }
  if (!cut) return;
  const title = kinds.findLast((each) => each.kind === "title");
  const last = rows.at(-1)?.row;
  const section = title === undefined ? "" : ` in the section ${quoted(title.text)}`;
  const place = last === undefined ? "" : `, line ${last.line}; the last table row is ${quoted(rowText(last))}`;
  throw new LockstepError("bad_statement", `${name}: the statement is cut${section}${place}`);
}

/** MT4 ends every statement with `</table>` and `</html>`; a part of one that was mailed on may have no page around it. */
function isCut(html: string): boolean {
  const count = (pattern: RegExp): number => html.match(pattern)?.length ?? 0;
  const pageIsOpen = /<html\b/i.test(html) && !/<\/(?:html|body)\s*>/i.test(html);
  return pageIsOpen || count(/<table\b/gi) > count(/<\/table\s*>/gi);
}
