// Owns the client's part of one member of a group: kafkajs's consumer as a few calls and a few events,
// with what it does silently made plain.
//
// 1. The client's handler only hands on: nothing slow runs in it, so the member keeps its session.
// 2. A commit is one when the broker has said so: between two stays in a group the client says nothing
//    and has done nothing.
// 3. A sign of life is an answered fetch, or an answered heartbeat while there is nothing to fetch.

import type { Consumer, ConsumerCrashEvent, EachBatchPayload, Kafka, RequestEvent } from "kafkajs";
import { LockstepError } from "../../protocol/errors.ts";
import type { Batch, Position } from "../../protocol/ports/log.ts";
import type { KafkaLogLimits } from "./limits.ts";

export type Place = Pick<Position, "topic" | "partition">;

export const keyOf = ({ topic, partition }: Place): string => `${topic}/${partition}`;

export interface MemberOptions {
  readonly kafka: Kafka;
  readonly group: string;
  readonly limits: KafkaLogLimits;
  /** Asked when the client has given up: else it begins anew by itself. */
  readonly isWanted: () => boolean;
  /** A stay in the group begins, with these partitions; nothing is fetched before this has returned. */
  readonly onJoined: (places: readonly Place[]) => void;
  /** The stay is over, or about to be. */
  readonly onLost: () => void;
  /** It will not come back by itself. */
  readonly onCrashed: (error: Error) => void;
  readonly onBatch: (batch: Batch) => void;
  readonly onHeard: () => void;
}

export class Member {
  readonly #options: MemberOptions;
  readonly #consumer: Consumer;
  #commits = 0;
  #held: readonly Place[] = [];

  constructor(options: MemberOptions) {
    const { kafka, group, limits, isWanted } = options;
    this.#options = options;
    this.#consumer = kafka.consumer({
      groupId: group,
      sessionTimeout: limits.sessionMs,
      heartbeatInterval: limits.heartbeatMs,
      rebalanceTimeout: limits.rebalanceMs,
      maxWaitTimeInMs: limits.fetchWaitMs,
      maxBytes: limits.fetchBytes,
      maxBytesPerPartition: limits.partitionBytes,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 8, restartOnFailure: async () => isWanted() },
    });
    this.#listen();
  }

  /** Begins to join; `onJoined` tells when it has. */
  async join(topics: readonly string[]): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...new Set(topics)], fromBeginning: true });
    await this.#consumer.run({ autoCommit: false, partitionsConsumedConcurrently: 1, eachBatch: (payload) => this.#take(payload) });
  }

  /** @throws what the client throws; LockstepError `unreachable` when it has not been done (2) */
  async commit(positions: readonly Position[]): Promise<void> {
    const before = this.#commits;
    await this.#consumer.commitOffsets(positions.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })));
    if (this.#commits === before) throw new LockstepError("unreachable", `group ${this.#options.group}: the log did not take the commit`);
  }

  /** The next fetch of this partition begins here. */
  seek({ topic, partition, offset }: Position): void {
    this.#consumer.seek({ topic, partition, offset: String(offset) });
  }

  hold(places: readonly Place[]): void {
    if (places.length > 0) this.#consumer.pause(byTopic(places));
  }

  release(places: readonly Place[]): void {
    if (places.length > 0) this.#consumer.resume(byTopic(places));
  }

  leave(): Promise<void> {
    return this.#consumer.disconnect();
  }

  #listen(): void {
    const { onJoined, onCrashed, onHeard, onBatch } = this.#options;
    const { events } = this.#consumer;
    const consumer: { on(name: string, listener: (event: { readonly payload: unknown }) => void): unknown } = this.#consumer;
    const on = <T>(event: string, listener: (payload: T) => void): void => void consumer.on(event, ({ payload }) => listener(payload as T));
    on<{ readonly memberAssignment: Readonly<Record<string, readonly number[]>> }>(events.GROUP_JOIN, ({ memberAssignment }) => {
      this.#held = Object.entries(memberAssignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));
      onJoined(this.#held);
    });
    on(events.REBALANCING, () => this.#lose());
    on(events.STOP, () => this.#lose());
    on<ConsumerCrashEvent["payload"]>(events.CRASH, ({ error, restart }) => {
      this.#lose();
      if (!restart) onCrashed(error);
    });
    on(events.COMMIT_OFFSETS, () => (this.#commits += 1));
    on<RequestEvent["payload"]>(events.REQUEST, ({ apiName }) => {
      if (apiName === "Fetch" || (apiName === "Heartbeat" && !this.#isFetching())) onHeard(); // 3
    });
    // What lay before it was compacted away: the client moves on without a word to its handler.
    on<{ readonly topic: string; readonly partition: number; readonly batchSize: number; readonly lastOffset: string | null; readonly highWatermark: string }>(events.END_BATCH_PROCESS, (batch) => {
      if (batch.batchSize === 0 && batch.lastOffset !== null) onBatch({ topic: batch.topic, partition: batch.partition, records: [], next: Number(batch.lastOffset) + 1, end: Number(batch.highWatermark) });
    });
  }

  #lose(): void {
    this.#held = [];
    this.#options.onLost();
  }

  #isFetching(): boolean {
    const paused = new Set(this.#consumer.paused().flatMap(({ topic, partitions }) => partitions.map((partition) => keyOf({ topic, partition }))));
    return this.#held.some((place) => !paused.has(keyOf(place)));
  }

  /** Invariant 1. */
  async #take(payload: EachBatchPayload): Promise<void> {
    await payload.heartbeat();
    const { batch } = payload;
    const { topic, partition } = batch;
    const records = batch.messages.map((message) => ({ topic, partition, offset: Number(message.offset), key: message.key?.toString() ?? "", value: message.value, timestampMs: Number(message.timestamp) }));
    this.#options.onBatch({ topic, partition, records, next: Number(batch.lastOffset()) + 1, end: Number(batch.highWatermark) });
  }
}

function byTopic(places: readonly Place[]): { topic: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of places) topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
