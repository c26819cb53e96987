// Owns running in the foreground: what a command repeats, and the wait for the signal that ends it.
//
// 1. A second signal changes nothing: a terminal and npx both send one for one ctrl-C. A third ends the
//    process at once.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import { SIGNALS } from "../launch.ts";

/** Repeats things until a signal comes. */
export class Stop {
  readonly #clock: Clock;
  readonly #timers = new Map<() => void, Timer>();
  #heard: () => void = () => undefined;

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

  /** Resolves at the first signal. Asked for before a long start, it lets the start end in order. */
  async signalled(): Promise<void> {
    await new Promise<void>((resolve) => {
      let signals = 0;
      this.#heard = () => {
        resolve();
        signals += 1;
        if (signals === 2) this.#stopListening(); // (1)
      };
      for (const signal of SIGNALS) process.on(signal, this.#heard);
    });
    for (const timer of this.#timers.values()) timer.cancel();
  }

  /** The last work of a command. */
  async ending(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } finally {
      this.#stopListening();
    }
  }

  #stopListening(): void {
    for (const signal of SIGNALS) process.off(signal, this.#heard);
  }
}
