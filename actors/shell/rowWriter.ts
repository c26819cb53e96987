// Owns how events of one partition become rows, whatever the database says to them: the fallback down to the
// row, retries, and what is told while rows wait.
//
// 1. What the database refuses for a row's own sake is halved down to the row, in the log's order: the others
//    go in, the row is kept aside with its code, text and content.
// 2. A refusal that blames neither rows nor the database is a row's only while others go in: those of its batch, or
//    one that is in already. If every row fails alike, it is the batch.
// 3. Any other failure is nobody's row: the batch is kept and tried again with growing pauses. Where another
//    session was in the way a few tries come soon.
// 4. A commit whose answer was lost is read back before anything is written again: it counts once.

import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairStore, WriteResult } from "../../protocol/ports/storage.ts";
import { UnknownCommit } from "../../protocol/unknownCommit.ts";
import { backoffMs } from "../core/retry.ts";

export interface RowWriterOptions {
  readonly partition: number;
  readonly pairs: Pick<PairStore, "write" | "isDone" | "tryOut" | "reject" | "rowsOf">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Rows that are not in yet. */
export interface RowsWaiting {
  /** Monotonic. */
  readonly sinceMs: number;
  /** What the database last said; null while it has not refused. */
  readonly why: string | null;
  /** It lies in the database, and somebody must put it right. */
  readonly isFault: boolean;
}

/** One call of `write`: what of it is not settled. */
interface Batch {
  left: readonly OwnerEvent[];
}

/** Invariant 3. */
const CONTENDED_TRIES = 6;
const CONTENDED_FIRST_MS = 10;
const CONTENDED_LONGEST_MS = 500;
/**
 * Of a database that takes nothing. The longest is what its return can cost the rows that wait; jittered, so that nodes do not
 * try in step.
 */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** So often a refusal that may be a row's is taken for one that passes. */
const SUSPECT_TRIES = 3;
/** Rows that are tried one by one for whether any goes in (2). */
const SAMPLE = 8;
/** No trade is opened so often. */
const NO_OPENING = 2_147_483_647;

export class RowWriter {
  readonly #options: RowWriterOptions;
  #waiting: RowsWaiting | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #stopped = false;
  #endPause: () => void = () => undefined;

  constructor(options: RowWriterOptions) {
    this.#options = options;
  }

  get waiting(): RowsWaiting | null {
    return this.#waiting;
  }

  /** Resolves when every event is a row, kept aside or kept out; false: stopped before. Calls wait for one another. */
  async write(events: readonly OwnerEvent[]): Promise<boolean> {
    if (events.length === 0) return true;
    const turn = this.#turn.then(async () => {
      this.#waiting = { sinceMs: this.#options.clock.monotonicMs(), why: null, isFault: false };
      const isOver = await this.#put({ left: events }, events, 1);
      this.#waiting = null;
      return isOver;
    });
    this.#turn = turn;
    return turn;
  }

  /** Ends the retries; a statement that is under way may still end well. */
  stop(): void {
    this.#stopped = true;
    this.#endPause();
  }

  async #put(batch: Batch, events: readonly OwnerEvent[], firstTry: number): Promise<boolean> {
    const { pairs, metrics } = this.#options;
    let doubt: UnknownCommit | null = null;
    for (let attempt = firstTry; !this.#stopped; attempt++) {
      try {
        if (doubt !== null && (await pairs.isDone(doubt))) return this.#counted(batch, events, doubt.result); // 4
        doubt = null;
        return this.#counted(batch, events, await pairs.write(events));
      } catch (error) {
        if (error instanceof UnknownCommit) {
          doubt = error;
          metrics.count("commits_unknown");
        }
        if (isLockstepError(error, "row_fault")) return this.#halve(batch, events, error, 1); // 1
        const isSuspect = isLockstepError(error, "row_suspect") && attempt >= SUSPECT_TRIES;
        if (isSuspect && (firstTry > 1 || (await this.#othersGoIn(batch)))) return this.#halve(batch, events, error, SUSPECT_TRIES); // 2
        await this.#keep(events, attempt, error);
      }
    }
    return false;
  }

  /** A marker must come after the rows before it: the halves go in one after the other. */
  async #halve(batch: Batch, events: readonly OwnerEvent[], fault: Error, firstTry: number): Promise<boolean> {
    const [only] = events;
    if (events.length === 1 && only !== undefined) return this.#reject(batch, only, fault);
    const middle = Math.ceil(events.length / 2);
    return (await this.#put(batch, events.slice(0, middle), firstTry)) && (await this.#put(batch, events.slice(middle), firstTry));
  }

  /** Whether any row would go in by itself: some of those that are left, then one that is in already, as if it were a new one. */
  async #othersGoIn({ left }: Batch): Promise<boolean> {
    const { pairs, random } = this.#options;
    const [first] = left;
    if (first === undefined) return false;
    const start = Math.floor(random.next() * left.length);
    const sample = Array.from({ length: Math.min(SAMPLE, left.length) }, (_, step) => left[(start + Math.floor((step * left.length) / SAMPLE)) % left.length] ?? first);
    // What the fence keeps out proves nothing.
    const goesIn = (event: OwnerEvent): Promise<boolean> => pairs.tryOut([event]).then(({ written }) => written > 0, () => false);
    for (const event of sample) if (event.kind === "pair" && (await goesIn(event))) return true;
    const [stored] = await pairs.rowsOf(first.follower).catch(() => []);
    if (stored === undefined) return false;
    return goesIn({ kind: "pair", follower: first.follower, epoch: stored.epoch, n: stored.n, pair: { ...stored.pair, opening: NO_OPENING, status: "Closed" } });
  }

  async #reject(batch: Batch, event: OwnerEvent, fault: Error): Promise<boolean> {
    const { pairs, metrics, logger } = this.#options;
    const code = (fault.cause as { readonly code?: string } | undefined)?.code ?? "unknown";
    metrics.count("rows_rejected");
    logger.error({ event, code, error: fault.message }, "row refused by the database and kept aside");
    for (let attempt = 1; !this.#stopped; attempt++) {
      try {
        await pairs.reject(event, { code, text: fault.message });
        batch.left = batch.left.slice(1);
        return true;
      } catch (error) {
        await this.#keep([event], attempt, error);
      }
    }
    return false;
  }

  #counted(batch: Batch, events: readonly OwnerEvent[], { written, fenced }: WriteResult): true {
    const { metrics, clock } = this.#options;
    batch.left = batch.left.slice(events.length);
    metrics.count("rows_written", written);
    metrics.count("rows_fenced", fenced);
    // What was kept out was written long ago, or never will be: its age says nothing of us.
    if (fenced > 0) return true;
    const nowMs = clock.wallMs();
    metrics.factsWritten(events.flatMap((event) => (event.kind === "pair" ? [nowMs - event.pair.changedAtMs] : [])));
    return true;
  }

  /** Invariant 3. Says why, and resolves when it is time to try again. */
  async #keep(events: readonly OwnerEvent[], attempt: number, error: unknown): Promise<void> {
    const { partition, logger, metrics, random } = this.#options;
    const isSoon = isLockstepError(error, "database_contended") && attempt <= CONTENDED_TRIES;
    const isFault = isLockstepError(error, "database_fault") || isLockstepError(error, "row_suspect");
    const why = messageOf(error);
    metrics.count(isFault ? "batches_refused" : "batches_retried");
    if (!isSoon && this.#waiting !== null) this.#waiting = { ...this.#waiting, why, isFault };
    const fields = { partition, attempt, rows: events.length, error: why };
    if (isFault) logger.error(fields, "batch kept: the database refuses it, and for no row's sake");
    else logger.warn(fields, "batch kept: the database does not take it now");
    await this.#pause(isSoon ? backoffMs(attempt, CONTENDED_FIRST_MS, CONTENDED_LONGEST_MS, random.next()) : backoffMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, random.next()));
  }

  /** `stop` ends it at once. */
  async #pause(ms: number): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.clock.after(ms, resolve);
      this.#endPause = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
