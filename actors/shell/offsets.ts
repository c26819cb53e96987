// Owns how far a group's log is committed: one commit in flight, what is reached meanwhile goes into the next.
//
// 1. A commit that the log did not take is tried again until it does or the partition is another's: what is
//    written must not look like lag.
// 2. What others hold now is theirs to commit.

import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Position } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";

export interface OffsetsOptions {
  readonly commit: (positions: readonly Position[]) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const AGAIN_MS = 1_000;

export class Offsets {
  readonly #options: OffsetsOptions;
  /** By partition: how far it is done, where the log does not say so yet. */
  readonly #reached = new Map<number, Position>();
  #inFlight: Promise<void> | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: OffsetsOptions) {
    this.#options = options;
  }

  /** Resolves when the log has taken it, or has refused it once; never rejects. */
  async reached(position: Position): Promise<void> {
    this.#reached.set(position.partition, position);
    await this.#inFlight; // it went without this one
    await this.#commit();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #commit(): Promise<void> {
    this.#inFlight ??= this.#send().finally(() => (this.#inFlight = null));
    return this.#inFlight;
  }

  async #send(): Promise<void> {
    const { commit, clock, logger } = this.#options;
    this.#timer?.cancel();
    this.#timer = null;
    const sent = [...this.#reached];
    if (sent.length === 0) return;
    try {
      await commit(sent.map(([, position]) => position));
      this.#forget(sent);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "offsets not committed");
      if (isLockstepError(error, "stopped")) this.#forget(sent); // 2
      else if (!this.#stopped) this.#timer = clock.after(AGAIN_MS, () => void this.#commit()); // 1
    }
  }

  #forget(sent: readonly (readonly [number, Position])[]): void {
    for (const [partition, position] of sent) if (this.#reached.get(partition) === position) this.#reached.delete(partition);
  }
}
