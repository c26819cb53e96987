// Owns how long a node keeps an account that it has no session of: another may reach the broker where
// this one does not.
//
// 1. Counted is the time in which nothing but the account or its broker can be to blame: the gate is open for it, the log
//    is there, and the session does not wait for its turn to log in. A node whose own lease or log is the problem keeps what it has.
// 2. A session that comes ends the count; one that is lost begins it anew.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";

export interface SessionBoundOptions {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly isServed: () => boolean;
  /** Whether it is the account's own fault, as far as can be seen (1). */
  readonly counts: () => boolean;
  /** Called each time that the limit is reached. */
  readonly onOver: () => void;
}

const CHECK_MS = 1_000;

export class SessionBound {
  readonly #options: SessionBoundOptions;
  #timer: Timer | null = null;
  /** Checks, and not the clock: a process that stood still has not tried meanwhile. */
  #withoutMs = 0;

  constructor(options: SessionBoundOptions) {
    this.#options = options;
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #schedule(): void {
    this.#timer = this.#options.clock.after(CHECK_MS, () => {
      this.#schedule();
      this.#check();
    });
  }

  #check(): void {
    const { limitMs, isServed, counts, onOver } = this.#options;
    if (isServed()) this.#withoutMs = 0; // 2
    else if (counts()) this.#withoutMs += CHECK_MS;
    if (this.#withoutMs < limitMs) return;
    this.#withoutMs = 0;
    onOver();
  }
}
