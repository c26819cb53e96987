// Owns what all connections to one in-memory log share: topics with their partitions, and groups.
// It stands for the log's servers, so it has the one clock that stamps records and ends retention.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { OutgoingRecord } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import { checkTopicSpec, refuseDifferingTopic } from "../topicSettings.ts";
import { Group } from "./group.ts";
import type { MemoryLogLimits } from "./limits.ts";
import { Partition } from "./partition.ts";

export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** With it batches are cut at random lengths: nothing may depend on where they end. */
  readonly random?: Random;
  readonly limits: MemoryLogLimits;
}

export class MemoryStore {
  readonly clock: Clock;
  readonly limits: MemoryLogLimits;
  readonly #random: Random | null;
  readonly #topics = new Map<string, { readonly spec: TopicSpec; readonly partitions: readonly Partition[] }>();
  readonly #groups = new Map<string, Group>();

  constructor(options: MemoryStoreOptions) {
    this.clock = options.clock;
    this.limits = options.limits;
    this.#random = options.random ?? null;
  }

  /** All or none. @throws LockstepError `configuration`, `full` */
  ensureTopics(specs: readonly TopicSpec[]): void {
    for (const spec of specs) {
      checkTopicSpec(spec);
      const found = this.#topics.get(spec.name);
      if (found !== undefined) refuseDifferingTopic(spec, found.spec);
    }
    const missing = specs.filter((spec) => !this.#topics.has(spec.name));
    if (this.#topics.size + missing.length > this.limits.maxTopics) throw new LockstepError("full", `more than ${this.limits.maxTopics} topics`);
    for (const spec of missing) {
      const partitions = Array.from({ length: spec.partitions }, (_, index) => new Partition(spec, index, this.limits));
      this.#topics.set(spec.name, { spec, partitions });
    }
  }

  /** @throws LockstepError `configuration` when there is no such topic. */
  partitionsOf(topic: string): readonly Partition[] {
    const found = this.#topics.get(topic);
    if (found === undefined) throw new LockstepError("configuration", `there is no topic ${JSON.stringify(topic)}`);
    for (const partition of found.partitions) partition.expire(this.clock.wallMs());
    return found.partitions;
  }

  /** @throws LockstepError `invalid_value`, `configuration` */
  partition(topic: string, index: number): Partition {
    const partitions = this.partitionsOf(topic);
    const partition = partitions[index];
    if (partition === undefined) throw new LockstepError("invalid_value", `topic ${JSON.stringify(topic)} has partitions 0 to ${partitions.length - 1}, got ${index}`);
    return partition;
  }

  /** Appends a batch in its order and wakes the readers. Returns for each record null, or why it was not taken. */
  append(records: readonly OutgoingRecord[]): (Error | null)[] {
    const touched = new Set<Partition>();
    const nowMs = this.clock.wallMs();
    const results = records.map((record) => {
      try {
        const partition = this.partition(record.topic, record.partition);
        partition.append(record.key, record.value, nowMs);
        touched.add(partition);
        return null;
      } catch (error) {
        if (error instanceof LockstepError) return error;
        throw error;
      }
    });
    for (const partition of touched) for (const group of this.#groups.values()) group.wake(partition);
    return results;
  }

  /** The group of that name, made where there is none. @throws LockstepError `full` */
  group(name: string): Group {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    if (this.#groups.size >= this.limits.maxGroups) throw new LockstepError("full", `more than ${this.limits.maxGroups} groups`);
    const { clock, limits } = this;
    const group = new Group({ name, clock, limits, random: this.#random, partitionsOf: (topic) => this.partitionsOf(topic) });
    this.#groups.set(name, group);
    return group;
  }

  findGroup(name: string): Group | null {
    return this.#groups.get(name) ?? null;
  }

  /** @throws LockstepError `invalid_value` while somebody is in it. */
  deleteGroup(name: string): void {
    if (this.#groups.get(name)?.isEmpty === false) throw new LockstepError("invalid_value", `group ${name} still has members`);
    this.#groups.delete(name);
  }
}
