// Owns the reading of whole statements: every layout, comment and outcome that MT4 writes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readStatement } from "../../../ops/statement/read.ts";
import { summarise } from "../../../ops/statement/summary.ts";
import { timeText } from "../../../ops/statement/values.ts";
import { byTicket, fixtureBytes, readFixture } from "./fixture.ts";

describe("a closed position", () => {
  const { positions } = readFixture("comments.htm");

  test("is read with points, units and broker time", () => {
    assert.deepEqual(byTicket(positions, 9002), {
      ticket: 9002,
      symbol: "eurusd.",
      digits: 5,
      volume: 10_000_000,
      stopLoss: null,
      takeProfit: 108_900,
      magic: 4711,
      comment: "breakout",
      side: "buy",
      openTimeMs: Date.UTC(2024, 5, 3, 8, 0, 1),
      openPrice: 108_500,
      chainFrom: null,
      closeTimeMs: Date.UTC(2024, 5, 3, 9, 30, 0),
      closePrice: 108_900,
      closeReason: "take_profit",
      gap: false,
      chainTo: null,
    });
  });

  const reasons = [
    { ticket: 9001, says: "[sl]", closeReason: "stop_loss", gap: false },
    { ticket: 9003, says: "[sl/gap]", closeReason: "stop_loss", gap: true },
    { ticket: 9004, says: "Filled TP after a magic", closeReason: "take_profit", gap: false },
    { ticket: 9005, says: "Filled SL", closeReason: "stop_loss", gap: false },
    { ticket: 9006, says: "so: margin level", closeReason: "stop_out", gap: false },
    { ticket: 9007, says: "nothing", closeReason: "manual", gap: false },
    { ticket: 9008, says: "nothing, but closed at exactly its stop", closeReason: "stop_loss", gap: false },
  ] as const;
  for (const { ticket, says, closeReason, gap } of reasons) {
    test(`whose row says ${says} was closed by ${closeReason}`, () => {
      const position = byTicket(positions, ticket);
      assert.equal(position.closeReason, closeReason);
      assert.equal(position.gap, gap);
    });
  }

  const comments = [
    { ticket: 9001, where: "only the server's mark", magic: null, comment: "" },
    { ticket: 9002, where: "magic, text and mark in the title", magic: 4711, comment: "breakout" },
    { ticket: 9004, where: "magic, and the server replaced the text", magic: 4711, comment: "" },
    { ticket: 9007, where: "a row of its own under the trade", magic: 4712, comment: "by the evening" },
    { ticket: 9008, where: "a title with entities", magic: null, comment: "Tom & Jerry <3" },
    { ticket: 9009, where: "magic alone", magic: 4711, comment: "" },
    { ticket: 9010, where: "a number that is no magic", magic: null, comment: "#99999999999 too large for a magic" },
  ] as const;
  for (const { ticket, where, magic, comment } of comments) {
    test(`has its comment from: ${where}`, () => {
      const position = byTicket(positions, ticket);
      assert.equal(position.magic, magic);
      assert.equal(position.comment, comment);
    });
  }
});

describe("a pending order", () => {
  const { pendings, working, open } = readFixture("comments.htm");

  test("in the history has price, outcome and the market price at its removal", () => {
    const { kind, price, marketPrice, reason, reasonText, removedTimeMs, stopLoss, takeProfit, magic, comment } = byTicket(pendings, 9011);
    assert.deepEqual(
      { kind, price, marketPrice, reason, reasonText, removed: timeText(removedTimeMs), stopLoss, takeProfit, magic, comment },
      { kind: "buy_limit", price: 108_000, marketPrice: 108_300, reason: "cancelled", reasonText: "cancelled", removed: "2024-06-03T13:00:00", stopLoss: 107_900, takeProfit: 108_200, magic: 4711, comment: "dip" },
    );
  });
  test("may have expired", () => {
    const { kind, reason, reasonText, comment } = byTicket(pendings, 9012);
    assert.deepEqual({ kind, reason, reasonText, comment }, { kind: "sell_limit", reason: "expired", reasonText: "expiration [2024.06.03 14:00]", comment: "" });
  });
  test("may have been deleted for want of money", () => {
    const { kind, reason, reasonText, comment } = byTicket(pendings, 9013);
    assert.deepEqual({ kind, reason, reasonText, comment }, { kind: "buy_stop", reason: "deleted", reasonText: "deleted [no money]", comment: "" });
  });
  test("that ended with words of another language counts as cancelled and keeps the words", () => {
    const { kind, reason, reasonText, comment } = byTicket(pendings, 9014);
    assert.deepEqual({ kind, reason, reasonText, comment }, { kind: "sell_stop", reason: "cancelled", reasonText: "zurückgezogen", comment: "low" });
  });
  test("that still works has the market price across two columns", () => {
    const { kind, price, marketPrice, magic, comment } = byTicket(working, 9016);
    assert.deepEqual({ kind, price, marketPrice, magic, comment }, { kind: "buy_limit", price: 107_700, marketPrice: 108_312, magic: 4711, comment: "dip" });
  });
  test("is told from an open trade by its type, and that from a closed one by its missing close time", () => {
    const { side, openPrice, marketPrice, comment } = byTicket(open, 9015);
    assert.deepEqual({ side, openPrice, marketPrice, comment }, { side: "sell", openPrice: 108_300, marketPrice: 108_312, comment: "swing" });
  });
});

describe("chains of part-closes", () => {
  const statement = readFixture("chains.htm");

  test("are joined over three rows although the middle one lost its `from #`", () => {
    const links = [9101, 9105, 9109].map((ticket) => byTicket(statement.positions, ticket)).map(({ chainFrom, chainTo }) => [chainFrom, chainTo]);
    assert.deepEqual(links, [[null, 9105], [9101, 9109], [9105, null]]);
  });
  test("end in a stop whose mark follows the `from #`", () => {
    const { closeReason, gap, comment } = byTicket(statement.positions, 9109);
    assert.deepEqual({ closeReason, gap, comment }, { closeReason: "stop_loss", gap: true, comment: "" });
  });
  test("reach into the open trades, and a part closed at the target's price is still a part-close", () => {
    assert.equal(byTicket(statement.open, 9112).chainFrom, 9110);
    assert.equal(byTicket(statement.positions, 9110).chainTo, 9112);
    assert.equal(byTicket(statement.positions, 9110).closeReason, "manual");
  });
  test("are counted by part-closes", () => assert.equal(statement.chains, 3));
  test("that name a missing or an unlike ticket are left as ordinary positions and named", () => {
    assert.deepEqual(statement.unresolvedChains, [9120, 9121]);
    const { chainFrom, chainTo } = byTicket(statement.positions, 9121);
    assert.deepEqual([chainFrom, chainTo], [null, null]);
    assert.equal(byTicket(statement.positions, 9130).chainFrom, null);
  });
});

describe("rows that are no trade", () => {
  const statement = readFixture("bookings.htm");

  test("are counted by kind; titles, headers and totals are not", () => {
    assert.deepEqual(statement.ignored, { balance: 2, credit: 1, "close by": 2, "zero volume": 1 });
    assert.deepEqual(statement.positions.map(({ ticket }) => ticket), [9203, 9204]);
  });
  test("do not take part in the statement's range of time", () => {
    assert.equal(summarise(statement).from, "2024-06-03T08:00:00");
  });
  test("a type that names an object's own property is counted like any other", () => {
    const html = new TextDecoder().decode(fixtureBytes("bookings.htm")).replaceAll("<td>credit</td>", "<td>__proto__</td>");
    const { ignored } = readStatement(new TextEncoder().encode(html), "x.htm");
    assert.deepEqual(Object.entries(ignored).find(([kind]) => kind === "__proto__"), ["__proto__", 1]);
  });
});

test("blanks of every kind mark thousands, and a symbol has the most digits any row shows", () => {
  const { positions, symbols } = readFixture("bookings.htm");
  const { volume, digits, openPrice, stopLoss, closePrice } = byTicket(positions, 9203);
  assert.deepEqual({ volume, digits, openPrice, stopLoss, closePrice }, { volume: 100_000_000_000, digits: 2, openPrice: 3_901_250, stopLoss: 3_890_000, closePrice: 3_950_025 });
  assert.deepEqual(symbols, [{ symbol: "us30", digits: 2 }]);
});

test("a Russian statement in windows-1251 without the Taxes column, price styles or bold titles", () => {
  const { positions, open, pendings, working } = readFixture("russian-1251.htm");
  assert.equal(byTicket(positions, 9301).comment, "пробой");
  assert.equal(byTicket(positions, 9301).closeReason, "take_profit");
  assert.equal(byTicket(pendings, 9302).reason, "cancelled");
  assert.equal(byTicket(open, 9303).marketPrice, 108_590);
  assert.equal(byTicket(working, 9304).price, 109_100);
});

test("a German statement in UTF-16 with a byte order mark", () => {
  const statement = readFixture("german-utf16.htm");
  assert.deepEqual(summarise(statement), {
    format: "mt4-html",
    positions: 1,
    open: 0,
    pendings: 0,
    working: 0,
    chains: 0,
    ignored: { balance: 1 },
    symbols: ["XAUUSD"],
    from: "2024-06-03T08:00:00",
    to: "2024-06-03T09:00:00",
  });
  assert.equal(byTicket(statement.positions, 9401).comment, "Größe");
  assert.equal(byTicket(statement.positions, 9401).openPrice, 234_510);
});

test("a build of 2009: tags left open, times without seconds, comments in rows of two empty cells and a text", () => {
  const { positions, chains } = readFixture("old-build.htm");
  assert.deepEqual(positions.map(({ ticket, chainFrom, chainTo, closeReason }) => ({ ticket, chainFrom, chainTo, closeReason })), [
    { ticket: 501, chainFrom: null, chainTo: 502, closeReason: "manual" },
    { ticket: 502, chainFrom: 501, chainTo: null, closeReason: "stop_loss" },
  ]);
  assert.equal(chains, 1);
});

test("an account without any trade is a statement without times", () => {
  const { positions, from, to, symbols } = summarise(readFixture("empty-account.htm"));
  assert.deepEqual({ positions, from, to, symbols }, { positions: 0, from: null, to: null, symbols: [] });
});

test("a title that is not bold is not taken for the comment of the trade above it", () => {
  const html = new TextDecoder("windows-1251").decode(fixtureBytes("russian-1251.htm"));
  const row = /<tr align=right><td title="пробой\[tp\]">9301.*<\/tr>\n/.exec(html)?.[0].replace(/ title="[^"]*"/, "").replace("9301", "9309") ?? "";
  const title = "<tr align=left><td colspan=13>Открытые позиции:</td></tr>\n";
  assert.ok(html.includes(title) && row !== "");
  const { positions } = readStatement(new TextEncoder().encode(html.replace("; charset=windows-1251", "").replace(title, row + title)), "x.htm");
  assert.equal(byTicket(positions, 9309).comment, "");
});
