// Owns a follower's pairs as they are told to the log: every change of a pair is one event, numbered
// (epoch, n), published after the fact and never awaited.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { Pair } from "../../protocol/pairs.ts";
import type { EventSink } from "./eventSink.ts";
import type { Counter } from "./counter.ts";
import type { Copy } from "./linkCopies.ts";

export class PairLedger {
  readonly #follower: AccountId;
  readonly #epoch: Epoch;
  readonly #events: EventSink;
  readonly #numbers: Counter;
  /** Called when the buffer had no room for a row: it has to be published again. */
  readonly #onFull: () => void;
  #changes = 0;

  constructor(follower: AccountId, epoch: Epoch, events: EventSink, numbers: Counter, onFull: () => void) {
    this.#follower = follower;
    this.#epoch = epoch;
    this.#events = events;
    this.#numbers = numbers;
    this.#onFull = onFull;
  }

  /** Counts the changes of pairs; see Copy.changedAt. */
  get changes(): number {
    return this.#changes;
  }

  /** Marks the beginning of this ownership; what an older epoch says after it is a zombie's. */
  adopt(onSettled: (error: Error | null) => void): void {
    const taken = this.#events.publish({ kind: "adopted", follower: this.#follower, epoch: this.#epoch, n: this.#numbers.next() }, onSettled);
    if (!taken) onSettled(new Error("the buffer of events is full"));
  }

  set(copy: Copy, pair: Pair): void {
    if (pair === copy.pair) return;
    copy.pair = pair;
    copy.changedAt = ++this.#changes;
    this.#publish(copy, pair);
  }

  publishAgain(copies: Iterable<Copy>): void {
    for (const copy of copies) if (copy.unpublished && copy.pair !== null) this.#publish(copy, copy.pair);
  }

  #publish(copy: Copy, pair: Pair): void {
    copy.unpublished = !this.#events.publish({ kind: "pair", follower: this.#follower, epoch: this.#epoch, n: this.#numbers.next(), pair });
    if (copy.unpublished) this.#onFull();
  }
}
