// Owns what a node's parent was told to do, and what becomes of it.
//
// 1. It listens before anything is started: told before there is a child, the parent ends what it has
//    begun; told once more, it ends at once.
// 2. The first signal is the child's, which drains; the next one kills it. Signals that come together are
//    one: a terminal and npm both pass them on.
// 3. Whoever started it with a channel may go without a word: the channel's end is a signal as well.

import type { ChildProcess } from "node:child_process";
import type { Clock } from "../../protocol/ports/clock.ts";
import { exitCodeOf, SIGNALS } from "../launch.ts";

const TOGETHER_MS = 500;

export class SignalWatch {
  readonly #clock: Clock;
  readonly #giveUp = new AbortController();
  readonly #listen = (signal: NodeJS.Signals): void => this.#on(signal);
  /** Told already, it is told nothing new by this. */
  readonly #gone = (): void => void (this.#told === null && this.#on("SIGTERM"));
  #child: ChildProcess | null = null;
  #told: NodeJS.Signals | null = null;
  #lastMs = Number.NEGATIVE_INFINITY;
  #killedBy: NodeJS.Signals | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const signal of SIGNALS) process.on(signal, this.#listen);
    process.once("disconnect", this.#gone); // (3)
    process.channel?.unref();
    if (process.connected === false) this.#gone();
  }

  /** From now on signals are this child's. Nothing was told so far. */
  passTo(child: ChildProcess): void {
    this.#child = child;
  }

  get told(): NodeJS.Signals | null {
    return this.#told;
  }

  /** The signal on which the child was killed. */
  get killedBy(): NodeJS.Signals | null {
    return this.#killedBy;
  }

  /** Aborted by a signal that comes when the child is dead already, or was killed. */
  get giveUp(): AbortSignal {
    return this.#giveUp.signal;
  }

  done(): void {
    for (const signal of SIGNALS) process.off(signal, this.#listen);
    process.off("disconnect", this.#gone);
  }

  #on(signal: NodeJS.Signals): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < TOGETHER_MS) return; // (2)
    this.#lastMs = nowMs;
    if (this.#child === null) return this.#beforeChild(signal);
    const isDead = this.#child.exitCode !== null || this.#child.signalCode !== null;
    if (isDead || this.#killedBy !== null) return this.#giveUp.abort();
    if (this.#told === null) {
      this.#told = signal;
      this.#child.kill(signal);
      return;
    }
    this.#killedBy = signal;
    this.#child.kill("SIGKILL");
  }

  /** Invariant 1. */
  #beforeChild(signal: NodeJS.Signals): void {
    if (this.#told !== null) process.exit(exitCodeOf(signal));
    this.#told = signal;
  }
}
