// Owns what a master's owner says in the log: ticks, books and signs of life, each only while the gate is open.
//
// 1. Ticks are numbered without a hole; a tick that was not said, because the log did not take it or this
//    node could not prove its lease, leaves one, and the next book closes it.
// 2. A book follows its last tick within `bookDelayMs`. Without one in the log a reader that met a hole would
//    wait until the master trades again, so it is said until the log has it.
// 3. Books of lower epochs are no longer needed once one of this epoch is there: their keys are given
//    tombstones, else the topic would grow with every change of owners. A few epochs back are enough: each
//    owner does so. Our own lower ones are among them: every fence that we outlive raises the epoch.

import { BOOK, encode, TICK } from "../../protocol/codec.ts";
import type { Epoch, Seq } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { Book, Tick, TickBody } from "../../protocol/ticks.ts";
import { partitionOf } from "../../protocol/topics.ts";
import type { BrokerMs, WallMs } from "../../protocol/units.ts";
import type { MasterState } from "../core/masterState.ts";
import { tickDetail } from "../core/tickDetail.ts";
import type { Counter } from "./counter.ts";
import type { Ownership } from "./ownership.ts";

export interface MasterLogOptions {
  readonly ownership: Ownership;
  /** Of the ticks: it counts on when the epoch rises. */
  readonly seqs: Counter;
  readonly producer: Producer;
  readonly topics: { readonly ticks: string; readonly books: string };
  readonly partitions: number;
  /** May this node speak for the master now? Asked at every use. */
  readonly isOpen: () => boolean;
  readonly brokerNowMs: () => BrokerMs | null;
  readonly state: () => MasterState;
  readonly bookDelayMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
}

/** Epochs below ours whose books are taken away. */
const LOWER_EPOCHS = 8;

export class MasterLog {
  readonly #options: MasterLogOptions;
  readonly #partition: number;
  #bookTimer: Timer | null = null;
  #cleanBelow = 0;
  /** Epochs at which we have said a book. */
  readonly #said = new Set<number>();
  #stopped = false;

  constructor(options: MasterLogOptions) {
    this.#options = options;
    this.#partition = partitionOf(options.ownership.account, options.partitions);
  }

  stop(): void {
    this.#stopped = true;
    this.#bookTimer?.cancel();
  }

  tick(body: TickBody, occurredAtMs: BrokerMs, callbackAtMs: WallMs): void {
    const { ownership, seqs, producer, topics, isOpen, brokerNowMs, logger, metrics, journal } = this.#options;
    const { account: master, epoch } = ownership;
    const isAlive = body.kind === "alive";
    const seq = (isAlive ? seqs.last : seqs.next()) as Seq;
    if (!isOpen()) {
      if (isAlive) return;
      metrics.count("ticks_fenced");
      journal.note(ownership.subject, "said", { ...tickDetail(seq, body), occurredAtMs, callbackAtMs, result: "fenced" });
      return; // 1
    }
    const tick: Tick = { master, epoch, seq, occurredAtMs, brokerNowMs: brokerNowMs() ?? occurredAtMs, callbackAtMs, body };
    const record = { topic: topics.ticks, partition: this.#partition, key: master, value: encode(TICK, tick) };
    const result = producer.append(record, (error) => {
      if (error === null) return;
      logger.error({ master, seq, error: error.message }, "tick lost: the next book closes the gap");
      this.#bookSoon();
    });
    if (result !== "accepted") logger.error({ master, seq, result }, "tick not taken by the log: the next book closes the gap");
    if (isAlive) return;
    journal.note(ownership.subject, "said", { ...tickDetail(seq, body), occurredAtMs, callbackAtMs, result });
    this.#bookSoon();
  }

  /** The state has something that no tick said: it takes a seq of its own, so that readers see the hole and wait for this book. */
  bookOfNews(): void {
    this.#options.seqs.next();
    this.#book();
  }

  #bookSoon(): void {
    if (!this.#stopped) this.#bookTimer ??= this.#options.clock.after(this.#options.bookDelayMs, () => this.#book());
  }

  #book(): void {
    this.#bookTimer?.cancel();
    this.#bookTimer = null;
    const { ownership, seqs, producer, topics, isOpen, brokerNowMs, state, logger, journal } = this.#options;
    const { account: master, epoch } = ownership;
    if (!isOpen()) return; // The lift brings one.
    const { positions, pendings } = state();
    const book: Book = { master, epoch, seq: seqs.last as Seq, brokerNowMs: brokerNowMs() ?? (0 as BrokerMs), positions: [...positions.values()], pendings: [...pendings.values()] };
    const lost = (why: string): void => {
      logger.error({ master, seq: book.seq, why }, "book not taken by the log");
      this.#bookSoon(); // 2
    };
    const record = { topic: topics.books, partition: this.#partition, key: this.#key(epoch), value: encode(BOOK, book) };
    const result = producer.append(record, (error) => (error === null ? this.#clean(epoch) : lost(error.message)));
    if (result !== "accepted") lost(result);
    journal.note(ownership.subject, "book", { seq: book.seq, positions: book.positions.length, pendings: book.pendings.length, result });
  }

  /** Invariant 3, once an epoch. One that is lost is the next owner's to say. */
  #clean(epoch: Epoch): void {
    const { producer, topics, isOpen } = this.#options;
    this.#said.add(epoch);
    if (this.#cleanBelow >= epoch || !isOpen()) return;
    this.#cleanBelow = epoch;
    const before = Array.from({ length: LOWER_EPOCHS }, (_, index) => epoch - LOWER_EPOCHS + index).filter((lower) => lower > 0);
    for (const lower of new Set([...this.#said, ...before])) {
      if (lower >= epoch) continue;
      producer.append({ topic: topics.books, partition: this.#partition, key: this.#key(lower), value: null });
      this.#said.delete(lower);
    }
  }

  #key(epoch: number): string {
    return `${this.#options.ownership.account}/${epoch}`;
  }
}
