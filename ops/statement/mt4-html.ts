// Owns the reading of an MT4 HTML statement: table rows to raw orders.
//
// 1. A row that looks like a trade is read whole or refused; none is left out silently.
// 2. A comment stands in the ticket cell's `title`, or in a row of its own right under the trade.

import { LockstepError } from "../../protocol/errors.ts";
import { symbolName, ticket } from "../../protocol/ids.ts";
import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { PendingKind, Side } from "../../protocol/trades.ts";
import { volumeFromLots } from "../../protocol/units.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { buildStatement } from "./build.ts";
import type { RawOrder } from "./build.ts";
import type { Statement } from "./model.ts";
import { checkWhole, COLUMN, rowKind } from "./mt4-layout.ts";
import { cellAt, quoted, readRows, rowText, textAt } from "./rows.ts";
import type { Row } from "./rows.ts";
import { isDecimal, isTime, readAt, timeFromText, withoutBlanks } from "./values.ts";

/**
 * @param name how the file is called in errors
 * @throws LockstepError `bad_statement`: no MT4 statement, cut, or a row that cannot be read; the line says where.
 */
export function readMt4Html(html: string, name: string): Statement {
  const rows = readRows(html).map((row) => ({ row, kind: rowKind(row) }));
  checkWhole(html, rows, name);
  const orders: RawOrder[] = [];
  const bookings: string[] = [];
  /** Whether the row right above is a trade, which a text row would belong to. */
  let underTrade = false;
  for (const [index, { row, kind }] of rows.entries()) {
    const place = `${name}: line ${row.line}`;
    switch (kind.kind) {
      case "order":
        orders.push(readAt(`${place}, ${quoted(rowText(row))}`, () => readOrder(row, kind.type, place)));
        break;
      case "text": {
        const above = orders.at(-1);
        const isTitle = rows[index + 1]?.kind.kind === "header";
        if (underTrade && !isTitle && above?.comment === "") orders[orders.length - 1] = { ...above, comment: kind.text }; // Invariant 2.
        break;
      }
      case "booking":
        bookings.push(kind.name);
        break;
      case "foreign": // Invariant 1.
        throw new LockstepError("bad_statement", `${place}: found ${kind.why}, ${quoted(rowText(row))}`);
      case "title":
      case "header":
      case "other":
        break;
    }
    underTrade = kind.kind === "order";
  }
  return buildStatement("mt4-html", orders, bookings);
}

/** @throws LockstepError `invalid_value` */
function readOrder(row: Row, type: Side | PendingKind, place: string): RawOrder {
  const number = readTicket(textAt(row, COLUMN.ticket));
  const { closeTimeMs, lastPrice } = readEnd(row);
  return {
    place: `${place}, ticket ${number}`,
    type,
    ticket: number,
    symbol: readSymbol(textAt(row, COLUMN.symbol)),
    volume: volumeFromLots(withoutBlanks(textAt(row, COLUMN.volume))),
    openTimeMs: timeFromText(textAt(row, COLUMN.openTime)),
    price: readPrice(row, COLUMN.price),
    stopLoss: readPrice(row, COLUMN.stopLoss),
    takeProfit: readPrice(row, COLUMN.takeProfit),
    closeTimeMs,
    lastPrice,
    comment: cellAt(row, COLUMN.ticket)?.title ?? "",
    outcome: textAt(row, COLUMN.outcome),
  };
}

function readTicket(text: string): Ticket {
  if (!/^\d{1,16}$/.test(text)) throw new LockstepError("invalid_value", `expected a ticket number, got ${JSON.stringify(text)}`);
  return ticket(Number(text));
}

function readSymbol(text: string): SymbolName {
  if (!/\p{L}/u.test(text)) throw new LockstepError("invalid_value", `expected a symbol, got ${JSON.stringify(text)}`);
  return symbolName(text);
}

function readPrice(row: Row, column: number): string {
  const price = withoutBlanks(textAt(row, column));
  if (!isDecimal(price)) throw new LockstepError("invalid_value", `expected a price in column ${column + 1}, got ${JSON.stringify(price)}`);
  return price;
}

/** A close time and a price; or no close time, and the market price after it or across both columns. */
function readEnd(row: Row): { readonly closeTimeMs: BrokerMs | null; readonly lastPrice: string } {
  const closeTime = textAt(row, COLUMN.closeTime);
  if (isTime(closeTime)) return { closeTimeMs: timeFromText(closeTime), lastPrice: readPrice(row, COLUMN.lastPrice) };
  if (closeTime === "") return { closeTimeMs: null, lastPrice: readPrice(row, COLUMN.lastPrice) };
  if (cellAt(row, COLUMN.lastPrice) === null) return { closeTimeMs: null, lastPrice: readPrice(row, COLUMN.closeTime) };
  throw new LockstepError("invalid_value", `expected a close time in column ${COLUMN.closeTime + 1}, got ${JSON.stringify(closeTime)}`);
}
