// Owns how a process opens the event log on Kafka.

import { limitsBelowMargin } from "../../log/kafka/limits.ts";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";

export interface OpenLogOptions {
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Copies of each topic's partitions. */
  readonly replication: number;
  /** The lease's: what a fenced node still sends must be over before others act. */
  readonly marginMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type OpenLog = (options: OpenLogOptions) => EventLog;

export const openKafkaLog: OpenLog = ({ brokers, clientId, replication, marginMs, clock, logger }) =>
  new KafkaLog({
    brokers,
    clientId,
    // More than half of three or more: one lost broker neither stops nor loses anything. Of two, one must do.
    replication: { replicationFactor: replication, minInsyncReplicas: Math.ceil(replication / 2) },
    clock,
    logger,
    limits: limitsBelowMargin(marginMs),
  });
