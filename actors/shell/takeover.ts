// Owns how the owner of a follower comes to trade it: its marker in the log, the session, the barrier,
// the settle time; and the marker again whenever its ownership was confirmed at a higher epoch.
//
// 1. A marker is published when the log has all that this node said of the follower before: what comes behind it
//    at a lower epoch is a zombie's. A marker that is given up is published again.
// 2. The session is opened once the log has acknowledged a marker, and not before.
// 3. The barrier is waited for after an acquisition, not after a confirmation: we know our pairs. It has passed when the
//    writers have reached our marker: then the rows are read again. If it does not in time, we go on: the broker is the record.
// 4. Nothing that trades waits for any of this but for (2): barrier and settle time only say from when on a plan concludes more.

import type { Epoch } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairRow, PairStore } from "../../protocol/ports/storage.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Ownership } from "./ownership.ts";
import type { PairLedger } from "./pairLedger.ts";

export interface TakeoverOptions {
  readonly ownership: Ownership;
  readonly ledger: PairLedger;
  readonly pairs: Pick<PairStore, "projectedEpoch" | "rowsOf">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
  /** Monotonic: until then an order of a former owner may be executed. */
  readonly settledAtMs: number;
  /** The log has the first marker (2). */
  readonly onMarked: () => void;
  /** The barrier has passed: all rows as they are now. */
  readonly onRows: (rows: readonly PairRow[]) => void;
  readonly look: (cause: string) => void;
}

const MARK_AGAIN_MS = 1_000;
const POLL_MS = 250;
/** So long a barrier is waited for. */
export const BARRIER_LATE_MS = 15_000;
/** A barrier that is late is asked for less often. */
const LATE_POLL_MS = 5_000;

export class Takeover {
  readonly #options: TakeoverOptions;
  #marking = false;
  #markedEpoch: Epoch | null = null;
  #barrier: "waiting" | "late" | "passed" = "waiting";
  #polling: Timer | null = null;
  #late: Timer | null = null;
  #settling: Timer | null = null;
  #markTimer: Timer | null = null;
  #startedAtMs = 0;
  #stopped = false;

  constructor(options: TakeoverOptions) {
    this.#options = options;
  }

  /** What the plan is to go by. */
  get barrier(): "open" | "waiting" {
    return this.#barrier === "waiting" ? "waiting" : "open";
  }

  /** What the former owners said is known here: what ended meanwhile need not be remembered for its sake. */
  get passed(): boolean {
    return this.#barrier === "passed";
  }

  start(): void {
    const { clock, settledAtMs } = this.#options;
    this.#startedAtMs = clock.monotonicMs();
    const leftMs = settledAtMs - this.#startedAtMs;
    if (leftMs > 0) this.#settling = clock.after(leftMs, () => this.#settled(leftMs));
    this.#mark();
  }

  /** The ownership goes on at a higher epoch. */
  confirmed(): void {
    this.#mark();
  }

  /** The rows are taken. */
  pass(rows: number, news: number): void {
    const { ownership, clock, journal, look } = this.#options;
    this.#late?.cancel();
    this.#barrier = "passed";
    journal.note(ownership.subject, "barrier", { afterMs: Math.round(clock.monotonicMs() - this.#startedAtMs), rows, news });
    look("barrier");
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of [this.#polling, this.#late, this.#settling, this.#markTimer]) timer?.cancel();
  }

  /** Invariant 1. */
  #mark(): void {
    const { ownership, ledger } = this.#options;
    if (this.#marking || this.#stopped || this.#markedEpoch === ownership.epoch) return;
    this.#marking = true;
    void ledger.flush().then(() => {
      if (this.#stopped) return;
      const { epoch } = ownership;
      ledger.adopt((error) => this.#marked(epoch, error));
    });
  }

  #marked(epoch: Epoch, error: Error | null): void {
    const { ownership, clock, logger, journal, onMarked } = this.#options;
    this.#marking = false;
    if (this.#stopped) return;
    if (error !== null) {
      logger.warn({ follower: ownership.account, error: error.message }, "marker not acknowledged by the log");
      this.#markTimer = clock.after(MARK_AGAIN_MS, () => this.#mark());
      return;
    }
    const isFirst = this.#markedEpoch === null;
    this.#markedEpoch = epoch;
    journal.note({ account: ownership.account, epoch }, "marker", { afterMs: Math.round(clock.monotonicMs() - this.#startedAtMs), first: isFirst });
    if (isFirst) {
      this.#late = clock.after(BARRIER_LATE_MS, () => this.#isLate());
      this.#pollAfter(0);
      onMarked();
    }
    this.#mark(); // It may have been confirmed meanwhile.
  }

  #pollAfter(delayMs: number): void {
    if (!this.#stopped) this.#polling = this.#options.clock.after(delayMs, () => void this.#poll());
  }

  async #poll(): Promise<void> {
    const { ownership, pairs, logger, onRows } = this.#options;
    const markedEpoch = this.#markedEpoch;
    try {
      const rows = markedEpoch !== null && (await pairs.projectedEpoch(ownership.account)) >= markedEpoch ? await pairs.rowsOf(ownership.account) : null;
      if (rows !== null) return this.#stopped ? undefined : onRows(rows);
    } catch (error) {
      logger.info({ follower: ownership.account, error: messageOf(error) }, "the barrier cannot be asked for");
    }
    this.#pollAfter(this.#barrier === "late" ? LATE_POLL_MS : POLL_MS);
  }

  /** Invariant 3. */
  #isLate(): void {
    const { ownership, journal, metrics, look } = this.#options;
    this.#barrier = "late";
    metrics.count("barriers_late");
    journal.note(ownership.subject, "barrier_late", { waitedMs: BARRIER_LATE_MS, epoch: this.#markedEpoch });
    look("barrier late");
  }

  #settled(waitedMs: number): void {
    const { ownership, journal, look } = this.#options;
    journal.note(ownership.subject, "settled", { waitedMs: Math.round(waitedMs) });
    look("settle");
  }
}
