// Owns the tests of the checker's own arithmetic, in numbers worked out by hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFAULT_LINK_SETTINGS, type LinkSettings } from "../../../../protocol/accounts.ts";
import { symbolName, type SymbolName } from "../../../../protocol/ids.ts";
import type { Points } from "../../../../protocol/units.ts";
import type { BrokerSymbol } from "../../../../ops/broker/accounts.ts";
import { levelsAreValid, NO_LEVELS, pendingPriceIsValid } from "../../../../ops/demo/check/limits.ts";
import { followerSymbol, looksTagged, playedTicket, taggedTicket } from "../../../../ops/demo/check/names.ts";
import { Patience } from "../../../../ops/demo/check/patience.ts";
import { pointsAgainst, QuoteBook, rescaled } from "../../../../ops/demo/check/prices.ts";
import { shareOf, sizeOf } from "../../../../ops/demo/check/sizing.ts";
import { agreed, periodsOf, restOf } from "../../../../ops/demo/check/periods.ts";
import { lots, points } from "./theatre.ts";

const symbol = (name: string, more: Partial<BrokerSymbol> = {}): BrokerSymbol => ({ symbol: symbolName(name), instrument: "eurusd", digits: 5, volumeMin: lots("0.01"), volumeStep: lots("0.01"), volumeMax: lots("10"), stopLevelPoints: 0, ...more });
const settings = (more: Partial<LinkSettings>): LinkSettings => ({ ...DEFAULT_LINK_SETTINGS, ...more });
const times = (factorMillionths: number, more: Partial<LinkSettings> = {}): LinkSettings => settings({ sizing: { mode: "multiplier", factorMillionths }, ...more });

describe("the size of a copy", () => {
  const size = (master: string, link: LinkSettings, grid: Partial<BrokerSymbol> = {}) => sizeOf(lots(master), link, symbol("x", grid));
  const volume = (text: string) => ({ kind: "volume", volume: lots(text) });

  test("is the master's times the factor, down to the grid", () => {
    assert.deepEqual(size("0.07", times(1_000_000)), volume("0.07"));
    assert.deepEqual(size("0.03", times(1_500_000)), volume("0.04"));
    assert.deepEqual(size("0.29", times(10_000_000), { volumeMin: lots("0.10"), volumeStep: lots("0.10") }), volume("2.90"));
  });
  test("stands on min + k * step, not on multiples of the step", () => assert.deepEqual(size("0.30", times(1_000_000), { volumeMin: lots("0.05"), volumeStep: lots("0.10") }), volume("0.25")));
  test("below the minimum is skipped, or is the minimum", () => {
    assert.deepEqual(size("0.01", times(500_000)), { kind: "below" });
    assert.deepEqual(size("0.01", times(500_000, { belowMinimum: "minimum" })), volume("0.01"));
  });
  test("above the maximum is skipped, or is the last volume of the grid", () => {
    assert.deepEqual(size("11", times(1_000_000, { aboveMaximum: "skip" })), { kind: "above" });
    assert.deepEqual(size("11", times(1_000_000), { volumeMax: lots("10.005") }), volume("10"));
  });
  test("of a fixed volume is that one", () => assert.deepEqual(size("3", settings({ sizing: { mode: "fixed", volume: lots("0.05") } })), volume("0.05")));
});

describe("the share of a copy", () => {
  const share = (held: string, master: string, copyInitial: string, masterInitial: string, grid: Partial<BrokerSymbol> = {}) =>
    shareOf(lots(held), lots(master), { copy: lots(copyInitial), master: lots(masterInitial) }, symbol("x", grid));

  test("comes from the initial volumes, down to the grid", () => {
    assert.equal(share("0.05", "0.20", "0.05", "0.30"), lots("0.03"));
    assert.equal(share("0.03", "0.10", "0.05", "0.30"), lots("0.01"));
  });
  test("is at least the minimum", () => assert.equal(share("0.02", "0.01", "0.02", "1.00"), lots("0.01")));
  test("stays where the part would be below the minimum", () => {
    const grid = { volumeMin: lots("0.03"), volumeStep: lots("0.01") };
    assert.equal(share("0.10", "0.08", "0.10", "0.10", grid), lots("0.10"));
    assert.equal(share("0.10", "0.07", "0.10", "0.10", grid), lots("0.07"));
  });
});

describe("prices", () => {
  test("are rounded half up into fewer digits, and exact in more", () => {
    assert.deepEqual([rescaled(points(108_444), 5, 4), rescaled(points(108_445), 5, 4), rescaled(points(10_850), 4, 5)], [10_844, 10_845, 108_500]);
  });
  test("are worse above for a buyer, below for a seller", () => assert.deepEqual([pointsAgainst("buy", points(100), points(103)), pointsAgainst("sell", points(100), points(103))], [3, -3]));

  const book = new QuoteBook();
  for (const [n, atMs, bid] of [[2, 100, 108_444], [5, 200, 108_500], [9, 300, 108_600]] as const) book.add("eurusd", 5, { n, atMs, bid: points(bid), ask: points(bid + 2) });
  const coarse = symbol("EURUSD", { digits: 4 });

  test("are those before an entry, in the symbol's digits", () => {
    assert.deepEqual([book.before(coarse, 2), book.before(coarse, 5)?.bid, book.before(coarse, 6)?.bid, book.before(symbol("x", { instrument: "gold" }), 6)], [null, 10_844, 10_850, null]);
  });
  test("are in force from their entry to the next", () => {
    const at = (fromMs: number, toMs: number): number[] => book.inForce(coarse, { fromMs, toMs }).map(({ n }) => n);
    assert.deepEqual([at(0, 99), at(150, 150), at(150, 250), at(300, 900)], [[], [2], [2, 5], [5, 9]]);
  });
});

describe("names", () => {
  test("a tag is whole, an s-comment too", () => {
    assert.deepEqual(["mc12", "mc012", "mc12x", " mc12", "mc", ""].map(taggedTicket), [12, null, null, null, null, null]);
    assert.deepEqual(["mc12[sl]", "mc12", "xmc12"].map(looksTagged), [true, true, false]);
    assert.deepEqual(["s12", "s12a", "12"].map(playedTicket), [12, null, null]);
  });
  test("a symbol loses the master's affixes, gets the follower's, and is found whatever its case", () => {
    const rules = { masterPrefix: "m.", masterSuffix: ".", followerPrefix: "", followerSuffix: ".r", map: { "m.gold.": "XAUUSD" as SymbolName } };
    const offered = new Map(["EURUSD.r", "XAUUSD", "dax.r", "Dax.r"].map((name) => [symbolName(name), symbol(name)]));
    const found = (master: string): string | null => followerSymbol(symbolName(master), rules, offered)?.symbol ?? null;
    assert.deepEqual([found("m.eurusd."), found("eurusd"), found("m.gold."), found("gbpusd"), found("dax"), found("DAX")], ["EURUSD.r", "EURUSD.r", "XAUUSD", null, "dax.r", null]);
  });
});

describe("what a broker must refuse", () => {
  const stop = (stopLoss: number | null, takeProfit: number | null) => ({ stopLoss: stopLoss as Points | null, takeProfit: takeProfit as Points | null });

  test("stops nearer than the level, or on the wrong side; at no level, at the market itself", () => {
    const valid = (levels: ReturnType<typeof stop>, side: "buy" | "sell", stopLevelPoints: number, standing = NO_LEVELS) => levelsAreValid(levels, standing, side, points(100), { stopLevelPoints });
    assert.deepEqual([valid(stop(97, 103), "buy", 3), valid(stop(98, 103), "buy", 3), valid(stop(97, 102), "buy", 3)], [true, false, false]);
    assert.deepEqual([valid(stop(103, 97), "sell", 3), valid(stop(97, 103), "sell", 3)], [true, false]);
    assert.deepEqual([valid(stop(99, 101), "buy", 0), valid(stop(100, null), "buy", 0), valid(stop(null, null), "buy", 0)], [true, false, true]);
    assert.equal(valid(stop(100, 110), "buy", 3, stop(100, null)), true, "what stands already is not judged again");
  });
  test("pending prices on the wrong side of the market, or too near", () => {
    const market = { n: 1, atMs: 1, bid: points(100), ask: points(102) };
    const valid = (kind: Parameters<typeof pendingPriceIsValid>[0], price: number) => pendingPriceIsValid(kind, points(price), market, { stopLevelPoints: 5 });
    assert.deepEqual([valid("buy_limit", 97), valid("buy_limit", 98), valid("buy_stop", 107), valid("buy_stop", 106)], [true, false, true, false]);
    assert.deepEqual([valid("sell_limit", 105), valid("sell_limit", 104), valid("sell_stop", 95), valid("sell_stop", 96)], [true, false, true, false]);
  });
});

describe("rest", () => {
  const plain = new Patience(500, []);
  const step = (n: number, atMs: number, value: string) => ({ n, atMs, value });
  const master = periodsOf([step(1, 0, "a"), step(2, 1000, "b"), step(3, 1100, "c")], null, 5000);

  test("is a period that is longer than the grace, within the copy's life", () => {
    const copy = { steps: [step(4, 100, "a")], end: { n: 9, atMs: 4000 } };
    assert.deepEqual(master.map((period) => restOf(period, copy, plain)), [{ fromMs: 100, toMs: 1000 }, null, { fromMs: 1100, toMs: 4000 }]);
  });
  test("is always what stands at the end of the log", () => {
    const [, , last] = master;
    assert.deepEqual(restOf(last ?? assert.fail(), { steps: [step(4, 4900, "c")], end: null }, plain), { fromMs: 4900, toMs: 5000 });
  });
  test("is kept by a value at any moment of it and the grace after, but at the end of the log only by the last", () => {
    const [first, , last] = master;
    const late = { steps: [step(4, 0, "x"), step(5, 1400, "a"), step(6, 1450, "c"), step(7, 3000, "x")], end: null };
    const judged = (period: typeof first, wanted: string): boolean => agreed(restOf(period ?? assert.fail(), late, plain) ?? assert.fail(), period ?? assert.fail(), late, plain, (value) => value === wanted);
    assert.deepEqual([judged(first, "a"), judged(first, "y"), judged(last, "c"), judged(last, "x")], [true, false, false, true]);
  });
});
