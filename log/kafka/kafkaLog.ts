// Owns one connection to Kafka, as one process has it: its producers, its subscriptions, what it asks
// of the log itself, and their end.
//
// 1. After `close` nothing is taken any more: every request says `stopped`.
// 2. Offsets are numbers: a partition would need 2^53 records to leave their range.

import { Kafka, type Admin } from "kafkajs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { ConsumeOptions, EventLog, PartitionBounds, Position, Producer, ProducerOptions, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import { Outbox } from "../outbox.ts";
import { clientLog } from "./clientLog.ts";
import { isUnknownTopic, logError, typeOf } from "./errors.ts";
import type { KafkaLogLimits } from "./limits.ts";
import { cutOf, Sender } from "./sender.ts";
import { KafkaSubscription } from "./subscription.ts";
import { ensureTopics, type Replication } from "./topics.ts";
import { pause, within } from "../../protocol/waiting.ts";

export interface KafkaLogOptions {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Shown in the brokers' own logs and tools. */
  readonly clientId: string;
  readonly replication: Replication;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: KafkaLogLimits;
}

export class KafkaLog implements EventLog {
  readonly #options: KafkaLogOptions;
  readonly #kafka: Kafka;
  readonly #outboxes = new Set<Outbox>();
  readonly #subscriptions = new Set<KafkaSubscription>();
  /** Partition counts never change. */
  readonly #counts = new Map<string, number>();
  #admin: Promise<Admin> | null = null;
  #isOpen = true;

  /** Connects when it is first asked for something. */
  constructor(options: KafkaLogOptions) {
    const { brokers, clientId, limits, logger } = options;
    this.#options = options;
    this.#kafka = new Kafka({
      brokers: [...brokers],
      clientId,
      requestTimeout: limits.requestMs,
      connectionTimeout: limits.requestMs,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 },
      logCreator: clientLog(logger),
    });
  }

  async ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    await this.#ask("topics", (admin) => ensureTopics(admin, specs, this.#options.replication));
    for (const { name, partitions } of specs) this.#counts.set(name, partitions);
  }

  bounds(topic: string): Promise<readonly PartitionBounds[]> {
    return this.#ask(`topic ${topic}`, async (admin) => {
      await this.#countOf(admin, topic);
      const offsets = await admin.fetchTopicOffsets(topic);
      return offsets.map(({ partition, low, high }) => ({ partition, start: Number(low), end: Number(high) })).sort((a, b) => a.partition - b.partition);
    });
  }

  committed(group: string, topic: string): Promise<readonly Position[]> {
    return this.#ask(`group ${group}`, async (admin) => {
      await this.#countOf(admin, topic);
      const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
      const positions = (found?.partitions ?? []).map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) }));
      return positions.filter(({ offset }) => offset >= 0).sort((a, b) => a.partition - b.partition);
    });
  }

  producer(options: ProducerOptions): Producer {
    const { clock, logger, limits } = this.#options;
    const partitionsOf = (topic: string): Promise<number> => this.#counts.has(topic) ? Promise.resolve(this.#counts.get(topic) ?? 0) : this.#askAlways(`topic ${topic}`, (admin) => this.#countOf(admin, topic));
    const sender = new Sender({ kafka: this.#kafka, delivery: options.delivery, partitionsOf, clock, logger, limits });
    const outbox: Outbox = new Outbox({
      maxBuffered: options.maxBuffered,
      cut: (waiting) => cutOf(waiting, limits),
      send: (records, done) => void sender.send(records).then(done),
      onClosed: async () => {
        await sender.close();
        this.#outboxes.delete(outbox);
      },
    });
    if (this.#isOpen) this.#outboxes.add(outbox);
    else outbox.kill();
    return outbox;
  }

  /** @throws LockstepError `configuration` (no such topic), `invalid_value` (positions), `unreachable`, `stopped` */
  async consume(options: ConsumeOptions): Promise<Subscription> {
    this.#refuseUnlessOpen();
    if (options.topics.length === 0) throw new LockstepError("invalid_value", `group ${options.group}: expected at least one topic`);
    await this.#checkPlaces(options);
    const subscription = new KafkaSubscription({
      kafka: this.#kafka,
      consume: options,
      bounds: (topic) => this.#askAlways(`topic ${topic}`, () => this.bounds(topic)),
      committed: (group, topic) => this.committed(group, topic),
      clock: this.#options.clock,
      logger: this.#options.logger,
      limits: this.#options.limits,
      onEnded: () => void this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    await subscription.start();
    return subscription;
  }

  deleteGroup(group: string): Promise<void> {
    return this.#ask(`group ${group}`, async (admin) => {
      try {
        await admin.deleteGroups([group]);
      } catch (error) {
        const [first] = (error as { readonly groups?: readonly { readonly error?: Error }[] }).groups ?? [];
        const type = typeOf(first?.error ?? error);
        if (type === "GROUP_ID_NOT_FOUND") return;
        if (type === "NON_EMPTY_GROUP") throw new LockstepError("invalid_value", `group ${group} still has members`, error);
        throw error;
      }
    });
  }

  /** For whoever made topics for a while; those that are not there are no fault. */
  async deleteTopics(names: readonly string[]): Promise<void> {
    await this.#ask("topics", async (admin) => {
      const known = new Set(await admin.listTopics());
      const topics = names.filter((name) => known.has(name));
      if (topics.length > 0) await admin.deleteTopics({ topics });
      for (const name of topics) this.#counts.delete(name);
    });
  }

  async close(): Promise<void> {
    this.#isOpen = false; // 1
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.stop()));
    await Promise.all([...this.#outboxes].map((outbox) => outbox.close()));
    await this.#endAdmin();
  }

  /** Ends as a process that dies does: what waits is not sent, nobody is heard again. */
  kill(): void {
    this.#isOpen = false;
    for (const outbox of this.#outboxes) outbox.kill();
    for (const subscription of this.#subscriptions) subscription.kill();
    void this.#endAdmin();
  }

  async #checkPlaces({ group, topics, from }: ConsumeOptions): Promise<void> {
    for (const topic of new Set(topics)) {
      const bounds = await this.bounds(topic);
      const wanted = from === "committed" ? [] : from.filter((position) => position.topic === topic);
      for (const { partition, offset } of wanted) {
        const end = bounds.find((found) => found.partition === partition)?.end;
        if (end === undefined || !Number.isInteger(offset) || offset < 0 || offset > end) {
          throw new LockstepError("invalid_value", `group ${group}: expected ${end === undefined ? `a partition of ${topic}` : `an offset from 0 to ${end}`}, got ${topic}/${partition} at ${offset}`);
        }
      }
    }
    const stray = from === "committed" ? undefined : from.find((position) => !topics.includes(position.topic));
    if (stray !== undefined) throw new LockstepError("invalid_value", `group ${group}: expected a partition of ${topics.join(", ")}, got ${stray.topic}/${stray.partition}`);
  }

  async #countOf(admin: Admin, topic: string): Promise<number> {
    const known = this.#counts.get(topic);
    if (known !== undefined) return known;
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] }).catch((error: unknown) => {
      if (isUnknownTopic(error)) throw new LockstepError("configuration", `there is no topic ${JSON.stringify(topic)}`, error);
      throw error;
    });
    const count = topics[0]?.partitions.length ?? 0;
    this.#counts.set(topic, count);
    return count;
  }

  async #ask<T>(what: string, request: (admin: Admin) => Promise<T>): Promise<T> {
    this.#refuseUnlessOpen();
    return this.#askAlways(what, request);
  }

  /** Also while closing: a producer empties its buffer, a subscription learns where it stands. */
  async #askAlways<T>(what: string, request: (admin: Admin) => Promise<T>): Promise<T> {
    const { clock, limits } = this.#options;
    const untilMs = clock.monotonicMs() + limits.askMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await within(clock, Math.max(1, untilMs - clock.monotonicMs()), what, this.#connected().then(request));
      } catch (error) {
        const fault = logError(what, error);
        const pauseMs = limits.retryPauseMs * attempt;
        // A partition may have no leader for a moment, above all a new one.
        if (fault.code !== "unreachable" || clock.monotonicMs() + pauseMs >= untilMs) throw fault;
        await pause(clock, pauseMs);
      }
    }
  }

  #connected(): Promise<Admin> {
    if (this.#admin !== null) return this.#admin;
    const admin = this.#kafka.admin();
    const connecting = admin.connect().then(() => admin);
    this.#admin = connecting;
    connecting.catch(() => {
      if (this.#admin === connecting) this.#admin = null;
    });
    return connecting;
  }

  async #endAdmin(): Promise<void> {
    const { clock, limits, logger } = this.#options;
    const admin = await this.#admin?.catch(() => null);
    this.#admin = null;
    await within(clock, limits.closeMs, "closing the connection", admin?.disconnect() ?? Promise.resolve()).catch((error: unknown) => logger.debug({ error: messageOf(error) }, "connection not closed cleanly"));
  }

  #refuseUnlessOpen(): void {
    if (!this.#isOpen) throw new LockstepError("stopped", "this connection to the log is closed");
  }
}
