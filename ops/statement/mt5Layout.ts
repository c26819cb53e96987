// Owns the layout of an MT5 trade history report: what kind of row a row is, by its columns alone.
//
// 1. Headers and titles may be in any language; the order of the columns, the times and the type
//    words (English in every language) are what counts. Which section a row stands in is seen by
//    what it holds: a closed position has an end time and then a price, an order a state there, an
//    open position the market price instead, a deal a direction before its volume.
// 2. Data rows may hold a comment between type and volume that no header has a column for: in HTML in
//    a cell that is not displayed. It is taken out before anything is counted.

import type { PendingKind, Side } from "../../protocol/trades.ts";
import { volumeFromLots } from "../../protocol/units.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { bookingName, orderType } from "./cells.ts";
import { cellAt, textAt } from "./grid.ts";
import type { Cell, Row } from "./grid.ts";
import { isDecimal, isTime, withoutBlanks } from "./values.ts";

/** `end`: the time, or the market price of what has not ended. `last`: the closing price, or an order's state. */
export const COLUMN = { time: 0, number: 1, symbol: 2, type: 3, volume: 4, price: 5, stopLoss: 6, takeProfit: 7, end: 8, last: 9 } as const;
/** Of a deal, whose direction moves what follows. */
const DEAL = { direction: 4, volume: 5, order: 7 } as const;

/** The deals, and nothing else in most files, are this wide. */
const MIN_WIDTH = 12;
/** States that end an order, and those in which it waits. */
const ENDED = new Set(["filled", "canceled", "cancelled", "expired", "rejected"]);
const WAITING = new Set(["started", "placed", "partial"]);

export type RowKind =
  | { readonly kind: "closed" | "open" | "market order"; readonly side: Side }
  | { readonly kind: "pending"; readonly type: PendingKind }
  | { readonly kind: "deal" }
  /** A booking, or an order of a type that is not copied: `name` is its type word. */
  | { readonly kind: "booking"; readonly name: string }
  /** A trade's type word in a row that is not laid out as MT5 does it. */
  | { readonly kind: "foreign"; readonly why: string }
  /** Titles, headers, totals, the results, blank rows. */
  | { readonly kind: "other" };

/** `0.5 / 0.2`: asked and executed. A position shows one number, which is both. */
export interface Volumes {
  readonly asked: VolumeUnits;
  readonly executed: VolumeUnits;
  readonly isPair: boolean;
}

/** A row as its header lays it out, and the comment that stood in its way (invariant 2). */
export interface PlainRow {
  readonly row: Row;
  readonly comment: string;
}

export function plainRow(row: Row): PlainRow {
  const hidden = row.cells.filter((cell) => cell.hidden);
  const shown = hidden.length === 0 ? { row, comment: "" } : withoutCells(row, hidden);
  // Not told by any mark: what ends a position or an order stands one column late.
  const isLate = isNumbered(shown.row) && !isTime(textAt(shown.row, COLUMN.end)) && isTime(textAt(shown.row, COLUMN.end + 1)) && volumesIn(textAt(shown.row, COLUMN.volume + 1)) !== null;
  // A sheet has no cell where there is no text.
  return isLate ? withoutCells(shown.row, [cellAt(shown.row, COLUMN.volume) ?? { column: COLUMN.volume, span: 1, text: "" }]) : shown;
}

function withoutCells(row: Row, out: readonly Pick<Cell, "column" | "span" | "text">[]): PlainRow {
  const outBefore = (column: number): number => out.reduce((sum, cell) => (cell.column < column ? sum + cell.span : sum), 0);
  const isOut = (column: number): boolean => out.some((cell) => cell.column === column);
  const cells = row.cells.filter(({ column }) => !isOut(column)).map((cell) => ({ ...cell, column: cell.column - outBefore(cell.column) }));
  return { row: { ...row, cells, width: row.width - outBefore(row.width) }, comment: out.find(({ text }) => text !== "")?.text ?? "" };
}

/** Whether the first row that says anything of its origin is one of an MT5 report. */
export function beginsLikeMt5(rows: readonly Row[]): boolean {
  for (const each of rows) {
    const { row } = plainRow(each);
    if (isPositionsHeader(row)) return true;
    if (isNumbered(row) && (row.width >= MIN_WIDTH || orderType(textAt(row, COLUMN.type)) !== undefined)) return true;
    if (isTime(textAt(row, 1))) return false;
  }
  return false;
}

/** Two columns have the name of the time and two that of the price, whatever the language. MT4 tells its times apart. */
function isPositionsHeader(row: Row): boolean {
  const name = (column: number): string => textAt(row, column);
  const isNamed = [COLUMN.time, COLUMN.number, COLUMN.symbol, COLUMN.type, COLUMN.volume, COLUMN.price].every((column) => /\p{L}/u.test(name(column)));
  return isNamed && name(COLUMN.time) === name(COLUMN.end) && name(COLUMN.price) === name(COLUMN.last) && name(COLUMN.time) !== name(COLUMN.price);
}

const isNumbered = (row: Row): boolean => isTime(textAt(row, COLUMN.time)) && /^\d+$/.test(textAt(row, COLUMN.number));

/** @param row without the cells of invariant 2 */
export function rowKind(row: Row): RowKind {
  if (!isNumbered(row)) {
    const named = row.cells.find(({ text }) => orderType(text) !== undefined);
    return named === undefined ? { kind: "other" } : { kind: "foreign", why: `a ${JSON.stringify(named.text)} row that does not begin with a time and a number` };
  }
  const word = textAt(row, COLUMN.type);
  const type = orderType(word);
  if (type === undefined) return { kind: "booking", name: bookingName(word) };
  const volumes = volumesIn(textAt(row, COLUMN.volume));
  if (volumes === null) return isDeal(row) ? { kind: "deal" } : { kind: "foreign", why: `a ${JSON.stringify(word)} row without a volume in column ${COLUMN.volume + 1}` };
  if (type !== "buy" && type !== "sell") return { kind: "pending", type };
  if (isState(textAt(row, COLUMN.last), volumes)) return { kind: "market order", side: type };
  const end = textAt(row, COLUMN.end);
  if (isTime(end)) return { kind: "closed", side: type };
  if (isDecimal(withoutBlanks(end))) return { kind: "open", side: type };
  return { kind: "foreign", why: `a ${JSON.stringify(word)} row with neither a time nor a price in column ${COLUMN.end + 1}` };
}

/** The direction (`in`, `out`, `in/out`) may be in another language; the number of a deal's order stands where no other row has a whole number and no time after it. */
function isDeal(row: Row): boolean {
  const isLetters = /\p{L}/u.test(textAt(row, DEAL.direction));
  return isLetters && volumesIn(textAt(row, DEAL.volume)) !== null && /^\d+$/.test(textAt(row, DEAL.order)) && !isTime(textAt(row, COLUMN.end));
}

/** States may be in another language, but only orders show two volumes. */
const isState = (text: string, { isPair }: Volumes): boolean => (isPair ? /^\p{L}/u.test(text) : endsOrder(text) || isWaiting(text));
export const endsOrder = (state: string): boolean => ENDED.has(state.toLowerCase());
export const isWaiting = (state: string): boolean => WAITING.has(state.toLowerCase());

/** Null for what is no volume. */
function volumesIn(text: string): Volumes | null {
  const [asked = "", executed = asked, ...more] = text.split("/").map(withoutBlanks);
  if (more.length > 0 || !isVolume(asked) || !isVolume(executed)) return null;
  return { asked: volumeFromLots(asked), executed: volumeFromLots(executed), isPair: text.includes("/") };
}

/** Lots with what 1e-8 of one can hold. */
const isVolume = (text: string): boolean => /^\d{1,7}(?:\.\d{1,8})?$/.test(text);

/** The volumes of a row that `rowKind` knows for one of a position or an order. */
export const volumesOf = (row: Row): Volumes | null => volumesIn(textAt(row, COLUMN.volume));
