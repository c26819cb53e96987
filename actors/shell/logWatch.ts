// Owns noticing that the log does not answer this node any more, and what follows from that.
//
// 1. Silence is the time in which we ran and asked and heard nothing: a process that stood still has not
//    been silent to for that long.
// 2. Cut off while another live node says that it reaches the log: whoever takes our accounts over
//    hears what we do not, so this process ends. When no other says so the log is down for all: the
//    accounts are kept, and the node says that it is not ready.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { LockstepError } from "../../protocol/errors.ts";

export interface LogWatchOptions {
  /** When each reader last heard of the log, monotonic; null for one that has not begun. */
  readonly heardAtMs: () => readonly (number | null)[];
  readonly othersLogOk: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From here on the log counts as not answering. */
  readonly silentMs: number;
  /** From here on the process ends (2). */
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
    const { clock, cutOffMs, othersLogOk, onCutOff } = this.#options;
    this.#timer = clock.after(LOOK_EVERY_MS, () => this.#look());
    this.#measure(clock.monotonicMs());
    this.#say();
    if (this.#silenceMs < cutOffMs || !othersLogOk()) return;
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
