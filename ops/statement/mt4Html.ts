// Owns the reading of an MT4 HTML statement: table rows to raw orders.
//
// 1. A row that looks like a trade is read whole or refused; none is left out silently.
// 2. A comment stands in the ticket cell's `title`, or in a row of its own right under the trade.

import { LockstepError } from "../../protocol/errors.ts";
import type { PendingKind, Side } from "../../protocol/trades.ts";
import { NO_VOLUME, volumeFromLots } from "../../protocol/units.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { buildStatement } from "./build.ts";
import { readPrice, readSymbol, readTicket } from "./cells.ts";
import { cellAt, quoted, rowText, textAt } from "./grid.ts";
import type { Row } from "./grid.ts";
import type { Statement } from "./model.ts";
import { readPendingComment, readTradeComment, removalReason } from "./mt4Comments.ts";
import { checkWhole, COLUMN, rowKind } from "./mt4Layout.ts";
import { refuseDoubles } from "./raw.ts";
import type { PendingEnd, RawPending, RawTrade } from "./raw.ts";
import { isTime, readAt, timeFromText, withoutBlanks } from "./values.ts";

/** An order as its row shows it, its comment not yet understood. */
interface Mt4Order extends Pick<RawTrade, "place" | "ticket" | "symbol" | "volume" | "stopLoss" | "takeProfit"> {
  readonly type: Side | PendingKind;
  readonly startMs: BrokerMs;
  readonly price: string;
  /** Null while it is open or working. */
  readonly endMs: BrokerMs | null;
  /** At the close or removal, else the market's when the statement was made. */
  readonly lastPrice: string;
  readonly comment: string;
  /** The words on how a pending order ended. */
  readonly outcome: string;
}

/**
 * @param name how the file is called in errors
 * @throws LockstepError `bad_statement`: no MT4 statement, cut, or a row that cannot be read; the line says where.
 */
export function readMt4Html(html: string, tableRows: readonly Row[], name: string): Statement {
  const rows = tableRows.map((row) => ({ row, kind: rowKind(row) }));
  checkWhole(html, rows, name);
  const orders: Mt4Order[] = [];
  const ignored: string[] = [];
  /** Whether the row right above is a trade, which a text row would belong to. */
  let underTrade = false;
  for (const [index, { row, kind }] of rows.entries()) {
    const place = `${name}: ${row.place}`;
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
        ignored.push(kind.name);
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
  refuseDoubles(orders);
  const trades: RawTrade[] = [];
  const pendings: RawPending[] = [];
  for (const order of orders) {
    const { type } = order;
    if (order.volume === NO_VOLUME) ignored.push(readTradeComment(order.comment).closeBy ? "close by" : "zero volume");
    else if (type === "buy" || type === "sell") trades.push(tradeOf(order, type));
    else pendings.push(pendingOf(order, type));
  }
  return buildStatement({ format: "mt4-html", trades, pendings, ignored });
}

function tradeOf(order: Mt4Order, side: Side): RawTrade {
  const { startMs, price, endMs, type, outcome, comment, ...rest } = order;
  const said = readTradeComment(comment);
  return {
    ...rest,
    magic: said.magic,
    comment: said.own,
    side,
    openTimeMs: startMs,
    openPrice: price,
    closeTimeMs: endMs,
    mark: said.mark,
    namedFrom: said.chainFrom,
    namedTo: said.chainTo,
  };
}

function pendingOf(order: Mt4Order, kind: PendingKind): RawPending {
  const { startMs, price, endMs, type, outcome, comment, lastPrice, ...rest } = order;
  const said = readPendingComment(comment, endMs === null ? "" : outcome);
  const end: PendingEnd = endMs === null ? { kind: "working" } : { kind: "removed", timeMs: endMs, reason: removalReason(said.reasonText), reasonText: said.reasonText };
  return { ...rest, magic: said.magic, comment: said.own, kind, placedTimeMs: startMs, price, end, marketPrice: lastPrice };
}

/** @throws LockstepError `invalid_value` */
function readOrder(row: Row, type: Side | PendingKind, place: string): Mt4Order {
  const number = readTicket(textAt(row, COLUMN.ticket));
  const { endMs, lastPrice } = readEnd(row);
  return {
    place: `${place}, ticket ${number}`,
    type,
    ticket: number,
    symbol: readSymbol(textAt(row, COLUMN.symbol)),
    volume: volumeFromLots(withoutBlanks(textAt(row, COLUMN.volume))),
    startMs: timeFromText(textAt(row, COLUMN.openTime)),
    price: readPrice(row, COLUMN.price),
    stopLoss: readPrice(row, COLUMN.stopLoss),
    takeProfit: readPrice(row, COLUMN.takeProfit),
    endMs,
    lastPrice,
    comment: cellAt(row, COLUMN.ticket)?.title ?? "",
    outcome: textAt(row, COLUMN.outcome),
  };
}

/** A close time and a price; or no close time, and the market price after it or across both columns. */
function readEnd(row: Row): { readonly endMs: BrokerMs | null; readonly lastPrice: string } {
  const closeTime = textAt(row, COLUMN.closeTime);
  if (isTime(closeTime)) return { endMs: timeFromText(closeTime), lastPrice: readPrice(row, COLUMN.lastPrice) };
  if (closeTime === "") return { endMs: null, lastPrice: readPrice(row, COLUMN.lastPrice) };
  if (cellAt(row, COLUMN.lastPrice) === null) return { endMs: null, lastPrice: readPrice(row, COLUMN.closeTime) };
  throw new LockstepError("invalid_value", `expected a close time in column ${COLUMN.closeTime + 1}, got ${JSON.stringify(closeTime)}`);
}
