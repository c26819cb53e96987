// Owns the ports for time, timers and randomness. Everything that waits or draws lots gets them
// from here, so that a scheduler with fake time and a seed can run the same code.

import type { WallMs } from "../units.ts";

export interface Timer {
  /** After it the callback never runs. Calling it twice, or late, does nothing. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since 1970, with fractions. May jump. */
  wallMs(): number;
  /** Milliseconds since some fixed moment of this machine, with fractions; the same in all threads of a process; never goes back. */
  monotonicMs(): number;
  /** Runs `fn` once, `delayMs` from now or a little later. */
  after(delayMs: number, fn: () => void): Timer;
  /** Runs `fn` soon, in a turn of its own. */
  soon(fn: () => void): void;
}

/** The wall clock in whole milliseconds, as rows and records hold it. */
export const wallNow = (clock: Clock): WallMs => Math.floor(clock.wallMs()) as WallMs;

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}
