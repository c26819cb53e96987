// Owns who listens to a node's followers: what their actors tell the journal is passed on as it happens.
//
// 1. Whoever tells waits for nobody: a listener takes what it is told in its own turn, or gives itself up.
// 2. Passed on are a follower's changed pairs and the life of its account; single ticks, orders and answers are the
//    replay topic's.
// 3. At a trip all listeners end, also those that have heard nothing yet; at the end of an account's ownership its own do.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Journal, Subject } from "../../protocol/ports/journal.ts";
import { TRADE_EVENTS, type TimelineDetail, type TimelineEvent } from "../../protocol/timeline.ts";

export interface FollowerNews {
  /** Wall clock. */
  readonly atMs: number;
  readonly epoch: Epoch;
  readonly event: TimelineEvent;
  readonly detail: TimelineDetail;
}

export interface Listener {
  tell(news: FollowerNews): void;
  /** The last word: nothing is told after it. */
  end(why: string): void;
}

export class FollowerFeed implements Journal {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #listeners = new Map<AccountId, Set<Listener>>();

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  note(subject: Subject | null, event: TimelineEvent, detail: TimelineDetail): void {
    this.#journal.note(subject, event, detail);
    const listeners = subject === null ? undefined : this.#listeners.get(subject.account);
    if (listeners === undefined || subject === null || (event !== "pair" && TRADE_EVENTS.has(event))) return; // 2
    const news: FollowerNews = { atMs: this.#clock.wallMs(), epoch: subject.epoch, event, detail };
    for (const listener of [...listeners]) listener.tell(news);
  }

  get listening(): number {
    let count = 0;
    for (const listeners of this.#listeners.values()) count += listeners.size;
    return count;
  }

  listen(account: AccountId, listener: Listener): void {
    const listeners = this.#listeners.get(account) ?? new Set();
    this.#listeners.set(account, listeners.add(listener));
  }

  /** It listens no more; nothing is said to it. */
  leave(account: AccountId, listener: Listener): void {
    const listeners = this.#listeners.get(account);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(account);
  }

  /** Invariant 3. */
  end(account: AccountId, why: string): void {
    const listeners = this.#listeners.get(account) ?? [];
    this.#listeners.delete(account);
    for (const listener of listeners) listener.end(why);
  }

  endAll(why: string): void {
    for (const account of [...this.#listeners.keys()]) this.end(account, why);
  }
}
