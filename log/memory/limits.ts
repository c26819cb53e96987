// Owns the bounds of the in-memory log. Every one of them is reached sooner or later; what happens
// then is written beside it.

export interface MemoryLogLimits {
  /** One topic more is refused: `full`. */
  readonly maxTopics: number;
  /** One group more is refused: `full`. */
  readonly maxGroups: number;
  /** A partition with more lets its oldest tenth go. A compacted one is compacted; if that does not help the append settles as `full`. */
  readonly maxRecordsPerPartition: number;
  /** Keys and values. As with the count. */
  readonly maxBytesPerPartition: number;
  /** A larger record settles as `invalid_value`. */
  readonly maxRecordBytes: number;
  /** Records of one batch, at most. */
  readonly maxBatchRecords: number;
  /** Key and value bytes of one batch, at most; a single larger record still goes out alone. */
  readonly maxBatchBytes: number;
  /** A compacted partition is compacted at this count, and later whenever it doubled since. */
  readonly compactAtRecords: number;
  /** A tombstone lives at least so long, so that a reader that is behind still meets it. */
  readonly tombstoneMs: number;
  /** A member that must give a partition up may finish its batch for so long; then it is taken away. */
  readonly handoverMs: number;
  /** A member that vanished without leaving keeps its partitions for so long. */
  readonly sessionMs: number;
}

/** Enough for the embedded default: one process, some hours of trading. */
export const MEMORY_LOG_LIMITS: MemoryLogLimits = {
  maxTopics: 64,
  maxGroups: 256,
  maxRecordsPerPartition: 100_000,
  maxBytesPerPartition: 64 * 1024 * 1024,
  maxRecordBytes: 1_048_576,
  maxBatchRecords: 500,
  maxBatchBytes: 4 * 1024 * 1024,
  compactAtRecords: 1_000,
  tombstoneMs: 60_000,
  handoverMs: 10_000,
  sessionMs: 6_000,
};
