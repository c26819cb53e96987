// Owns the port of the event log: topics, partitions, groups and offsets. Kafka and its in-memory
// twin stand behind it and pass one contract suite.

import type { TopicSpec } from "../topics.ts";

export interface LogRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  /** Null is a tombstone. */
  readonly value: Uint8Array | null;
  readonly timestampMs: number;
}

export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** `start`: the first offset still there. `end`: the offset the next record gets. */
export interface PartitionBounds {
  readonly partition: number;
  readonly start: number;
  readonly end: number;
}

export interface Position {
  readonly topic: string;
  readonly partition: number;
  /** The next offset to be read. */
  readonly offset: number;
}

/** `full`: the buffer's bound is reached, the record was not taken. */
export type AppendResult = "accepted" | "full" | "stopped";

export interface Producer {
  /**
   * Hands over one record and never waits. Records of one producer keep their order; what is
   * handed over while a send is in flight goes into the next one as one batch.
   * `onSettled` is called once for an accepted record: null when the log has it, else why not.
   */
  append(record: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult;
  /** Resolves when everything accepted so far is settled. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface ProducerOptions {
  /** Accepted and unsettled records, at most. */
  readonly maxBuffered: number;
  /**
   * `critical`: every replica that is in sync must have it, tried again within bounds.
   * `best_effort`: one attempt; what is lost on the way is only counted. For what nothing that trades waits for.
   */
  readonly delivery: "critical" | "best_effort";
}

export interface Batch {
  readonly topic: string;
  readonly partition: number;
  /** May be empty: what lay between was compacted away, and only `next` says so. */
  readonly records: readonly LogRecord[];
  /** The offset after this batch: what is committed when all of it is done. */
  readonly next: number;
  /** The partition's end when the batch was fetched: `end - next` offsets are still behind. */
  readonly end: number;
}

export interface ConsumeOptions {
  readonly group: string;
  readonly topics: readonly string[];
  /**
   * `committed`: where the group stopped, and the first record still there where it never was.
   * Positions: exactly there; a partition not named starts at its end.
   */
  readonly from: "committed" | readonly Position[];
  /** The next batch of a partition comes after the promise of the one before. A rejection ends the subscription through `onCrash`. */
  readonly onBatch: (batch: Batch) => Promise<void>;
  /** The wanted offset is below the log's start: what lies between is lost to this reader, which goes on at `start`. */
  readonly onGap: (gap: { readonly topic: string; readonly partition: number; readonly wanted: number; readonly start: number }) => void;
  /** The subscription ended by itself and will not come back. */
  readonly onCrash: (error: Error) => void;
}

export interface Subscription {
  /** The group goes on from here after a restart or a hand-over. Only for work that is done. */
  commit(positions: readonly Position[]): Promise<void>;
  /** When the log last answered a fetch, an empty one too; monotonic clock. */
  fetchedAtMs(): number;
  /** Leaves the group; no batch is handed over after it resolved. */
  stop(): Promise<void>;
}

export interface EventLog {
  /** Creates what is missing; refuses (LockstepError `configuration`) what differs, naming expected and found. */
  ensureTopics(specs: readonly TopicSpec[]): Promise<void>;
  bounds(topic: string): Promise<readonly PartitionBounds[]>;
  /** In each partition the first record that was made at `wallMs` or later; the partition's end where there is none. */
  since(topic: string, wallMs: number): Promise<readonly Position[]>;
  /** Where a group stands; partitions it never committed are not in it. */
  committed(group: string, topic: string): Promise<readonly Position[]>;
  producer(options: ProducerOptions): Producer;
  consume(options: ConsumeOptions): Promise<Subscription>;
  /** Forgets a group that nobody is in any more. */
  deleteGroup(group: string): Promise<void>;
  close(): Promise<void>;
}
