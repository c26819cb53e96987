// Owns the cases of symbols' spellings and of prices across brokers.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { pointsAgainst, sameStops, stopsAt, worstPrice } from "../../../actors/core/prices.ts";
import { followerSymbol } from "../../../actors/core/symbols.ts";
import type { SymbolRules } from "../../../protocol/accounts.ts";
import type { SymbolName } from "../../../protocol/ids.ts";
import { points, quote } from "./examples.ts";

describe("the follower's spelling of a symbol", () => {
  const rules = (more: Partial<SymbolRules> = {}): SymbolRules => ({ masterPrefix: "", masterSuffix: "", followerPrefix: "", followerSuffix: "", map: {}, ...more });
  const spelt = (master: string, more?: Partial<SymbolRules>): string => followerSymbol(rules(more), master as SymbolName);

  test("without rules it stays", () => assert.equal(spelt("EURUSD"), "EURUSD"));
  test("the master's suffix comes off and the follower's is put on", () => assert.equal(spelt("EURUSD.", { masterSuffix: ".", followerSuffix: "-2" }), "EURUSD-2"));
  test("prefixes likewise", () => assert.equal(spelt("m.GOLD", { masterPrefix: "m.", followerPrefix: "X" }), "XGOLD"));
  test("a symbol that has not the master's suffix only gets the follower's", () => assert.equal(spelt("US500", { masterSuffix: ".", followerSuffix: ".Z" }), "US500.Z"));
  test("an exact entry of the map overrules the rest", () => assert.equal(spelt("XAUUSD@", { masterSuffix: "@", followerSuffix: ".Z", map: { "XAUUSD@": "GOLD" as SymbolName } }), "GOLD"));
  test("a symbol that is nothing but its suffix keeps it", () => assert.equal(spelt("m", { masterSuffix: "m" }), "m"));
  test("a name such as `constructor` is no entry of the map", () => assert.equal(spelt("constructor"), "constructor"));
});

describe("prices across brokers", () => {
  test("stops are told in the follower's digits, rounded half up", () => {
    assert.deepEqual(stopsAt({ digits: 4 }, { digits: 5, stopLoss: points(109_005), takeProfit: points(111_004) }), { stopLoss: 10_901, takeProfit: 11_100 });
    assert.deepEqual(stopsAt({ digits: 5 }, { digits: 3, stopLoss: points(1_100), takeProfit: null }), { stopLoss: 110_000, takeProfit: null });
  });
  test("stops are the same only when both are", () => {
    assert.ok(sameStops({ stopLoss: points(1), takeProfit: null }, { stopLoss: points(1), takeProfit: null }));
    assert.ok(!sameStops({ stopLoss: points(1), takeProfit: null }, { stopLoss: points(1), takeProfit: points(2) }));
  });
  test("a buyer looks at the ask, a seller at the bid; better prices count below zero", () => {
    assert.equal(pointsAgainst("buy", points(110_000), quote(109_990, 110_010)), 10);
    assert.equal(pointsAgainst("sell", points(110_000), quote(109_990, 110_010)), 10);
    assert.equal(pointsAgainst("buy", points(110_000), quote(109_900)), -100);
  });
  test("the worst price is on the side that hurts", () => {
    assert.equal(worstPrice("buy", points(110_000), 50), 110_050);
    assert.equal(worstPrice("sell", points(110_000), 50), 109_950);
  });
});
