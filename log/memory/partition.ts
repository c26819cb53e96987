// Owns the records of one partition: append, read, retention, compaction. Time is passed in.
//
// 1. Offsets rise by one at each append and are never given twice.
// 2. `start` only rises. Retention and trimming move it; compaction leaves holes behind it instead.
// 3. Of a key the newest record survives compaction, and the partition's last record always does:
//    a reader that waits for the offset before the end is never left waiting.
// 4. Neither the count nor the bytes exceed their bound; a compacted partition refuses rather than
//    forgets a living key.

import { LockstepError } from "../../protocol/errors.ts";
import type { LogRecord, PartitionBounds } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import type { MemoryLogLimits } from "./limits.ts";

/** How much of a full partition goes at once: letting single records go would move all the others each time. */
const LET_GO_SHARE = 0.1;

export class Partition {
  readonly spec: TopicSpec;
  readonly index: number;
  readonly #limits: MemoryLogLimits;
  #records: LogRecord[] = [];
  #start = 0;
  #end = 0;
  #bytes = 0;
  #compactAt: number;

  constructor(spec: TopicSpec, index: number, limits: MemoryLogLimits) {
    this.spec = spec;
    this.index = index;
    this.#limits = limits;
    this.#compactAt = limits.compactAtRecords;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** What is held now: for tests and metrics. */
  get held(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records.length, bytes: this.#bytes };
  }

  bounds(): PartitionBounds {
    return { partition: this.index, start: this.#start, end: this.#end };
  }

  /** @throws LockstepError `full` (compacted partitions only), `invalid_value` for a record that is too large. */
  append(key: string, value: Uint8Array | null, nowMs: number): void {
    const bytes = sizeOf(key, value);
    if (bytes > this.#limits.maxRecordBytes) {
      throw new LockstepError("invalid_value", `record of ${bytes} bytes for ${this.#name}, expected at most ${this.#limits.maxRecordBytes}`);
    }
    this.expire(nowMs);
    if (this.spec.cleanup === "compact") this.#makeRoomByCompaction(key, bytes, nowMs);
    else this.#makeRoom(bytes);
    this.#records.push({ topic: this.spec.name, partition: this.index, offset: this.#end, key, value, timestampMs: nowMs });
    this.#end += 1; // 1
    this.#bytes += bytes;
  }

  /** The records from `from` on, within a batch's bounds; at least one where there is one. */
  read(from: number, maxRecords: number, maxBytes: number): readonly LogRecord[] {
    const first = this.#indexOf(from);
    let after = first;
    let bytes = 0;
    while (after < this.#records.length && after - first < maxRecords) {
      const record = this.#records[after] as LogRecord;
      bytes += sizeOf(record.key, record.value);
      if (bytes > maxBytes && after > first) break;
      after += 1;
    }
    return this.#records.slice(first, after);
  }

  /** The first record made at that time or later. */
  since(wallMs: number): number {
    return this.#records.find((record) => record.timestampMs >= wallMs)?.offset ?? this.#end;
  }

  /** Lets go what is older than the topic's retention. */
  expire(nowMs: number): void {
    const { retentionMs } = this.spec;
    if (retentionMs === null) return;
    const young = this.#records.findIndex((record) => record.timestampMs + retentionMs > nowMs);
    this.#letGo(young === -1 ? this.#records.length : young);
  }

  /** Lets go what is below `offset`. @throws LockstepError `invalid_value` for a compacted partition: its holes are no gaps. */
  trim(offset: number): void {
    if (this.spec.cleanup === "compact") throw new LockstepError("invalid_value", `${this.#name} is compacted, it is not trimmed`);
    this.#letGo(this.#indexOf(offset));
  }

  /** Keeps the newest record of each key, and drops tombstones that lived long enough. Returns how many went. */
  compact(nowMs: number): number {
    const newest = new Map<string, number>();
    for (const record of this.#records) newest.set(record.key, record.offset);
    const before = this.#records.length;
    const last = this.#end - 1;
    const dead = (record: LogRecord) => record.value === null && record.timestampMs + this.#limits.tombstoneMs <= nowMs;
    this.#records = this.#records.filter((record) => newest.get(record.key) === record.offset && (record.offset === last || !dead(record))); // 3
    this.#bytes = this.#records.reduce((sum, record) => sum + sizeOf(record.key, record.value), 0);
    this.#compactAt = Math.max(this.#limits.compactAtRecords, 2 * this.#records.length);
    return before - this.#records.length;
  }

  get #name(): string {
    return `${this.spec.name}/${this.index}`;
  }

  #isFull(bytes: number): boolean {
    return this.#records.length + 1 > this.#limits.maxRecordsPerPartition || this.#bytes + bytes > this.#limits.maxBytesPerPartition; // 4
  }

  #makeRoom(bytes: number): void {
    while (this.#isFull(bytes) && this.#records.length > 0) this.#letGo(Math.ceil(this.#records.length * LET_GO_SHARE));
  }

  #makeRoomByCompaction(key: string, bytes: number, nowMs: number): void {
    if (this.#isFull(bytes) || this.#records.length >= this.#compactAt) this.compact(nowMs);
    if (!this.#isFull(bytes)) return;
    // After a compaction a key has one record, and the one that is being appended takes its place.
    const replaced = this.#records.findIndex((record) => record.key === key);
    const freed = this.#records[replaced];
    if (freed === undefined || this.#bytes - sizeOf(freed.key, freed.value) + bytes > this.#limits.maxBytesPerPartition) {
      throw new LockstepError("full", `${this.#name} is full of living keys: ${this.#records.length} records, ${this.#bytes} bytes`);
    }
    this.#records.splice(replaced, 1);
    this.#bytes -= sizeOf(freed.key, freed.value);
  }

  #letGo(count: number): void {
    if (count === 0) return;
    for (const record of this.#records.splice(0, count)) this.#bytes -= sizeOf(record.key, record.value);
    this.#start = this.#records[0]?.offset ?? this.#end; // 2
  }

  /** The index of the first record at or above `offset`; offsets have holes after a compaction. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#records[middle] as LogRecord).offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sizeOf(key: string, value: Uint8Array | null): number {
  return Buffer.byteLength(key) + (value?.length ?? 0);
}
