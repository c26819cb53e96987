// Owns the reading of cells that every format has: tickets, symbols, prices, the words for an order's
// type. What cannot be read is an `invalid_value`; whoever knows the row adds where it stands.

import { LockstepError } from "../../protocol/errors.ts";
import { symbolName, ticket } from "../../protocol/ids.ts";
import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { PendingKind, Side } from "../../protocol/trades.ts";
import { textAt } from "./grid.ts";
import type { Row } from "./grid.ts";
import { isDecimal, withoutBlanks } from "./values.ts";

/** English in every language of the terminal. */
const ORDER_TYPES: ReadonlyMap<string, Side | PendingKind> = new Map<string, Side | PendingKind>([
  ["buy", "buy"],
  ["sell", "sell"],
  ["buy limit", "buy_limit"],
  ["sell limit", "sell_limit"],
  ["buy stop", "buy_stop"],
  ["sell stop", "sell_stop"],
]);
/** Type words go into reports; no real one is longer. */
const MAX_TYPE_LENGTH = 40;

/** The type that a cell names, or undefined. */
export const orderType = (text: string): Side | PendingKind | undefined => (text.length > MAX_TYPE_LENGTH ? undefined : ORDER_TYPES.get(text.toLowerCase()));
/** How a row whose type is none of an order is counted. */
export const bookingName = (text: string): string => (text === "" ? "row without a type" : text.slice(0, MAX_TYPE_LENGTH).toLowerCase());

/** @throws LockstepError `invalid_value` */
export function readTicket(text: string): Ticket {
  if (!/^\d{1,20}$/.test(text)) throw new LockstepError("invalid_value", `expected a ticket number, got ${JSON.stringify(text)}`);
  return ticket(Number(text));
}

/** @throws LockstepError `invalid_value` */
export function readSymbol(text: string): SymbolName {
  if (!/\p{L}/u.test(text)) throw new LockstepError("invalid_value", `expected a symbol, got ${JSON.stringify(text)}`);
  return symbolName(text);
}

/**
 * The decimal in a column.
 * @throws LockstepError `invalid_value`
 */
export function readPrice(row: Row, column: number): string {
  const price = withoutBlanks(textAt(row, column));
  if (!isDecimal(price)) throw new LockstepError("invalid_value", `expected a price in column ${column + 1}, got ${JSON.stringify(price)}`);
  return price;
}
