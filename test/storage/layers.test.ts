// Owns how batches are cut into layers, in small cases.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ticket } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import { layersOf } from "../../storage/layers.ts";
import { adopted, pairEvent } from "../contract/storageFixture.ts";

/** `m`: markers, the rest trades, one string per layer. */
function shape(events: readonly PairEvent[]): string[] {
  return layersOf(events).map((layer) => [...layer.markers.map((marker) => `m${marker.epoch}`), ...layer.rows.map((row) => `${row.pair.masterTicket}`)].join(" "));
}

const row = (trade: number) => pairEvent([1, 1], { masterTicket: ticket(trade) });

describe("layers", () => {
  test("different trades share a layer", () => assert.deepEqual(shape([row(1), row(2), row(3)]), ["1 2 3"]));
  test("one trade again opens the next layer", () => assert.deepEqual(shape([row(1), row(2), row(1), row(2), row(1)]), ["1 2", "1 2", "1"]));
  test("two openings of one trade are never in one layer", () => assert.deepEqual(shape([row(1), pairEvent([2, 1], { masterTicket: ticket(1), opening: 2 })]), ["1", "1"]));
  test("a marker comes before the rows after it and after the rows before it", () => assert.deepEqual(shape([row(1), adopted(2), row(2)]), ["1", "m2 2"]));
  test("a marker at the beginning needs no layer of its own", () => assert.deepEqual(shape([adopted(2), row(1)]), ["m2 1"]));
  test("markers in a row share a layer", () => assert.deepEqual(shape([row(1), adopted(2), adopted(3), row(1)]), ["1", "m2 m3 1"]));
  test("a marker at the end is not lost", () => assert.deepEqual(shape([row(1), row(1), adopted(2)]), ["1", "1", "m2"]));
  test("an empty batch has none", () => assert.deepEqual(shape([]), []));
});
