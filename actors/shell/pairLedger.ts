// Owns a follower's pairs as they are told to the log: every change of a pair is one event, numbered
// (epoch, n), published after the fact and never awaited.
//
// 1. An event is stamped with the epoch in force when it is told, and keeps it.

import type { Pair } from "../../protocol/pairs.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { EventSink } from "./eventSink.ts";
import type { Counter } from "./counter.ts";
import type { Copy } from "./linkCopies.ts";
import type { Ownership } from "./ownership.ts";

export interface PairLedgerOptions {
  readonly ownership: Ownership;
  readonly events: EventSink;
  readonly numbers: Counter;
  readonly journal: Journal;
}

export class PairLedger {
  readonly #options: PairLedgerOptions;
  /** Called when the buffer had no room for a row: it has to be published again. */
  readonly #onFull: () => void;
  #changes = 0;

  constructor(options: PairLedgerOptions, onFull: () => void) {
    this.#options = options;
    this.#onFull = onFull;
  }

  /** Counts the changes of pairs; see Copy.changedAt. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves when the log has all that was told of this follower before. */
  flush(): Promise<void> {
    return this.#options.events.flush(this.#options.ownership.account);
  }

  /** Marks the beginning of an ownership, or of its epoch; what an older epoch says after it is a zombie's. `onSettled`: null when the log has it. */
  adopt(onSettled: (error: Error | null) => void): void {
    const { ownership, events, numbers } = this.#options;
    const taken = events.publish({ kind: "adopted", follower: ownership.account, epoch: ownership.epoch, n: numbers.next() }, onSettled);
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
    const { ownership, events, numbers, journal } = this.#options;
    const n = numbers.next();
    copy.unpublished = !events.publish({ kind: "pair", follower: ownership.account, epoch: ownership.epoch, n, pair });
    if (copy.unpublished) this.#onFull();
    const { link, masterTicket, opening, status, reason, holds, followerTicket, volume, masterVolume } = pair;
    journal.note(ownership.subject, "pair", { link, masterTicket, opening, status, reason, holds, followerTicket, volume, masterVolume, n, taken: !copy.unpublished });
  }
}
