// Owns what is asked of the log itself: topics, where partitions begin and end, where groups stand.
//
// 1. Offsets are numbers: a partition would need 2^53 records to leave their range.
// 2. How many partitions a topic has is asked once: it never changes.

import type { Admin } from "kafkajs";
import { LockstepError } from "../../protocol/errors.ts";
import type { PartitionBounds, Position } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import type { AdminConnection } from "./admin.ts";
import { isUnknownTopic, typeOf } from "./errors.ts";
import { ensureTopics, type Replication } from "./topics.ts";

export class Questions {
  readonly #admin: AdminConnection;
  readonly #counts = new Map<string, number>();

  constructor(admin: AdminConnection) {
    this.#admin = admin;
  }

  async ensureTopics(specs: readonly TopicSpec[], replication: Replication): Promise<void> {
    await this.#admin.ask("topics", (admin) => ensureTopics(admin, specs, replication));
    for (const { name, partitions } of specs) this.#counts.set(name, partitions);
  }

  /** @throws LockstepError `configuration` when there is no such topic, `unreachable` */
  async partitionsOf(topic: string): Promise<number> {
    const known = this.#counts.get(topic);
    if (known !== undefined) return known;
    const count = await this.#admin.ask(`topic ${topic}`, (admin) => countOf(admin, topic));
    this.#counts.set(topic, count);
    return count;
  }

  async bounds(topic: string): Promise<readonly PartitionBounds[]> {
    await this.partitionsOf(topic);
    const offsets = await this.#admin.ask(`topic ${topic}`, (admin) => admin.fetchTopicOffsets(topic));
    return offsets.map(({ partition, low, high }) => ({ partition, start: Number(low), end: Number(high) })).sort((a, b) => a.partition - b.partition);
  }

  async since(topic: string, wallMs: number): Promise<readonly Position[]> {
    await this.partitionsOf(topic);
    const offsets = await this.#admin.ask(`topic ${topic}`, (admin) => admin.fetchTopicOffsetsByTimestamp(topic, Math.floor(wallMs)));
    return offsets.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) })).sort((a, b) => a.partition - b.partition);
  }

  async committed(group: string, topic: string): Promise<readonly Position[]> {
    await this.partitionsOf(topic);
    const [found] = await this.#admin.ask(`group ${group}`, (admin) => admin.fetchOffsets({ groupId: group, topics: [topic] }));
    const positions = (found?.partitions ?? []).map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) }));
    return positions.filter(({ offset }) => offset >= 0).sort((a, b) => a.partition - b.partition);
  }

  /** @throws LockstepError `invalid_value` while somebody is in it, `unreachable` */
  async deleteGroup(group: string): Promise<void> {
    const isGone = await this.#admin.ask(`group ${group}`, (admin) => deleteGroup(admin, group));
    if (!isGone) throw new LockstepError("invalid_value", `group ${group} still has members`);
  }

  /** Those that are not there are no fault. */
  async deleteTopics(names: readonly string[]): Promise<void> {
    await this.#admin.ask("topics", async (admin) => {
      const known = new Set(await admin.listTopics());
      const topics = names.filter((name) => known.has(name));
      if (topics.length > 0) await admin.deleteTopics({ topics });
    });
    for (const name of names) this.#counts.delete(name);
  }
}

async function countOf(admin: Admin, topic: string): Promise<number> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length ?? 0;
  } catch (error) {
    if (isUnknownTopic(error)) throw new LockstepError("configuration", `there is no topic ${JSON.stringify(topic)}`, error);
    throw error;
  }
}

/** False: it still has members. */
export async function deleteGroup(admin: Admin, group: string): Promise<boolean> {
  try {
    await admin.deleteGroups([group]);
    return true;
  } catch (error) {
    const [first] = (error as { readonly groups?: readonly { readonly error?: Error }[] }).groups ?? [];
    const type = typeOf(first?.error ?? error);
    if (type === "GROUP_ID_NOT_FOUND") return true;
    if (type === "NON_EMPTY_GROUP") return false;
    throw error;
  }
}
