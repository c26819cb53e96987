// Owns every bound and time of the Kafka log, and what each is for.

export interface KafkaLogLimits {
  /** One request to a broker. Below the lease's margin: what a fenced node still sends must be over before others act. */
  readonly requestMs: number;
  /** All attempts of one critical send together; then its records settle as `unreachable`. */
  readonly sendMs: number;
  /** Pause before a send is tried again; grows with each attempt. */
  readonly retryPauseMs: number;
  /** Records of one send. */
  readonly maxSendRecords: number;
  /** Key and value bytes of one send for one partition: a broker takes about 1 MB as one batch. A larger record goes alone. */
  readonly maxSendBytes: number;
  /** A member that is not heard of for so long loses its partitions. The broker's own minimum is 6 s. */
  readonly sessionMs: number;
  readonly heartbeatMs: number;
  /** How long a group waits at a rebalance for members that do not answer. */
  readonly rebalanceMs: number;
  /** An empty fetch is answered after this: also how soon a partition that was held back is asked for again. */
  readonly fetchWaitMs: number;
  /** Of one fetch, and of one partition in it. */
  readonly fetchBytes: number;
  readonly partitionBytes: number;
  /** Records that a handler gets at once. */
  readonly maxBatchRecords: number;
  /** Batches of a partition that wait for its handler; with more the partition is held back. */
  readonly maxWaitingBatches: number;
  /** A batch under way may take so long when its subscription ends. */
  readonly handoverMs: number;
  /** One question to the log, with all its attempts. */
  readonly askMs: number;
  /** Joining a group, until each partition's beginning is known. */
  readonly joinMs: number;
  /** How often the log's start is compared with where each reader is. */
  readonly startCheckMs: number;
  /** Ending a client that does not answer. */
  readonly closeMs: number;
}

export const KAFKA_LOG_LIMITS: KafkaLogLimits = {
  requestMs: 2_500,
  sendMs: 8_000,
  retryPauseMs: 100,
  maxSendRecords: 2_000,
  maxSendBytes: 900_000,
  sessionMs: 6_000,
  heartbeatMs: 1_000,
  rebalanceMs: 10_000,
  fetchWaitMs: 200,
  fetchBytes: 4 * 1024 * 1024,
  partitionBytes: 512 * 1024,
  maxBatchRecords: 500,
  maxWaitingBatches: 4,
  handoverMs: 10_000,
  askMs: 15_000,
  joinMs: 60_000,
  startCheckMs: 5_000,
  closeMs: 10_000,
};

/** The defaults with sends that are over well before a lease with this margin lets others in. */
export function limitsBelowMargin(marginMs: number): KafkaLogLimits {
  const sendMs = Math.min(KAFKA_LOG_LIMITS.sendMs, Math.floor(marginMs * 0.8));
  return { ...KAFKA_LOG_LIMITS, sendMs, requestMs: Math.min(KAFKA_LOG_LIMITS.requestMs, Math.floor(sendMs / 3)) };
}
