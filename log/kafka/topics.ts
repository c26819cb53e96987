// Owns topics on Kafka: made as the design has them, or compared with it and refused.
//
// 1. All or none: nothing is made when one that exists differs.
// 2. Whoever made a topic, it is compared: nodes that start together may make it for one another.

import kafkajs, { type Admin } from "kafkajs";
import { LockstepError } from "../../protocol/errors.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import { checkTopicSpec, refuseDifferingTopic, type FoundTopic } from "../topicSettings.ts";

export interface Replication {
  /** Copies of each partition, at least. */
  readonly replicationFactor: number;
  /** Copies that must have a record before it is acknowledged, at least. */
  readonly minInsyncReplicas: number;
}

interface Described extends FoundTopic, Replication {
  readonly retentionBytes: number | null;
}

const CONFIGS = ["cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas"];
const FOR_EVER = "-1";
/** A reader starts with the books: what was superseded must not be read for long. */
const COMPACTION = { "segment.ms": "600000", "segment.bytes": "67108864", "min.cleanable.dirty.ratio": "0.1" } as const;

/** @throws LockstepError `configuration`, naming each setting with what was expected and what was found; `unreachable` while a new one is not known everywhere */
export async function ensureTopics(admin: Admin, specs: readonly TopicSpec[], replication: Replication): Promise<void> {
  for (const spec of specs) checkTopicSpec(spec);
  const existing = await compare(admin, specs, replication); // 1
  const missing = specs.filter(({ name }) => !existing.has(name));
  if (missing.length === 0) return;
  await admin.createTopics({ waitForLeaders: false, topics: missing.map((spec) => ({ topic: spec.name, numPartitions: spec.partitions, replicationFactor: replication.replicationFactor, configEntries: entriesOf(spec, replication) })) });
  const made = await compare(admin, missing, replication); // 2
  const late = missing.filter(({ name }) => !made.has(name));
  if (late.length > 0) throw new LockstepError("unreachable", `topics ${late.map(({ name }) => name).join(", ")} are made, but not known to every broker yet`);
}

function entriesOf({ cleanup, retentionMs }: TopicSpec, { minInsyncReplicas }: Replication): { name: string; value: string }[] {
  const settings = {
    "cleanup.policy": cleanup,
    "retention.ms": retentionMs === null ? FOR_EVER : String(retentionMs),
    "retention.bytes": FOR_EVER,
    "min.insync.replicas": String(minInsyncReplicas),
    ...(cleanup === "compact" ? COMPACTION : {}),
  };
  return Object.entries(settings).map(([name, value]) => ({ name, value }));
}

/** Returns the names of those that exist, each as it should be. */
async function compare(admin: Admin, specs: readonly TopicSpec[], replication: Replication): Promise<ReadonlySet<string>> {
  const known = new Set(await admin.listTopics());
  const existing = specs.filter(({ name }) => known.has(name));
  const found = await describe(admin, existing.map(({ name }) => name));
  for (const spec of existing) {
    const topic = found.get(spec.name);
    if (topic === undefined) continue;
    refuseDifferingTopic(spec, topic);
    refuseUnsafe(spec.name, topic, replication);
  }
  return new Set(found.keys());
}

async function describe(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, Described>> {
  if (names.length === 0) return new Map();
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: CONFIGS })) });
  const configs = new Map(resources.map((resource) => [resource.resourceName, new Map(resource.configEntries.map((entry) => [entry.configName, entry.configValue]))]));
  return new Map(
    topics.map(({ name, partitions }) => {
      const of = (config: string): string => configs.get(name)?.get(config) ?? "";
      const cleanup = of("cleanup.policy");
      return [
        name,
        {
          partitions: partitions.length,
          cleanup,
          // A topic that is only compacted has a retention that nobody looks at.
          retentionMs: cleanup === "compact" ? null : limitOf(of("retention.ms")),
          retentionBytes: cleanup === "compact" ? null : limitOf(of("retention.bytes")),
          replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          minInsyncReplicas: Number(of("min.insync.replicas")),
        },
      ];
    }),
  );
}

const limitOf = (text: string): number | null => (Number(text) < 0 ? null : Number(text));

/** More copies than asked for are welcome, fewer are not; and a bound in bytes would end records before their time. */
function refuseUnsafe(name: string, found: Described, wanted: Replication): void {
  const faults = [
    ...(["replicationFactor", "minInsyncReplicas"] as const).flatMap((setting) => (found[setting] < wanted[setting] ? [`${setting}: expected at least ${wanted[setting]}, found ${found[setting]}`] : [])),
    ...(found.retentionBytes === null ? [] : [`retention.bytes: expected none, found ${found.retentionBytes}`]),
  ];
  if (faults.length > 0) throw new LockstepError("configuration", `topic ${JSON.stringify(name)} exists with other settings: ${faults.join("; ")}`);
}
