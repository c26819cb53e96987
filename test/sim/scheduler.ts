// Owns fake time: a Clock whose time moves only when the test says so, and whose ready callbacks
// run in an order drawn from a seed. The shell runs in it unchanged.
//
// 1. Nothing runs by itself: the same seed and the same calls give the same run.
// 2. Callbacks due at the same moment run in seeded order, as an operating system might choose.

import assert from "node:assert/strict";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";

/** A small seeded generator (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

const EPOCH_MS = Date.UTC(2026, 0, 1);
/** A run that needs more turns than this to come to rest is taken for an endless one. */
const MAX_TURNS = 1_000_000;

export class FakeScheduler implements Clock {
  readonly random: Random;
  #nowMs = 0;
  /** Added to the wall clock: tests step it. */
  wallOffsetMs = 0;
  readonly #entries: Entry[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  wallMs(): number {
    return EPOCH_MS + this.#nowMs + this.wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fn: () => void): Timer {
    const entry: Entry = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.random.next(), fn, cancelled: false };
    this.#insert(entry);
    return { cancel: () => void (entry.cancelled = true) };
  }

  soon(fn: () => void): void {
    this.after(0, fn);
  }

  get pending(): number {
    return this.#entries.filter((entry) => !entry.cancelled).length;
  }

  /** Lets `durationMs` of fake time pass, running everything that falls due, promises included. */
  async advance(durationMs: number): Promise<void> {
    await this.#run(this.#nowMs + durationMs, () => false);
  }

  /** Lets time pass until `condition` holds, at most `limitMs`. It is looked at after every callback. */
  async until(condition: () => boolean, limitMs = 60_000): Promise<void> {
    const isMet = await this.#run(this.#nowMs + limitMs, condition);
    assert.ok(isMet, `condition not met within ${limitMs} ms of fake time: ${condition.toString()}`);
  }

  /** Whether `isDone` came to hold; else nothing is due any more until `untilMs`, and it is that time. */
  #run(untilMs: number, isDone: () => boolean): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let turns = 0;
      // A real immediate comes after all promise callbacks that are ready.
      const turn = (): void => {
        try {
          if (isDone()) return resolve(true);
          if (!this.#runNext(untilMs)) return resolve(false);
          if (++turns > MAX_TURNS) throw new Error(`no rest after ${MAX_TURNS} turns`);
          setImmediate(turn);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      setImmediate(turn);
    });
  }

  /** Runs what is due next; false, with the time at `untilMs`, when nothing is due until then. */
  #runNext(untilMs: number): boolean {
    const next = this.#take(untilMs);
    this.#nowMs = Math.max(this.#nowMs, next?.dueMs ?? untilMs);
    next?.fn();
    return next !== null;
  }

  #take(untilMs: number): Entry | null {
    while (this.#entries.at(-1)?.cancelled === true) this.#entries.pop();
    const next = this.#entries.at(-1);
    if (next === undefined || next.dueMs > untilMs) return null;
    this.#entries.pop();
    return next;
  }

  /** Keeps the entries sorted, the next one last. */
  #insert(entry: Entry): void {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle];
      if (other !== undefined && isBefore(entry, other)) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, entry);
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
