// Owns running in the foreground: what a command repeats, and the wait for the signal that ends it.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";

/** Repeats things until a signal comes. */
export class Stop {
  readonly #clock: Clock;
  readonly #timers = new Map<() => void, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  repeat(everyMs: number, fn: () => void): void {
    const run = (): void => {
      fn();
      this.repeat(everyMs, fn);
    };
    this.#timers.set(fn, this.#clock.after(everyMs, run));
  }

  async signalled(): Promise<void> {
    await new Promise<void>((resolve) => {
      const stop = (): void => {
        process.off("SIGINT", stop).off("SIGTERM", stop);
        resolve();
      };
      process.on("SIGINT", stop).on("SIGTERM", stop);
    });
    for (const timer of this.#timers.values()) timer.cancel();
  }
}
