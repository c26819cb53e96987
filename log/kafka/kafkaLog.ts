// Owns one connection to Kafka, as one process has it: its producers, its subscriptions, and their end.
//
// 1. After `close` nothing is taken any more: every request says `stopped`. What is under way may still
//    ask: a producer empties its buffer, a batch commits.

import type { Kafka } from "kafkajs";
import { LockstepError } from "../../protocol/errors.ts";
import type { ConsumeOptions, EventLog, PartitionBounds, Position, Producer, ProducerOptions, Subscription } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import { Outbox } from "../outbox.ts";
import { AdminConnection, kafkaClient, type ClientOptions } from "./admin.ts";
import { checkPositions } from "./places.ts";
import { Questions } from "./questions.ts";
import { cutOf, Sender } from "./sender.ts";
import { KafkaSubscription } from "./subscription.ts";
import type { Replication } from "./topics.ts";

export interface KafkaLogOptions extends ClientOptions {
  readonly replication: Replication;
}

export class KafkaLog implements EventLog {
  readonly #options: KafkaLogOptions;
  readonly #kafka: Kafka;
  readonly #admin: AdminConnection;
  readonly #questions: Questions;
  readonly #outboxes = new Set<Outbox>();
  readonly #subscriptions = new Set<KafkaSubscription>();
  #isOpen = true;

  /** Connects when it is first asked for something. */
  constructor(options: KafkaLogOptions) {
    this.#options = options;
    this.#kafka = kafkaClient(options);
    this.#admin = new AdminConnection(this.#kafka, options);
    this.#questions = new Questions(this.#admin);
  }

  async ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    this.#refuseUnlessOpen();
    await this.#questions.ensureTopics(specs, this.#options.replication);
  }

  async bounds(topic: string): Promise<readonly PartitionBounds[]> {
    this.#refuseUnlessOpen();
    return this.#questions.bounds(topic);
  }

  async since(topic: string, wallMs: number): Promise<readonly Position[]> {
    this.#refuseUnlessOpen();
    return this.#questions.since(topic, wallMs);
  }

  async committed(group: string, topic: string): Promise<readonly Position[]> {
    this.#refuseUnlessOpen();
    return this.#questions.committed(group, topic);
  }

  producer({ maxBuffered, delivery }: ProducerOptions): Producer {
    const { limits } = this.#options;
    const sender = new Sender({ ...this.#options, kafka: this.#kafka, delivery, partitionsOf: (topic) => this.#questions.partitionsOf(topic) });
    const outbox: Outbox = new Outbox({
      maxBuffered,
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
    await checkPositions(options, this.#questions);
    this.#refuseUnlessOpen();
    const subscription: KafkaSubscription = new KafkaSubscription({ ...this.#options, kafka: this.#kafka, consume: options, questions: this.#questions, onEnded: () => void this.#subscriptions.delete(subscription) });
    this.#subscriptions.add(subscription);
    await subscription.start();
    return subscription;
  }

  async deleteGroup(group: string): Promise<void> {
    this.#refuseUnlessOpen();
    await this.#questions.deleteGroup(group);
  }

  /** For whoever made topics for a while; those that are not there are no fault. */
  async deleteTopics(names: readonly string[]): Promise<void> {
    this.#refuseUnlessOpen();
    await this.#questions.deleteTopics(names);
  }

  async close(): Promise<void> {
    this.#isOpen = false; // 1
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.stop()));
    await Promise.all([...this.#outboxes].map((outbox) => outbox.close()));
    await this.#admin.close();
  }

  /** Ends as a process that dies does: what waits is not sent, nobody is heard again. */
  kill(): void {
    this.#isOpen = false;
    for (const outbox of this.#outboxes) outbox.kill();
    for (const subscription of this.#subscriptions) subscription.kill();
    void this.#admin.close();
  }

  #refuseUnlessOpen(): void {
    if (!this.#isOpen) throw new LockstepError("stopped", "this connection to the log is closed");
  }
}
