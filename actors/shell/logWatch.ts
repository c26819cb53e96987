// Owns noticing that the log does not answer this node any more, and what follows from that.
//
// 1. Silence is the time in which we ran and asked and heard nothing: a process that stood still has not
//    been silent to for that long.
// 2. Cut off while another live node says that it reaches the log: whoever takes our accounts over
//    hears what we do not, so this process ends. When no other says so the log is down for all: the
//    accounts are kept, and the node says that it is not ready.
// 3. What the others say is read from rows of the database, which may be older than the silence. It
//    counts when it was asked for so late that every live node must have written its row since it would have
//    noticed a silence like ours, and when it is the word of now: a database that is away, or has just
//    come back, tells nothing of the others.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { LockstepError } from "../../protocol/errors.ts";

/** What the database said of the other live nodes, with the newest renewal of our lease that was answered. */
export interface OthersWord {
  /** One of them at least says that it reaches the log. */
  readonly reachLog: boolean;
  /** Monotonic: when that renewal was sent, and the first of those that were all answered up to it. */
  readonly askedAtMs: number;
  readonly answeredSinceMs: number;
}

export interface WordBounds {
  /** A node says that it does not reach the log when that has been silent for so long. */
  readonly silentMs: number;
  /** Every node that is there writes its row within this. */
  readonly cycleMs: number;
}

/** Invariant 3: whether others are known to reach the log while we have heard nothing since `silentSinceMs`. */
export function isBelieved(word: OthersWord | null, silentSinceMs: number, nowMs: number, { silentMs, cycleMs }: WordBounds): boolean {
  if (word === null || !word.reachLog || nowMs - word.askedAtMs > cycleMs) return false;
  return word.askedAtMs >= Math.max(silentSinceMs + silentMs, word.answeredSinceMs) + cycleMs;
}

export interface LogWatchOptions extends WordBounds {
  /** When each reader last heard of the log, monotonic; null for one that has not begun. */
  readonly heardAtMs: () => readonly (number | null)[];
  readonly others: () => OthersWord | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From here on the process ends when the others are known to reach the log (2). */
  readonly cutOffMs: number;
  readonly onCutOff: (error: Error) => void;
}

const LOOK_EVERY_MS = 1_000;

export class LogWatch {
  readonly #options: LogWatchOptions;
  #timer: Timer | null = null;
  #heardAtMs: number | null = null;
  #lookedAtMs = 0;
  #silenceMs = 0;
  #isDown = false;

  constructor(options: LogWatchOptions) {
    this.#options = options;
  }

  /** All readers have begun. */
  start(): void {
    this.#lookedAtMs = this.#options.clock.monotonicMs();
    this.#look();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** For how long the log has not answered one of the readers; null before the start. */
  get silenceMs(): number | null {
    return this.#timer === null ? null : this.#silenceMs;
  }

  get ok(): boolean {
    return this.#timer !== null && this.#silenceMs < this.#options.silentMs;
  }

  #look(): void {
    const { clock, cutOffMs, others, onCutOff } = this.#options;
    this.#timer = clock.after(LOOK_EVERY_MS, () => this.#look());
    const nowMs = clock.monotonicMs();
    this.#measure(nowMs);
    this.#say();
    if (this.#silenceMs < cutOffMs || !isBelieved(others(), nowMs - this.#silenceMs, nowMs, this.#options)) return;
    this.stop();
    onCutOff(new LockstepError("unreachable", `the log has not answered for ${Math.round(this.#silenceMs / 1_000)} s, and other nodes reach it`));
  }

  #measure(nowMs: number): void {
    const heard = this.#options.heardAtMs();
    const oldest = heard.some((atMs) => atMs === null) ? null : Math.min(...heard.map(Number));
    const ranMs = Math.min(nowMs - this.#lookedAtMs, 2 * LOOK_EVERY_MS); // 1
    this.#silenceMs = oldest !== null && oldest !== this.#heardAtMs ? Math.min(nowMs - oldest, LOOK_EVERY_MS) : this.#silenceMs + ranMs;
    this.#heardAtMs = oldest;
    this.#lookedAtMs = nowMs;
  }

  #say(): void {
    const { logger, silentMs } = this.#options;
    const isDown = this.#silenceMs >= silentMs;
    if (isDown === this.#isDown) return;
    this.#isDown = isDown;
    if (isDown) logger.error({ silenceMs: this.#silenceMs }, "the log does not answer: not ready");
    else logger.info({}, "the log answers again");
  }
}
