// Owns when a lost session is tried again: exponential back-off with jitter, bounded on both sides.
//
// 1. At most one try is ahead at any time.
// 2. The back-off starts anew only after a connection that lasted: a broker that accepts and kicks
//    at once is not hammered.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";
import { backoffMs } from "../core/retry.ts";

export interface ReconnectOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The longest first pause. */
  readonly minMs: number;
  /** The longest pause of all; also how long a connection must last to be called good. */
  readonly maxMs: number;
}

export class Reconnect {
  readonly #options: ReconnectOptions;
  readonly #attempt: () => void;
  #failures = 0;
  #upSinceMs: number | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  /** @throws LockstepError `configuration` */
  constructor(options: ReconnectOptions, attempt: () => void) {
    if (!(options.minMs > 0 && options.minMs <= options.maxMs)) {
      throw new LockstepError("configuration", `reconnect pauses: expected 0 < min <= max, got ${options.minMs} and ${options.maxMs} ms`);
    }
    this.#options = options;
    this.#attempt = attempt;
  }

  /** The session is up. */
  succeeded(): void {
    this.#upSinceMs = this.#options.clock.monotonicMs();
  }

  /** The session is down, or did not come up: tries again later. Returns the pause. */
  failed(): number {
    const { clock, random, minMs, maxMs } = this.#options;
    if (this.#upSinceMs !== null && clock.monotonicMs() - this.#upSinceMs >= maxMs) this.#failures = 0; // (2)
    this.#upSinceMs = null;
    this.#failures += 1;
    const pauseMs = backoffMs(this.#failures, minMs, maxMs, random.next());
    this.#timer?.cancel(); // (1)
    if (!this.#stopped) this.#timer = clock.after(pauseMs, this.#attempt);
    return pauseMs;
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }
}
