// Owns the log under test on a real Kafka: connections, and what only the servers can be made to do.

import kafkajs, { type Admin } from "kafkajs";
import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { KAFKA_LOG_LIMITS, type KafkaLogLimits } from "../../log/kafka/limits.ts";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import type { Replication } from "../../log/kafka/topics.ts";
import { systemClock } from "../../ops/clock.ts";
import type { LogFixture } from "../contract/logFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { silent } from "../support/silent.ts";
import { kafkaMember } from "./kafkaMember.ts";

const { Kafka, ConfigResourceTypes, logLevel } = kafkajs;

export async function kafkaFixture(t: TestContext): Promise<LogFixture & { readonly admin: Admin }> {
  const brokers = await sharedKafka();
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  const log = connection(t, brokers);
  return {
    admin,
    log,
    another: async () => connection(t, brokers),
    async trim({ topic, partition, offset }) {
      // Else the client does not know who leads the topic.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
    },
    compact: (topic, last) => compact(admin, log, topic, last),
    member: kafkaMember(brokers, t),
  };
}

const ALONE: Replication = { replicationFactor: 1, minInsyncReplicas: 1 };

export function connection(t: TestContext, brokers: readonly string[], limits: KafkaLogLimits = KAFKA_LOG_LIMITS, replication = ALONE): KafkaLog {
  const log = new KafkaLog({ brokers, clientId: `test-${randomUUID()}`, replication, clock: systemClock, logger: silent, limits });
  t.after(() => log.close());
  return log;
}

const SEGMENT_MS = 100;
const LOOK_EVERY_MS = 100;
const COMPACTED_WITHIN_MS = 60_000;
/** From what the broker says of a topic to what its log goes by; nothing tells when that has happened. */
const APPLIED_MS = 500;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * A segment that is older than this is closed by the next record, and closed ones are compacted at once. The topic's
 * settings reach its partitions a moment after they are told of: then a second closing record is not needed, but the
 * first one must come late enough.
 */
async function compact(admin: Admin, log: KafkaLog, topic: string, last: () => Promise<void>): Promise<void> {
  const settings = { "cleanup.policy": "compact", "segment.ms": String(SEGMENT_MS), "min.cleanable.dirty.ratio": "0.001", "max.compaction.lag.ms": "1", "min.compaction.lag.ms": "0" };
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })) }] });
  const untilMs = performance.now() + COMPACTED_WITHIN_MS;
  const look = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    while (!(await isSo())) {
      if (performance.now() > untilMs) throw new Error(`not within ${COMPACTED_WITHIN_MS} ms: ${what}`);
      await pause(LOOK_EVERY_MS);
    }
  };
  await look("the topic's settings", async () => (await admin.describeConfigs({ includeSynonyms: false, resources: [{ ...resource, configNames: ["segment.ms"] }] })).resources[0]?.configEntries[0]?.configValue === String(SEGMENT_MS));
  await pause(APPLIED_MS);
  await last();
  const end = (await log.bounds(topic))[0]?.end ?? 0;
  await look("the compaction", async () => (await countOf(log, topic, end)) < end);
}

/** How many records a reader meets from the beginning to the end. */
async function countOf(log: KafkaLog, topic: string, end: number): Promise<number> {
  const group = `count.${randomUUID()}`;
  let count = 0;
  let whole = (): void => undefined;
  const read = new Promise<void>((resolve) => (whole = resolve));
  const subscription = await log.consume({
    group,
    topics: [topic],
    from: [{ topic, partition: 0, offset: 0 }],
    async onBatch({ records, next }) {
      count += records.length;
      if (next >= end) whole();
    },
    onGap: () => undefined,
    onCrash: whole,
  });
  await read;
  await subscription.stop();
  await log.deleteGroup(group);
  return count;
}
