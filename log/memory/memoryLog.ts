// Owns one connection to the in-memory log, as one process would have it: its producers, its
// subscriptions, and their end. A second process is a second MemoryLog on the same store.
//
// 1. A request reaches the store when it is made; its answer comes in a later turn, as over a network.
// 2. After `kill` nothing of this connection is heard again, and the store learns of it only when the
//    session runs out.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { ConsumeOptions, EventLog, PartitionBounds, Position, Producer, ProducerOptions, Subscription } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";
import type { Group, Member } from "./group.ts";
import type { MemoryLogLimits } from "./limits.ts";
import type { Outbox } from "../outbox.ts";
import { memoryProducer } from "./producer.ts";
import { MemoryStore } from "./store.ts";

export interface MemoryLogOptions {
  /** This process's clock: its batches and answers come on it. */
  readonly clock: Clock;
  /** Draws the length of each batch; without it a batch is as long as it may be. */
  readonly random?: Random;
  readonly limits: MemoryLogLimits;
}

export class MemoryLog implements EventLog {
  readonly store: MemoryStore;
  readonly #clock: Clock;
  readonly #producers = new Set<Outbox>();
  readonly #members = new Map<Member, Group>();
  #state: "open" | "closed" | "killed" = "open";

  /** Without a store of its own to share it makes one, with these options. */
  constructor(options: MemoryLogOptions, store: MemoryStore = new MemoryStore(options)) {
    this.store = store;
    this.#clock = options.clock;
  }

  ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    return this.#ask(() => this.store.ensureTopics(specs));
  }

  bounds(topic: string): Promise<readonly PartitionBounds[]> {
    return this.#ask(() => this.store.partitionsOf(topic).map((partition) => partition.bounds()));
  }

  since(topic: string, wallMs: number): Promise<readonly Position[]> {
    return this.#ask(() => this.store.partitionsOf(topic).map((partition) => ({ topic, partition: partition.index, offset: partition.since(wallMs) })));
  }

  committed(group: string, topic: string): Promise<readonly Position[]> {
    return this.#ask(() => this.store.findGroup(group)?.committed(topic) ?? []);
  }

  /** After `close` its producer takes nothing: every append says `stopped`. */
  producer(options: ProducerOptions): Producer {
    const producer = memoryProducer(this.#clock, this.store, options, () => this.#producers.delete(producer));
    if (this.#state === "open") this.#producers.add(producer);
    else producer.kill();
    return producer;
  }

  /** @throws LockstepError `configuration` (no such topic), `invalid_value` (positions), `full` (groups), `stopped` */
  async consume(options: ConsumeOptions): Promise<Subscription> {
    const member: Member = { options: this.#whileAlive(options), topics: [...new Set(options.topics)], clock: this.#clock };
    if (member.topics.length === 0) throw new LockstepError("invalid_value", `group ${options.group}: expected at least one topic`);
    // It joins with the answer: the caller has its subscription before the first batch.
    await this.#ask(() => member.topics.forEach((topic) => this.store.partitionsOf(topic)));
    this.#refuseUnlessOpen();
    const group = this.store.group(options.group);
    group.join(member);
    this.#members.set(member, group);
    return {
      commit: (positions) => this.#commit(member, group, positions),
      // It is in this process: it answers as long as we can ask.
      fetchedAtMs: () => this.#clock.monotonicMs(),
      stop: () => this.#leave(member, group),
    };
  }

  deleteGroup(group: string): Promise<void> {
    return this.#ask(() => this.store.deleteGroup(group));
  }

  /** Ends what was made through this connection; other connections to the store go on. */
  async close(): Promise<void> {
    if (this.#state === "open") this.#state = "closed";
    await Promise.all([...this.#members].map(([member, group]) => this.#leave(member, group)));
    await Promise.all([...this.#producers].map((producer) => producer.close()));
  }

  /** Ends as a process that dies does: without a word. Its partitions move when the session has run out. */
  kill(): void {
    this.#state = "killed"; // 2
    for (const producer of this.#producers) producer.kill();
    const members = [...this.#members];
    this.store.clock.after(this.store.limits.sessionMs, () => {
      for (const [member, group] of members) group.expel(member);
    });
  }

  /**
   * Its process stands still: when the session has run out its partitions move. The function that it returns lets it go
   * on: it joins again, and what it had under way finds its partitions lost. That nothing runs meanwhile is up to the clock.
   */
  standStill(): () => void {
    let expelled: (readonly [Member, Group])[] = [];
    const session = this.store.clock.after(this.store.limits.sessionMs, () => {
      expelled = [...this.#members];
      for (const [member, group] of expelled) group.expel(member);
    });
    return () => {
      session.cancel();
      for (const [member, group] of expelled) if (this.#members.has(member)) group.join(member);
    };
  }

  /** Compacts a topic now, as the log otherwise does by itself. Returns how many records went. */
  compact(topic: string): number {
    return this.store.partitionsOf(topic).reduce((gone, partition) => gone + partition.compact(this.store.clock.wallMs()), 0);
  }

  /** Lets go what is below the position, as retention does. */
  trim(position: Position): void {
    this.store.partition(position.topic, position.partition).trim(position.offset);
  }

  /** Also while closing: a batch that is under way may say how far it came. */
  async #commit(member: Member, group: Group, positions: readonly Position[]): Promise<void> {
    if (this.#state !== "killed") group.commit(member, positions);
    await this.#turn();
  }

  async #leave(member: Member, group: Group): Promise<void> {
    await group.leave(member);
    this.#members.delete(member);
    await this.#turn();
  }

  async #ask<T>(request: () => T): Promise<T> {
    this.#refuseUnlessOpen();
    const answer = request(); // 1
    await this.#turn();
    return answer;
  }

  #refuseUnlessOpen(): void {
    if (this.#state !== "open") throw new LockstepError("stopped", "this connection to the log is closed");
  }

  /** For ever, once killed. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.#clock.soon(() => (this.#state === "killed" ? undefined : resolve())));
  }

  #whileAlive(options: ConsumeOptions): ConsumeOptions {
    const isAlive = () => this.#state !== "killed";
    const untilForgotten = () => new Promise<void>(() => {});
    return {
      ...options,
      async onBatch(batch) {
        try {
          if (isAlive()) await options.onBatch(batch);
        } finally {
          if (!isAlive()) await untilForgotten();
        }
      },
      onGap: (gap) => (isAlive() ? options.onGap(gap) : undefined),
      onCrash: (error) => (isAlive() ? options.onCrash(error) : undefined),
    };
  }
}
