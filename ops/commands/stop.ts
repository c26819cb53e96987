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

const KEEP_ALIVE_MS = 60_000;

/**
 * Starts a server, says where it is, and runs until a signal comes; then it is stopped, if nobody else uses it. A signal
 * while it starts stops it as soon as it has started.
 */
export async function serveInForeground<S extends { stop(): Promise<void> }>(clock: Clock, start: () => Promise<S>, say: (server: S) => void): Promise<void> {
  const stop = new Stop(clock);
  const told = { toEnd: false };
  const end = stop.signalled().then(() => (told.toEnd = true));
  const server = await start();
  // The server has no pipe to us and a listener for signals is no work: a timer keeps the process here.
  if (!told.toEnd) stop.repeat(KEEP_ALIVE_MS, () => undefined);
  // Whoever reads this may end us at once.
  say(server);
  await end;
  await stop.ending(() => server.stop());
}
