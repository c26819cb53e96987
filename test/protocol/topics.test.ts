// Owns the cases about topics: names, settings, and the partition of a key, which is fixed for ever.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bootId, cellId, nodeId } from "../../protocol/ids.ts";
import { partitionOf, tickGroup, topicName, topicSpecs, writersGroup } from "../../protocol/topics.ts";

describe("the partition of a key", () => {
  // These values are on disks: a change here would move keys and break their order.
  const golden = [
    { key: "", of12: 1, of7: 2, of64: 5 },
    { key: "a", of12: 4, of7: 5, of64: 44 },
    { key: "master-1", of12: 1, of7: 3, of64: 17 },
    { key: "master-2", of12: 4, of7: 2, of64: 24 },
    { key: "follower-100", of12: 1, of7: 2, of64: 5 },
    { key: "Zürich", of12: 8, of7: 6, of64: 32 },
  ];
  for (const { key, of12, of7, of64 } of golden) {
    test(`${JSON.stringify(key)} is in ${of12} of 12, ${of7} of 7, ${of64} of 64`, () => {
      assert.deepEqual([partitionOf(key, 12), partitionOf(key, 7), partitionOf(key, 64)], [of12, of7, of64]);
    });
  }

  test("the hash is FNV-1a: its published value for foobar", () => assert.equal(partitionOf("foobar", 2 ** 32), 0xbf9cf968));

  test("one partition takes every key", () => {
    for (let n = 0; n < 100; n++) assert.equal(partitionOf(`key-${n}`, 1), 0);
  });

  for (const partitions of [4, 12, 16]) {
    test(`1,200 accounts are spread over ${partitions} partitions within a quarter of the even share`, () => {
      const counts = Array<number>(partitions).fill(0);
      for (let n = 0; n < 1_200; n++) {
        const partition = partitionOf(`follower-${n}`, partitions);
        counts[partition] = (counts[partition] ?? NaN) + 1;
      }
      const share = 1_200 / partitions;
      for (const [partition, count] of counts.entries()) assert.ok(count > 0.75 * share && count < 1.25 * share, `partition ${partition} has ${count}`);
    });
  }
});

describe("topics and groups of a cell", () => {
  const cell = cellId("demo");

  test("names carry the cell, so that cells never meet", () => {
    assert.equal(topicName(cell, "master-ticks"), "lockstep.demo.master-ticks");
    assert.equal(writersGroup(cell), "lockstep.demo.writers");
    assert.equal(tickGroup(cell, nodeId("n1"), bootId("b7")), "lockstep.demo.ticks.n1.b7");
  });

  test("books are compacted and kept for ever; the rest is deleted in time", () => {
    const specs = topicSpecs(cell, 12);
    assert.deepEqual(
      specs.map(({ name, cleanup, retentionMs }) => [name, cleanup, retentionMs]),
      [
        ["lockstep.demo.master-ticks", "delete", 604_800_000],
        ["lockstep.demo.master-books", "compact", null],
        ["lockstep.demo.pair-events", "delete", 604_800_000],
        ["lockstep.demo.replay", "delete", 1_209_600_000],
      ],
    );
    assert.ok(specs.every((spec) => spec.partitions === 12));
  });
});
