// Owns the clocks of one machine in a simulation, and the process that runs on it: drift, steps of the wall clock, a
// process that is stopped, a machine that is suspended.
//
// 1. While the process stands still nothing of it runs; what fell due meanwhile runs afterwards, in any order.
// 2. Monotonic time goes on while a process is stopped and stands still while a machine is suspended;
//    wall time goes on in both.
// 3. A timer never runs before its time on the monotonic clock.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { FakeScheduler } from "./scheduler.ts";

export class MachineClock implements Clock {
  readonly #clock: FakeScheduler;
  /** Of the true time. */
  readonly #rate: number;
  /** Of the wall clock against the true one. */
  wallOffsetMs = 0;
  alive = true;
  #suspendedMs = 0;
  #stillSinceMs: number | null = null;
  #isSuspended = false;
  #waiting: (() => void)[] = [];

  constructor(clock: FakeScheduler, rate = 1) {
    this.#clock = clock;
    this.#rate = rate;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.wallOffsetMs;
  }

  monotonicMs(): number {
    const standsSinceMs = this.#isSuspended ? this.#stillSinceMs : null;
    return ((standsSinceMs ?? this.#clock.monotonicMs()) - this.#suspendedMs) * this.#rate;
  }

  after(delayMs: number, fn: () => void): Timer {
    const dueMs = this.monotonicMs() + Math.max(0, delayMs);
    let timer: Timer | null = null;
    let isCancelled = false;
    const arm = (): void => {
      timer = this.#clock.after((dueMs - this.monotonicMs()) / this.#rate, () => this.deliver(look));
    };
    const look = (): void => {
      if (isCancelled) return;
      if (this.monotonicMs() < dueMs - 1e-6) arm(); // (3)
      else fn();
    };
    arm();
    return {
      cancel: () => {
        isCancelled = true;
        timer?.cancel();
      },
    };
  }

  soon(fn: () => void): void {
    this.after(0, fn);
  }

  /** Something comes to the process from outside (1). */
  deliver(fn: () => void): void {
    if (!this.alive) return;
    if (this.#stillSinceMs === null) fn();
    else this.#waiting.push(fn);
  }

  get isStill(): boolean {
    return this.#stillSinceMs !== null;
  }

  /** It stands still from now on: as by a stop signal, or with the whole machine. */
  halt(kind: "stopped" | "suspended"): void {
    if (this.#stillSinceMs !== null) return;
    this.#stillSinceMs = this.#clock.monotonicMs();
    this.#isSuspended = kind === "suspended";
  }

  resume(): void {
    if (this.#stillSinceMs === null) return;
    if (this.#isSuspended) this.#suspendedMs += this.#clock.monotonicMs() - this.#stillSinceMs;
    this.#stillSinceMs = null;
    this.#isSuspended = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const fn of waiting) this.#clock.after(this.#clock.random.next(), () => this.deliver(fn));
  }
}
