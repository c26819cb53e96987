// Owns the check against real statements. They are nobody's to hand on, so they lie next to the
// repository, if at all.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readStatement } from "../../../ops/statement/read.ts";
import { summarise } from "../../../ops/statement/summary.ts";
import type { StatementSummary } from "../../../ops/statement/summary.ts";
import type { Statement } from "../../../ops/statement/model.ts";
import { byTicket, realFolder } from "./fixture.ts";

const skip = existsSync(realFolder) ? false : `no real statements at ${realFolder}`;
const read = (file: string): Statement => readStatement(readFileSync(join(realFolder, file)), file);

const EXPECTED: Readonly<Record<string, Omit<StatementSummary, "symbols">>> = {
  "mt4-statement-partial-closes.htm": { format: "mt4-html", positions: 66, open: 0, pendings: 10, working: 0, chains: 2, ignored: {}, from: "2019-04-19T02:04:33", to: "2019-09-20T21:28:48" },
  "mt4-statement-suffix.htm": { format: "mt4-html", positions: 42, open: 0, pendings: 0, working: 0, chains: 0, ignored: { balance: 3 }, from: "2020-02-10T01:34:29", to: "2020-02-24T05:01:26" },
  "mt4-statement-rewritten-comments.htm": { format: "mt4-html", positions: 10, open: 2, pendings: 5, working: 0, chains: 0, ignored: { balance: 1 }, from: "2024-03-12T10:22:28", to: "2024-03-19T12:12:05" },
  "mt5-report-history.xlsx": { format: "mt5-xlsx", positions: 9, open: 1, pendings: 10, working: 0, chains: 0, ignored: { "market order": 14, deal: 17, balance: 1 }, from: "2025-04-15T17:11:31", to: "2025-05-12T16:51:03" },
};

for (const [file, expected] of Object.entries(EXPECTED)) {
  test(`${file} holds what a count by hand gives`, { skip }, () => {
    const { symbols, ...rest } = summarise(read(file));
    assert.ok(symbols.length > 0);
    assert.deepEqual(rest, expected);
  });
}

test("the real chains are joined, one of them ending in a gap over its stop", { skip }, () => {
  const { positions, unresolvedChains } = read("mt4-statement-partial-closes.htm");
  assert.deepEqual(unresolvedChains, []);
  assert.equal(byTicket(positions, 10_884_298).chainTo, 10_888_957);
  const { chainFrom, closeReason, gap } = byTicket(positions, 10_901_601);
  assert.deepEqual({ chainFrom, closeReason, gap }, { chainFrom: 10_879_500, closeReason: "stop_loss", gap: true });
});

test("comments that a real broker replaced by `Filled SL` still say why", { skip }, () => {
  const { positions } = read("mt4-statement-rewritten-comments.htm");
  const { magic, comment, closeReason } = byTicket(positions, 27_830_182);
  assert.deepEqual({ magic, comment, closeReason }, { magic: 2_022_052_714, comment: "", closeReason: "stop_loss" });
});

test("a broker that writes no marks still closes at exactly the stop", { skip }, () => {
  const { positions } = read("mt4-statement-suffix.htm");
  assert.equal(byTicket(positions, 233_041_883).closeReason, "stop_loss");
  assert.equal(positions.filter(({ closeReason }) => closeReason !== "manual").length, 3);
});

test("a real MT5 report: three of its pendings were filled and are positions, and a stop-out is known by its order", { skip }, () => {
  const { positions, open, pendings, filledPendings, symbols } = read("mt5-report-history.xlsx");
  assert.deepEqual(filledPendings.map(({ ticket, filledAs, kind }) => [ticket === filledAs, kind]), [[true, "buy_limit"], [true, "buy_limit"], [true, "sell_limit"]]);
  for (const { filledAs, filledTimeMs, price } of filledPendings) {
    const { openTimeMs, openPrice } = byTicket(positions, filledAs ?? 0);
    assert.deepEqual([openTimeMs, openPrice], [filledTimeMs, price]);
  }
  assert.deepEqual(pendings.map(({ reason }) => reason), Array.from({ length: 7 }, () => "cancelled"));
  assert.deepEqual(positions.map(({ closeReason }) => closeReason), ["take_profit", "take_profit", "stop_loss", "stop_loss", "manual", "manual", "take_profit", "manual", "stop_out"]);
  assert.equal(open[0]?.comment.length, 31);
  assert.equal(symbols.length, 7);
});
