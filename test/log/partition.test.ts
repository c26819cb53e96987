// Owns the cases about one partition's bounds, retention and compaction, with time passed in.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { MEMORY_LOG_LIMITS, type MemoryLogLimits } from "../../log/memory/limits.ts";
import { Partition } from "../../log/memory/partition.ts";

const partition = (cleanup: "delete" | "compact", limits: Partial<MemoryLogLimits> = {}, retentionMs: number | null = null): Partition =>
  new Partition({ name: "topic", partitions: 1, cleanup, retentionMs }, 0, { ...MEMORY_LOG_LIMITS, ...limits });

const value = (bytes: number): Uint8Array => new Uint8Array(bytes);
const offsets = (of: Partition, from = 0): number[] => of.read(from, Infinity, Infinity).map((record) => record.offset);
const keys = (of: Partition): string[] => of.read(0, Infinity, Infinity).map((record) => record.key);

describe("retention of a partition", () => {
  test("records older than the retention go, and the start moves to the oldest that is left", () => {
    const kept = partition("delete", {}, 1_000);
    for (const nowMs of [0, 400, 800]) kept.append("k", value(1), nowMs);
    kept.expire(999);
    assert.equal(kept.start, 0);
    kept.expire(1_400);
    assert.deepEqual([kept.start, kept.end, offsets(kept)], [2, 3, [2]]);
    kept.expire(1_800);
    assert.deepEqual([kept.start, kept.end, offsets(kept)], [3, 3, []]);
  });

  test("an append lets go what has become too old", () => {
    const kept = partition("delete", {}, 1_000);
    kept.append("k", value(1), 0);
    kept.append("k", value(1), 2_000);
    assert.deepEqual(offsets(kept), [1]);
  });

  test("10,000 records in a partition of 1,000: the newest are kept, never more than the bound", () => {
    const kept = partition("delete", { maxRecordsPerPartition: 1_000 });
    for (let n = 0; n < 10_000; n++) {
      kept.append(`k${n}`, value(10), n);
      assert.ok(kept.held.records <= 1_000);
    }
    assert.ok(kept.held.records >= 900, `${kept.held.records} records`);
    assert.equal(kept.end, 10_000);
    assert.equal(kept.start, 10_000 - kept.held.records);
  });

  test("the bound on bytes holds as well", () => {
    const kept = partition("delete", { maxBytesPerPartition: 50_000 });
    for (let n = 0; n < 1_000; n++) {
      kept.append("key", value(997), n);
      assert.ok(kept.held.bytes <= 50_000);
    }
    assert.ok(kept.held.bytes >= 44_000, `${kept.held.bytes} bytes`);
  });

  test("a record over the record bound is refused and changes nothing", () => {
    const kept = partition("delete", { maxRecordBytes: 100 });
    assert.throws(() => kept.append("k", value(100), 0), { code: "invalid_value" });
    assert.equal(kept.end, 0);
    kept.append("k", value(99), 0);
    assert.equal(kept.end, 1);
  });

  test("trimming beyond the end goes to the end, and never back", () => {
    const kept = partition("delete");
    for (let n = 0; n < 3; n++) kept.append("k", value(1), 0);
    kept.trim(99);
    assert.equal(kept.start, 3);
    kept.trim(1);
    assert.equal(kept.start, 3);
  });

  test("a compacted partition is not trimmed", () => assert.throws(() => partition("compact").trim(1), { code: "invalid_value" }));
});

describe("compaction of a partition", () => {
  test("the newest record of a key survives at its offset, and the start stays", () => {
    const compacted = partition("compact");
    for (const key of ["a", "b", "a", "c", "b"]) compacted.append(key, value(1), 0);
    assert.equal(compacted.compact(0), 2);
    assert.deepEqual([keys(compacted), offsets(compacted)], [["a", "c", "b"], [2, 3, 4]]);
    assert.deepEqual([compacted.start, compacted.end], [0, 5]);
    assert.deepEqual(offsets(compacted, 1), [2, 3, 4], "a position inside a hole reads on after it");
  });

  test("a tombstone lives its time, then goes; as the last record it stays, so that the end can be read", () => {
    const compacted = partition("compact", { tombstoneMs: 1_000 });
    compacted.append("a", value(1), 0);
    compacted.append("a", null, 100);
    compacted.append("b", value(1), 200);
    compacted.append("b", null, 300);
    compacted.compact(1_099);
    assert.deepEqual(offsets(compacted), [1, 3]);
    compacted.compact(9_999);
    assert.deepEqual(offsets(compacted), [3]);
  });

  test("it compacts by itself: 10,000 updates of 10 keys never hold more than the threshold", () => {
    const compacted = partition("compact", { compactAtRecords: 100 });
    for (let n = 0; n < 10_000; n++) {
      compacted.append(`k${n % 10}`, value(1), n);
      assert.ok(compacted.held.records <= 100);
    }
    assert.deepEqual(new Set(keys(compacted)).size, 10);
    assert.equal(compacted.start, 0);
  });

  test("full of living keys it refuses a new one, and still takes an update or a tombstone of an old one", () => {
    const compacted = partition("compact", { maxRecordsPerPartition: 3 });
    for (const key of ["a", "b", "c"]) compacted.append(key, value(1), 0);
    assert.throws(() => compacted.append("d", value(1), 0), { code: "full" });
    assert.deepEqual(keys(compacted), ["a", "b", "c"]);
    compacted.append("b", value(2), 0);
    compacted.append("a", null, 0);
    assert.deepEqual([keys(compacted), compacted.end], [["c", "b", "a"], 5]);
  });

  test("an update that is too large for the room it frees is refused, and the old value stays", () => {
    const compacted = partition("compact", { maxBytesPerPartition: 100 });
    compacted.append("a", value(40), 0);
    compacted.append("b", value(40), 0);
    assert.throws(() => compacted.append("a", value(80), 0), { code: "full" });
    assert.deepEqual(keys(compacted), ["a", "b"]);
  });

  test("whatever was written in whatever order: every living key's newest value is there, offsets rise, bounds hold", () => {
    const write = fc.record({ key: fc.constantFrom("a", "b", "c", "d"), alive: fc.boolean(), compact: fc.boolean() });
    fc.assert(
      fc.property(fc.array(write, { maxLength: 60 }), (writes) => {
        const compacted = partition("compact", { compactAtRecords: 8, maxRecordsPerPartition: 10, tombstoneMs: 5 });
        const newest = new Map<string, number>();
        for (const [nowMs, { key, alive, compact }] of writes.entries()) {
          compacted.append(key, alive ? value(1) : null, nowMs);
          if (alive) newest.set(key, nowMs);
          else newest.delete(key);
          if (compact) compacted.compact(nowMs);
          assert.ok(compacted.held.records <= 10);
        }
        const records = compacted.read(0, Infinity, Infinity);
        for (const [key, offset] of newest) assert.ok(records.some((record) => record.key === key && record.offset === offset), `${key} at ${offset}`);
        assert.deepEqual(offsets(compacted), [...offsets(compacted)].sort((a, b) => a - b));
        if (writes.length > 0) assert.equal(offsets(compacted).at(-1), writes.length - 1);
      }),
    );
  });
});

describe("reading a partition", () => {
  test("a batch keeps within its count and bytes, but always has one record where there is one", () => {
    const read = partition("delete");
    for (let n = 0; n < 10; n++) read.append("", value(100), 0);
    assert.equal(read.read(0, 4, Infinity).length, 4);
    assert.equal(read.read(0, Infinity, 250).length, 2);
    assert.equal(read.read(0, Infinity, 50).length, 1);
    assert.equal(read.read(10, Infinity, Infinity).length, 0);
  });
});
