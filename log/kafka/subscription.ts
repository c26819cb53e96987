// Owns one member of a group on Kafka: joining, where each partition begins, gaps, commits, and its end.
//
// 1. The client never chooses where to begin: at each join all partitions are held until their place
//    is known and compared with the log's start. What lies between is told, never skipped in silence.
// 2. The client's handler only puts batches into feeds: nothing slow runs in it, so it keeps its session.
// 3. A commit counts only for a partition that is held, and only when the broker has said so.
// 4. A subscription ends once: by `stop`, or by `onCrash`.
// 5. A sign of life is an answered fetch, or an answered heartbeat while there is nothing to fetch.

import type { Consumer, ConsumerCrashEvent, EachBatchPayload, Kafka, RequestEvent } from "kafkajs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Batch, ConsumeOptions, PartitionBounds, Position, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { isNoMember, logError } from "./errors.ts";
import { Feed } from "./feed.ts";
import type { KafkaLogLimits } from "./limits.ts";
import { beginningOf } from "./places.ts";
import { pause, within } from "../../protocol/waiting.ts";

export interface SubscriptionOptions {
  readonly kafka: Kafka;
  readonly consume: ConsumeOptions;
  readonly bounds: (topic: string) => Promise<readonly PartitionBounds[]>;
  readonly committed: (group: string, topic: string) => Promise<readonly Position[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: KafkaLogLimits;
  readonly onEnded: () => void;
}

type Place = Pick<Position, "topic" | "partition">;

const keyOf = ({ topic, partition }: Place): string => `${topic}/${partition}`;

export class KafkaSubscription implements Subscription {
  readonly #options: SubscriptionOptions;
  readonly #consumer: Consumer;
  readonly #feeds = new Map<string, Feed>();
  /** Of this stay in the group; empty between two. */
  #held: ReadonlyMap<string, Place> = new Map();
  /** Rises at each join and each loss: what was asked before it has no say any more. */
  #stay = 0;
  #state: "joining" | "open" | "stopping" | "ended" = "joining";
  #fetchedAtMs: number;
  #commits = 0;
  #startCheck: Timer | null = null;
  #onJoined: (outcome: Error | null) => void = () => undefined;
  #stopping: Promise<void> | null = null;

  constructor(options: SubscriptionOptions) {
    const { kafka, consume, limits, clock } = options;
    this.#options = options;
    this.#fetchedAtMs = clock.monotonicMs();
    this.#consumer = kafka.consumer({
      groupId: consume.group,
      sessionTimeout: limits.sessionMs,
      heartbeatInterval: limits.heartbeatMs,
      rebalanceTimeout: limits.rebalanceMs,
      maxWaitTimeInMs: limits.fetchWaitMs,
      maxBytes: limits.fetchBytes,
      maxBytesPerPartition: limits.partitionBytes,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 8, restartOnFailure: async () => this.#isLive },
    });
    this.#listen();
  }

  /** Joins the group; resolves when each partition's beginning is known. No batch comes before the caller has its subscription. */
  async start(): Promise<void> {
    const { consume, clock, limits } = this.#options;
    const joined = new Promise<Error | null>((resolve) => (this.#onJoined = resolve));
    const joining = async (): Promise<void> => {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topics: [...new Set(consume.topics)], fromBeginning: true });
      await this.#consumer.run({
        autoCommit: false,
        partitionsConsumedConcurrently: 1,
        eachBatch: (payload) => this.#onClientBatch(payload),
      });
      const failure = await joined;
      if (failure !== null) throw failure;
    };
    try {
      await within(clock, limits.joinMs, `joining group ${consume.group}`, joining());
    } catch (error) {
      this.#state = "ended";
      void this.#leave();
      throw logError(`group ${consume.group}`, error);
    }
    this.#state = "open";
    clock.soon(() => this.#release());
    this.#watchStart();
  }

  fetchedAtMs(): number {
    return this.#fetchedAtMs;
  }

  async commit(positions: readonly Position[]): Promise<void> {
    const { group } = this.#options.consume;
    const lost = this.#state === "ended" ? positions : positions.filter((position) => !this.#held.has(keyOf(position)));
    const refusal = (): LockstepError => new LockstepError("stopped", `group ${group}: ${(lost.length > 0 ? lost : positions).map(keyOf).join(", ")} is no longer held by this member`);
    const kept = positions.filter((position) => !lost.includes(position));
    if (kept.length > 0) {
      const before = this.#commits;
      try {
        await this.#consumer.commitOffsets(kept.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })));
      } catch (error) {
        throw isNoMember(error) ? refusal() : logError(`group ${group}: commit`, error);
      }
      // Between two stays the client says nothing and has done nothing.
      if (this.#commits === before) throw new LockstepError("unreachable", `group ${group}: the log did not take the commit`);
    }
    if (lost.length > 0) throw refusal(); // 3
  }

  /** A batch under way may end and commit; but not for longer than `handoverMs`. */
  stop(): Promise<void> {
    if (this.#state === "ended" && this.#stopping === null) return Promise.resolve();
    return (this.#stopping ??= this.#stop());
  }

  /** Ends as a process that dies does, as far as the client lets us: nothing is handed over any more, nothing waited for. */
  kill(): void {
    this.#state = "ended";
    this.#mute();
    void this.#leave();
  }

  get #isLive(): boolean {
    return this.#state === "joining" || this.#state === "open";
  }

  async #stop(): Promise<void> {
    const { clock, limits } = this.#options;
    if (this.#isLive) this.#state = "stopping";
    this.#mute();
    this.#hold([...this.#held.values()]);
    const busy = [...this.#feeds.values()].flatMap((feed) => feed.busy ?? []);
    await Promise.race([Promise.all(busy), pause(clock, busy.length === 0 ? 0 : limits.handoverMs)]);
    this.#state = "ended";
    await this.#leave();
  }

  #mute(): void {
    this.#startCheck?.cancel();
    for (const feed of this.#feeds.values()) feed.mute();
  }

  async #leave(): Promise<void> {
    const { clock, limits, logger, onEnded } = this.#options;
    this.#stay += 1;
    await within(clock, limits.closeMs, "leaving a group", this.#consumer.disconnect()).catch((error: unknown) => logger.warn({ group: this.#options.consume.group, error: messageOf(error) }, "left a group without its answer"));
    this.#held = new Map();
    onEnded();
  }

  #crash(error: Error): void {
    this.#onJoined(error);
    if (!this.#isLive || this.#state === "joining") return;
    this.#state = "ended"; // 4
    this.#mute();
    void this.#leave();
    this.#options.consume.onCrash(error);
  }

  #listen(): void {
    const { consume, clock } = this.#options;
    const { events } = this.#consumer;
    const consumer: { on(name: string, listener: (event: { readonly payload: unknown }) => void): unknown } = this.#consumer;
    const on = <T>(event: string, listener: (payload: T) => void): void => void consumer.on(event, ({ payload }) => listener(payload as T));
    on<{ memberAssignment: Record<string, number[]> }>(events.GROUP_JOIN, ({ memberAssignment }) => this.#onJoin(memberAssignment));
    on(events.REBALANCING, () => this.#lose());
    on(events.STOP, () => this.#lose());
    on<ConsumerCrashEvent["payload"]>(events.CRASH, ({ error, restart }) => {
      this.#lose();
      if (!restart) this.#crash(logError(`group ${consume.group}`, error));
    });
    on(events.COMMIT_OFFSETS, () => (this.#commits += 1));
    on<RequestEvent["payload"]>(events.REQUEST, ({ apiName }) => {
      if (apiName === "Fetch" || (apiName === "Heartbeat" && !this.#isFetching())) this.#fetchedAtMs = clock.monotonicMs(); // 5
    });
    // What lay before it was compacted away: the client moves on without a word to the handler.
    on<{ topic: string; partition: number; batchSize: number; lastOffset: string | null; highWatermark: string }>(events.END_BATCH_PROCESS, ({ topic, partition, batchSize, lastOffset, highWatermark }) => {
      if (batchSize === 0 && lastOffset !== null) this.#feeds.get(keyOf({ topic, partition }))?.offer({ topic, partition, records: [], next: Number(lastOffset) + 1, end: Number(highWatermark) });
    });
  }

  #isFetching(): boolean {
    const held = new Set(this.#consumer.paused().flatMap(({ topic, partitions }) => partitions.map((partition) => keyOf({ topic, partition }))));
    return [...this.#held.keys()].some((key) => !held.has(key));
  }

  #lose(): void {
    this.#stay += 1;
    this.#held = new Map();
    for (const feed of this.#feeds.values()) feed.lose();
  }

  #onJoin(assignment: Record<string, number[]>): void {
    this.#lose();
    if (this.#state === "ended") return;
    const places = Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));
    this.#held = new Map(places.map((place) => [keyOf(place), place]));
    this.#hold(places); // 1
    if (this.#state === "stopping") return;
    void this.#place(places, this.#stay);
  }

  /** Asks where each partition begins, until it knows or the stay is over. */
  async #place(places: readonly Place[], stay: number): Promise<void> {
    const { clock, limits, logger, consume } = this.#options;
    while (stay === this.#stay) {
      try {
        const found = await beginningOf(places, { ...this.#options, handled: (place) => this.#feeds.get(keyOf(place))?.handled ?? null });
        if (stay !== this.#stay) return;
        for (const { topic, partition, wanted, start } of found) {
          if (wanted !== start) this.#gap({ topic, partition }, wanted, start);
          this.#consumer.seek({ topic, partition, offset: String(start) });
          this.#feedOf({ topic, partition }).begin(start);
        }
        this.#onJoined(null);
        if (this.#state === "open") this.#release();
        return;
      } catch (error) {
        logger.warn({ group: consume.group, error: messageOf(error) }, "where partitions begin is not known yet");
        await pause(clock, limits.retryPauseMs * 5);
      }
    }
  }

  #release(): void {
    if (this.#state === "open") this.#resume([...this.#held.values()].filter((place) => this.#feedOf(place).fetched !== null));
  }

  #feedOf(place: Place): Feed {
    const key = keyOf(place);
    const { limits, consume } = this.#options;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new Feed({
        ...place,
        ...limits,
        handle: async (batch) => consume.onBatch(batch),
        checkJump: (expected) => this.#checkJump(place, expected),
        onFailed: (error) => this.#crash(error instanceof Error ? error : new Error(String(error))),
        pause: () => this.#hold([place]),
        resume: () => this.#resume([place]),
      });
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  async #onClientBatch(payload: EachBatchPayload): Promise<void> {
    await payload.heartbeat();
    const { batch } = payload;
    const { topic, partition } = batch;
    const records = batch.messages.map((message) => ({ topic, partition, offset: Number(message.offset), key: message.key?.toString() ?? "", value: message.value, timestampMs: Number(message.timestamp) }));
    const offered: Batch = { topic, partition, records, next: Number(batch.lastOffset()) + 1, end: Number(batch.highWatermark) };
    this.#feeds.get(keyOf(batch))?.offer(offered); // 2
  }

  #gap(place: Place, wanted: number, start: number): void {
    this.#options.consume.onGap({ ...place, wanted, start });
  }

  /** A hole that compaction left is no gap; one that the log's start has passed is. */
  async #checkJump(place: Place, expected: number): Promise<void> {
    const start = await this.#startOf(place);
    if (start > expected) this.#gap(place, expected, start);
  }

  async #startOf({ topic, partition }: Place): Promise<number> {
    const bounds = await this.#options.bounds(topic);
    return bounds.find((found) => found.partition === partition)?.start ?? 0;
  }

  /** A gap that nothing new follows would else be told only when something does. */
  #watchStart(): void {
    const { clock, limits, logger } = this.#options;
    if (!this.#isLive) return;
    this.#startCheck = clock.after(limits.startCheckMs, () => {
      this.#checkStarts()
        .catch((error: unknown) => logger.debug({ error: messageOf(error) }, "the log's start is not known now"))
        .finally(() => this.#watchStart());
    });
  }

  async #checkStarts(): Promise<void> {
    for (const place of this.#held.values()) {
      const stay = this.#stay;
      const feed = this.#feedOf(place);
      const before = feed.fetched;
      if (before === null) continue;
      const start = await this.#startOf(place);
      if (stay !== this.#stay || feed.fetched !== before || start <= before || !this.#isLive) continue;
      this.#gap(place, before, start);
      this.#consumer.seek({ ...place, offset: String(start) });
      feed.begin(start);
    }
  }

  #hold(places: readonly Place[]): void {
    if (places.length > 0) this.#consumer.pause(placesByTopic(places));
  }

  #resume(places: readonly Place[]): void {
    if (places.length > 0 && this.#state === "open") this.#consumer.resume(placesByTopic(places));
  }
}

function placesByTopic(places: readonly Place[]): { topic: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of places) topics.set(topic, [...(topics.get(topic) ?? []), partition]);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
