// Owns the reading of an MT5 trade history report, whatever file it came in: rows of cells to a
// statement.
//
// 1. A row that looks like a trade is read whole or refused; none is left out silently.
// 2. Positions are the record of what was traded. Market orders and deals are the same trades once
//    more, so they are counted and only asked for what a position does not show.

import { LockstepError } from "../../protocol/errors.ts";
import type { PendingKind, RemovalReason, Side } from "../../protocol/trades.ts";
import { NO_VOLUME } from "../../protocol/units.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { buildStatement } from "./build.ts";
import { readPrice, readSymbol, readTicket } from "./cells.ts";
import { noStatement } from "./format.ts";
import { quoted, rowText, textAt } from "./grid.ts";
import type { Row } from "./grid.ts";
import type { Statement } from "./model.ts";
import { beginsLikeMt5, COLUMN, endsOrder, isWaiting, plainRow, rowKind, volumesOf } from "./mt5Layout.ts";
import type { PlainRow, Volumes } from "./mt5Layout.ts";
import { explainedTrades, linkedPendings } from "./mt5Orders.ts";
import type { MarketOrder } from "./mt5Orders.ts";
import { refuseDoubles } from "./raw.ts";
import type { PendingEnd, RawPending, RawTrade } from "./raw.ts";
import { isDecimal, isTime, readAt, timeFromText, withoutBlanks } from "./values.ts";

/**
 * @param name how the file is called in errors
 * @throws LockstepError `bad_statement`: no MT5 report, or a row that cannot be read; the line says where.
 */
export function readMt5Report(format: "mt5-html" | "mt5-xlsx", rows: readonly Row[], name: string): Statement {
  if (!beginsLikeMt5(rows)) throw noStatement(name, "a table without a row or header as MT5 writes them");
  const trades: RawTrade[] = [];
  const pendings: RawPending[] = [];
  const orders: MarketOrder[] = [];
  const ignored: string[] = [];
  for (const each of rows) {
    const plain = plainRow(each);
    const kind = rowKind(plain.row);
    const place = `${name}: ${each.place}`;
    const read = <T>(reader: () => T): T => readAt(`${place}, ${quoted(rowText(plain.row))}`, reader);
    switch (kind.kind) {
      case "closed":
      case "open":
        trades.push(read(() => readTrade(plain, kind.side, kind.kind === "closed", place)));
        break;
      case "pending":
        pendings.push(read(() => readPending(plain.row, kind.type, place)));
        break;
      case "market order":
        orders.push(read(() => readMarketOrder(plain.row, kind.side)));
        ignored.push(kind.kind);
        break;
      case "deal":
        ignored.push(kind.kind);
        break;
      case "booking":
        ignored.push(kind.name);
        break;
      case "foreign": // Invariant 1.
        throw new LockstepError("bad_statement", `${place}: found ${kind.why}, ${quoted(rowText(plain.row))}`);
      case "other":
        break;
    }
  }
  refuseDoubles(pendings);
  const hasVolume = ({ volume }: RawTrade | RawPending): boolean => volume !== NO_VOLUME;
  const traded = trades.filter(hasVolume);
  const placed = pendings.filter(hasVolume);
  for (let left = trades.length + pendings.length - traded.length - placed.length; left > 0; left--) ignored.push("zero volume");
  return buildStatement({ format, trades: explainedTrades(traded, orders, placed), pendings: linkedPendings(placed, traded, orders), ignored });
}

/** @throws LockstepError `invalid_value` */
function readVolumes(row: Row): Volumes {
  const volumes = volumesOf(row);
  if (volumes === null) throw new LockstepError("invalid_value", `expected a volume in column ${COLUMN.volume + 1}, got ${JSON.stringify(textAt(row, COLUMN.volume))}`);
  return volumes;
}

/** A stop or target, which may be missing. */
const readLevel = (row: Row, column: number): string => (textAt(row, column) === "" ? "" : readPrice(row, column));

/** What every row of a position or a pending order has. */
function readOrder(row: Row, place: string) {
  const ticket = readTicket(textAt(row, COLUMN.number));
  return {
    place: `${place}, ticket ${ticket}`,
    ticket,
    symbol: readSymbol(textAt(row, COLUMN.symbol)),
    stopLoss: readLevel(row, COLUMN.stopLoss),
    takeProfit: readLevel(row, COLUMN.takeProfit),
    magic: null,
  };
}

/** @throws LockstepError `invalid_value` */
function readTrade({ row, comment }: PlainRow, side: Side, isClosed: boolean, place: string): RawTrade {
  const { asked, executed } = readVolumes(row);
  return {
    ...readOrder(row, place),
    // Where a position shows two, they are its closed part and all of it.
    volume: Math.min(asked, executed) as VolumeUnits,
    comment: comment === "" && !isClosed ? openComment(row) : comment,
    side,
    openTimeMs: timeFromText(textAt(row, COLUMN.time)),
    openPrice: readPrice(row, COLUMN.price),
    closeTimeMs: isClosed ? timeFromText(textAt(row, COLUMN.end)) : null,
    lastPrice: readPrice(row, isClosed ? COLUMN.last : COLUMN.end),
    mark: null,
    namedFrom: null,
    namedTo: null,
  };
}

/** What follows an open position's swap and profit, which are numbers. */
function openComment(row: Row): string {
  const after = row.cells.filter(({ column, text }) => column > COLUMN.end && text !== "");
  return after.find(({ text }, index) => index >= 2 || !isDecimal(withoutBlanks(text)))?.text ?? "";
}

/** @throws LockstepError `invalid_value` */
function readPending(row: Row, kind: PendingKind, place: string): RawPending {
  const { asked, executed, isPair } = readVolumes(row);
  const state = textAt(row, COLUMN.last);
  const after = row.cells.find(({ column, text }) => column > COLUMN.last && text !== "")?.text ?? "";
  const end = textAt(row, COLUMN.end);
  const common = { ...readOrder(row, place), kind, placedTimeMs: timeFromText(textAt(row, COLUMN.time)), price: readPrice(row, COLUMN.price) };
  if (!isTime(end) && !endsOrder(state)) {
    const isMarked = state === "" || isWaiting(state);
    return {
      ...common,
      volume: Math.max(NO_VOLUME, isPair ? asked - executed : asked) as VolumeUnits,
      comment: isMarked ? after : state,
      end: { kind: "working" },
      marketPrice: end === "" ? null : readPrice(row, COLUMN.end),
    };
  }
  const filled = isPair ? executed : state.toLowerCase() === "filled" ? asked : NO_VOLUME;
  return { ...common, volume: asked, comment: after, end: readEnd(end, state, filled), marketPrice: null };
}

/** @throws LockstepError `invalid_value` */
function readEnd(end: string, state: string, filled: VolumeUnits): PendingEnd {
  const timeMs = timeFromText(end);
  return filled === NO_VOLUME ? { kind: "removed", timeMs, reason: removalReason(state), reasonText: state } : { kind: "filled", timeMs, volume: filled, as: null };
}

function removalReason(state: string): RemovalReason {
  if (/expir/i.test(state)) return "expired";
  return /reject/i.test(state) ? "deleted" : "cancelled";
}

/** @throws LockstepError `invalid_value` */
function readMarketOrder(row: Row, side: Side): MarketOrder {
  const end = textAt(row, COLUMN.end);
  return {
    ticket: readTicket(textAt(row, COLUMN.number)),
    symbol: readSymbol(textAt(row, COLUMN.symbol)),
    side,
    endMs: isTime(end) ? timeFromText(end) : null,
    executed: readVolumes(row).executed,
    comment: row.cells.find(({ column, text }) => column > COLUMN.last && text !== "")?.text ?? "",
  };
}
