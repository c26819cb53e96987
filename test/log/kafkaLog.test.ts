// Owns the run of the log's contract on a real Kafka.

import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { systemClock } from "../../ops/clock.ts";
import { logContract } from "../contract/logContract.ts";
import { sharedKafka } from "../support/kafka.ts";
import { silent } from "../support/silent.ts";

const PATIENCE_MS = 60_000;

async function create(t: TestContext) {
  const brokers = await sharedKafka();
  const connect = (): KafkaLog => {
    const log = new KafkaLog({ brokers, clientId: `contract-${randomUUID()}`, replication: { replicationFactor: 1, minInsyncReplicas: 1 }, clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
    t.after(() => log.close());
    return log;
  };
  return { log: connect(), another: async () => connect(), trim: async () => undefined, compact: null };
}

logContract("Kafka", { create, capabilities: { compaction: false, patienceMs: PATIENCE_MS } });
