// Owns the reading of whole MT5 reports: what their rows mean, and that every file of one report is
// the same statement.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Statement } from "../../../ops/statement/model.ts";
import { readStatement } from "../../../ops/statement/read.ts";
import { summarise } from "../../../ops/statement/summary.ts";
import { wholeTrades } from "../../../ops/statement/trades.ts";
import { summaryTable } from "../../../ops/commands/statement.ts";
import { timeText } from "../../../ops/statement/values.ts";
import { byTicket } from "./fixture.ts";
import { htmlOf, htmlText, REPORT, xlsxOf, type Report, type XlsxStyle } from "./mt5Report.ts";

const statement = readStatement(htmlOf(REPORT), "x.htm");
const { positions, open, pendings, filledPendings, working } = statement;
const reread = (changes: Partial<Report>): Statement => readStatement(htmlOf({ ...REPORT, ...changes }), "x.htm");
const NOTHING: Report = { positions: [], orders: [], deals: [], open: [], working: [] };

test("a report's summary counts filled pendings with the others, and market orders and deals as ignored", () => {
  assert.deepEqual(summarise(statement), {
    format: "mt5-html",
    positions: 8,
    open: 2,
    pendings: 7,
    working: 2,
    chains: 2,
    ignored: { "market order": 6, "buy stop limit": 1, balance: 1, credit: 1, deal: 3, "zero volume": 1 },
    symbols: ["EURUSD.z", "GBPUSD.z", "USDJPY.z", "XAUUSD.z"],
    from: "2024-06-03T07:50:00",
    to: "2024-06-03T14:41:00",
  });
  assert.match(summaryTable(statement), /pendings in the history +│ 7, 4 of them filled/);
});

describe("every file of one report is the same statement", () => {
  const styles: readonly (XlsxStyle & { readonly what: string })[] = [
    { what: "UTF-16 parts and shared strings, as a terminal writes it" },
    { what: "UTF-8 parts and inline strings", charset: "utf-8", strings: "inline" },
    { what: "saved again by a spreadsheet", charset: "utf-8", numbers: "noisy" },
    { what: "with the comment between type and volume", comments: true },
    { what: "Russian", language: "russian" },
  ];
  for (const { what, ...style } of styles) {
    test(`XLSX: ${what}`, () => assert.deepEqual(readStatement(xlsxOf(REPORT, style), "x.xlsx"), { ...statement, format: "mt5-xlsx" }));
  }
  test("HTML: UTF-8 without a byte order mark", () => assert.deepEqual(readStatement(Buffer.from(htmlText(REPORT)), "x.htm"), statement));
  test("HTML: Russian", () => assert.deepEqual(readStatement(htmlOf(REPORT, "russian"), "x.htm"), statement));
  test("HTML: the header has the hidden cell too", () => {
    const html = htmlText(REPORT).replace("<td nowrap><b>Volume</b></td>", `<td class="hidden" colspan="8"></td>$&`);
    assert.notEqual(html, htmlText(REPORT));
    assert.deepEqual(readStatement(Buffer.from(html), "x.htm"), statement);
  });
  test("HTML: the comment's cell is hidden by its style", () => {
    assert.deepEqual(readStatement(Buffer.from(htmlText(REPORT).replaceAll(`class="hidden" `, `style="display: none" `)), "x.htm"), statement);
  });
});

describe("an account without any trade is a statement", () => {
  test("in HTML", () => assert.deepEqual(summarise(readStatement(htmlOf(NOTHING, "russian"), "x.htm")).from, null));
  test("in XLSX", () => assert.deepEqual(readStatement(xlsxOf(NOTHING), "x.xlsx").positions, []));
});

describe("a closed position", () => {
  test("is read with points, units and broker time, and the comment that no column is for", () => {
    assert.deepEqual(byTicket(positions, 7001), {
      ticket: 7001,
      symbol: "EURUSD.z",
      digits: 5,
      volume: 10_000_000,
      stopLoss: null,
      takeProfit: 108_900,
      magic: null,
      comment: "breakout",
      side: "buy",
      openTimeMs: Date.UTC(2024, 5, 3, 8, 0, 1),
      openPrice: 108_501,
      chainFrom: null,
      closeTimeMs: Date.UTC(2024, 5, 3, 9, 30, 0),
      closePrice: 108_900,
      closeReason: "take_profit",
      gap: false,
      chainTo: null,
    });
  });
  test("has its opening order's comment where it shows none itself", () => {
    assert.equal(byTicket(reread({ positions: REPORT.positions.map(({ cells }) => ({ cells })) }).positions, 7001).comment, "breakout");
  });
  test("was stopped out where the order that closed it says so", () => assert.equal(byTicket(positions, 7040).closeReason, "stop_out"));
  test("jumped over its stop where the closing order names another price", () => {
    const { closeReason, gap } = byTicket(positions, 7030);
    assert.deepEqual({ closeReason, gap }, { closeReason: "stop_loss", gap: true });
  });
  test("was closed by hand where no order says anything else", () => assert.equal(byTicket(positions, 7003).closeReason, "manual"));
  test("is not explained by two orders of its moment that differ", () => {
    const [like] = REPORT.orders.filter(({ cells }) => cells[1] === "7140");
    const byHand = { cells: like!.cells.with(1, "7141").with(11, "") };
    assert.equal(byTicket(reread({ orders: [...REPORT.orders, byHand] }).positions, 7040).closeReason, "manual");
  });
  test("may have times with fractions", () => assert.equal(byTicket(positions, 7045).closeTimeMs, Date.UTC(2024, 5, 3, 13, 10, 0, 987)));
  test("shows blanks as thousands marks, and no stop as 0", () => {
    assert.equal(byTicket(positions, 7010).openPrice, 234_512);
    assert.equal(byTicket(positions, 7900).stopLoss, null);
  });
  test("that shows two volumes was closed with the smaller", () => {
    const [first, ...others] = REPORT.positions;
    assert.equal(byTicket(reread({ positions: [{ cells: first!.cells.with(4, "0.04 / 0.10") }, ...others] }).positions, 7001).volume, 4_000_000);
  });
});

describe("part-closes keep the ticket", () => {
  test("and are joined in the order in which they closed, into the position that is still open", () => {
    const [trade, ...others] = wholeTrades(statement).filter(({ ticket }) => ticket === 7010);
    assert.deepEqual(others, []);
    assert.deepEqual(trade?.parts.map(({ volume, closeReason, chainFrom, chainTo }) => ({ volume, closeReason, chainFrom, chainTo })), [
      { volume: 20_000_000, closeReason: "manual", chainFrom: null, chainTo: 7010 },
      { volume: 30_000_000, closeReason: "manual", chainFrom: 7010, chainTo: 7010 },
    ]);
    assert.equal(trade.rest?.volume, 10_000_000);
    assert.equal(trade.rest.chainFrom, 7010);
  });
  test("and a position that reappears under its ticket is another trade", () => {
    const again = REPORT.positions.filter(({ cells }) => cells[1] === "7001").map(({ cells }) => ({ cells: cells.with(0, "2024.06.03 10:00:00").with(8, "2024.06.03 10:05:00") }));
    const both = reread({ positions: [...REPORT.positions, ...again] });
    assert.equal(both.chains, 2);
    assert.deepEqual(wholeTrades(both).filter(({ ticket }) => ticket === 7001).map(({ parts }) => parts.length), [1, 1]);
  });
  test("every row is in exactly one whole trade", () => {
    const rows = wholeTrades(statement).flatMap(({ parts, rest }) => [...parts, ...(rest === null ? [] : [rest])]);
    assert.deepEqual(new Set(rows), new Set([...positions, ...open]));
    assert.equal(rows.length, positions.length + open.length);
  });
});

describe("an open position", () => {
  test("has the market price and a comment, which may be a number", () => {
    const { marketPrice, comment, side } = byTicket(open, 7050);
    assert.deepEqual({ marketPrice, comment, side }, { marketPrice: 108_311, comment: "2024", side: "sell" });
  });
});

describe("a pending order that was filled", () => {
  const filled = (ticket: number) => {
    const { kind, volume, filledVolume, filledAs, filledTimeMs } = byTicket(filledPendings, ticket);
    return { kind, volume, filledVolume, filledAs, filled: timeText(filledTimeMs) };
  };
  test("is known to be its position by the number", () => {
    assert.deepEqual(filled(7003), { kind: "sell_limit", volume: 20_000_000, filledVolume: 20_000_000, filledAs: 7003, filled: "2024-06-03T08:10:00" });
    assert.equal(byTicket(positions, 7003).ticket, 7003);
  });
  test("has the stops that it had, not those of the position's end", () => assert.deepEqual([byTicket(filledPendings, 7003).stopLoss, byTicket(positions, 7003).stopLoss], [128_100, 128_000]));
  test("is known by symbol, side, second and volume where the server gave the position another number", () => {
    assert.deepEqual(filled(7020), { kind: "buy_stop", volume: 40_000_000, filledVolume: 40_000_000, filledAs: 7900, filled: "2024-06-03T08:30:05" });
  });
  test("is not guessed where two positions fit", () => {
    const twin = REPORT.positions.filter(({ cells }) => cells[1] === "7900").map(({ cells }) => ({ cells: cells.with(1, "7901") }));
    assert.equal(byTicket(reread({ positions: [...REPORT.positions, ...twin] }).filledPendings, 7020).filledAs, null);
  });
  test("in part, and then cancelled, tells both volumes", () => {
    assert.deepEqual(filled(7045), { kind: "buy_limit", volume: 50_000_000, filledVolume: 20_000_000, filledAs: 7045, filled: "2024-06-03T09:05:00" });
  });
  test("whose position is not in the report leads nowhere", () => {
    assert.deepEqual(filled(7073), { kind: "sell_limit", volume: 10_000_000, filledVolume: 10_000_000, filledAs: null, filled: "2024-06-03T14:20:00" });
  });
});

describe("a pending order that was not filled", () => {
  const ended = (ticket: number) => {
    const { kind, reason, reasonText, removedTimeMs } = byTicket(pendings, ticket);
    return { kind, reason, reasonText, removed: timeText(removedTimeMs) };
  };
  test("was cancelled", () => {
    assert.deepEqual(ended(7070), { kind: "buy_limit", reason: "cancelled", reasonText: "canceled", removed: "2024-06-03T09:20:00" });
    const { volume, price, stopLoss, takeProfit, marketPrice, comment } = byTicket(pendings, 7070);
    assert.deepEqual({ volume, price, stopLoss, takeProfit, marketPrice, comment }, { volume: 100_000_000_000, price: 126_001, stopLoss: 125_000, takeProfit: 130_000, marketPrice: null, comment: "deep" });
  });
  test("expired", () => assert.deepEqual(ended(7071), { kind: "sell_stop", reason: "expired", reasonText: "expired", removed: "2024-06-03T14:00:00" }));
  test("was rejected, which is the broker's deleting", () => assert.deepEqual(ended(7072), { kind: "buy_stop", reason: "deleted", reasonText: "rejected", removed: "2024-06-03T14:10:00" }));
  test("still works", () => {
    const { kind, volume, price, stopLoss, takeProfit, marketPrice, comment } = byTicket(working, 7060);
    assert.deepEqual({ kind, volume, price, stopLoss, takeProfit, marketPrice, comment }, { kind: "buy_limit", volume: 10_000_000, price: 108_000, stopLoss: 107_900, takeProfit: 108_200, marketPrice: 108_311, comment: "dip" });
  });
  test("still works with what is left of it, next to the position of the part that was filled", () => {
    const { volume, marketPrice } = byTicket(working, 7050);
    assert.deepEqual({ volume, marketPrice }, { volume: 3_000_000, marketPrice: null });
    assert.equal(byTicket(open, 7050).volume, 1_000_000);
  });
});
