// Owns writing rows as an MT4 statement, so that tests make statements the way a broker does.

import type { PendingKind, Side } from "../../../protocol/trades.ts";
import type { Statement } from "../../../ops/statement/model.ts";
import { readStatement } from "../../../ops/statement/read.ts";

/** One row. Prices and volumes are decimal text; times are seconds from the start of the statement's day. */
export interface StatementRow {
  readonly ticket: number;
  readonly type: Side | PendingKind;
  readonly symbol: string;
  readonly lots: string;
  readonly openSecond: number;
  readonly price: string;
  /** `0` for none. */
  readonly stopLoss?: string;
  readonly takeProfit?: string;
  /** Null: it is open, or works. */
  readonly closeSecond: number | null;
  /** At the close, else the market's. */
  readonly lastPrice: string;
  readonly comment?: string;
}

const DAY_MS = Date.UTC(2024, 2, 4);
const COLUMNS = 14;

function timeText(second: number): string {
  const [day = "", time = ""] = new Date(DAY_MS + second * 1_000).toISOString().slice(0, 19).split("T");
  return `${day.replaceAll("-", ".")} ${time}`;
}

function rowHtml({ ticket, type, symbol, lots, openSecond, price, stopLoss = "0", takeProfit = "0", closeSecond, lastPrice, comment = "" }: StatementRow): string {
  const isTrade = type === "buy" || type === "sell";
  const start = `<td title="${comment}">${ticket}</td><td>${timeText(openSecond)}</td><td>${type.replace("_", " ")}</td><td>${lots}</td><td>${symbol}</td><td>${price}</td><td>${stopLoss}</td><td>${takeProfit}</td>`;
  const zeros = "<td>0.00</td>".repeat(4);
  if (closeSecond !== null) return `<tr>${start}<td>${timeText(closeSecond)}</td><td>${lastPrice}</td>${isTrade ? zeros : "<td colspan=4>cancelled</td>"}</tr>`;
  return isTrade ? `<tr>${start}<td>&nbsp;</td><td>${lastPrice}</td>${zeros}</tr>` : `<tr>${start}<td colspan=2>${lastPrice}</td><td colspan=4>&nbsp;</td></tr>`;
}

export function statementHtml(rows: readonly StatementRow[]): string {
  const title = (text: string): string => `<tr><td colspan=${COLUMNS}><b>${text}</b></td></tr>`;
  const header = (last: string): string =>
    `<tr><td>Ticket</td><td>Open Time</td><td>Type</td><td>Size</td><td>Item</td><td>Price</td><td>S / L</td><td>T / P</td>${last}</tr>`;
  const sums = "<td>Commission</td><td>Taxes</td><td>Swap</td><td>Profit</td>";
  const is = (trade: boolean, closed: boolean) => (row: StatementRow): boolean => (row.type === "buy" || row.type === "sell") === trade && (row.closeSecond !== null) === closed;
  const section = (name: string, last: string, kept: readonly StatementRow[]): string => `${title(name)}${header(last)}${kept.map(rowHtml).join("\n")}<tr><td colspan=${COLUMNS}>&nbsp;</td></tr>`;
  return `<html><head><title>Statement: 1</title></head><body><table>
<tr><td colspan=${COLUMNS}><b>Account: 1</b></td></tr>
${section("Closed Transactions:", `<td>Close Time</td><td>Price</td>${sums}`, rows.filter((row) => row.closeSecond !== null))}
${section("Open Trades:", `<td>&nbsp;</td><td>Price</td>${sums}`, rows.filter(is(true, false)))}
${section("Working Orders:", "<td colspan=2>Market Price</td><td colspan=4>&nbsp;</td>", rows.filter(is(false, false)))}
${title("Summary:")}</table></body></html>`;
}

export const statementOf = (rows: readonly StatementRow[]): Statement => readStatement(new TextEncoder().encode(statementHtml(rows)), "test.htm");
