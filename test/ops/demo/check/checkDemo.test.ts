// Owns the tests of the verdict on a copier that keeps the rules, and of the report's numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EVERYTHING, ONE, PENDING, playEverything, playOne, playPending, staged } from "./script.ts";
import { EUR } from "./theatre.ts";

test("a copier that keeps the rules is found right, and its doings are counted", () => {
  const { theatre } = staged(EVERYTHING);
  playEverything(theatre);
  const { followers, violations, verdict } = theatre.report();
  assert.deepEqual(violations, []);
  assert.equal(verdict, "ok");
  const counts = followers.map(({ id, copied, partClosed, modified, pendings, openAtEnd, skipped }) => [id, copied, partClosed, modified, pendings, openAtEnd, skipped]);
  // The last stop is nearer to the market than f2 (a digit less) and f4 (a stop level) allow.
  assert.deepEqual(counts, [
    ["f1", 4, 2, 3, 2, 1, { price_moved: 1, gone_before_copy: 1 }],
    ["f2", 5, 2, 2, 2, 1, { gone_before_copy: 1 }],
    ["f3", 3, 2, 2, 2, 1, { volume_below_minimum: 1, price_moved: 1, gone_before_copy: 1 }],
    ["f4", 4, 2, 2, 2, 1, { price_moved: 1, gone_before_copy: 1 }],
    ["f5", 3, 2, 3, 2, 1, { symbol_unknown: 1, price_moved: 1, gone_before_copy: 1 }],
    ["f6", 4, 2, 3, 0, 1, { pendings_off: 2, price_moved: 1, gone_before_copy: 1 }],
  ]);
  assert.deepEqual(followers.map(({ platform }) => platform), ["mt4", "mt4", "mt4", "mt4", "mt5", "mt5"]);
  assert.ok(followers.every(({ duplicates, missing, wrongVolume, unjustifiedSkips }) => duplicates + missing + wrongVolume + unjustifiedSkips === 0));
});

for (const [name, statement, play] of [["one trade", ONE, playOne], ["one pending", PENDING, playPending]] as const) {
  test(`the plays that the broken copiers get are right without them: ${name}`, () => {
    const { theatre } = staged(statement);
    play(theatre);
    assert.deepEqual(theatre.report().violations, []);
  });
}

test("what happens within the grace is not judged: stops and part-closes that follow each other at once", () => {
  const { theatre } = staged(ONE);
  const first = theatre.open(201, EUR, "buy", "0.40");
  theatre.pass(30);
  theatre.modify(first, 107_000, null);
  const rest = theatre.partClose(first, "0.20");
  theatre.modify(rest, 108_000, null);
  theatre.pass(30);
  theatre.close(rest);
  theatre.rest();
  assert.deepEqual(theatre.report().violations, []);
});

test("an empty log is no proof of anything", () => {
  const { theatre } = staged(ONE);
  const rules = new Set(theatre.report({ log: [], rows: [] }).violations.map(({ rule }) => rule));
  assert.deepEqual(rules, new Set(["log-integrity", "master-missing"]));
});
