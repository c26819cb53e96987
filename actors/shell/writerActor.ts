// Owns turning pair events into rows: batches, the fallback for rows that the database refuses, and
// the commit of offsets after the commit of rows.
//
// 1. Offsets are committed only after the rows before them: a crash repeats work, never skips it.
// 2. A batch with a row that the database refuses for that row's own sake is halved down to the
//    row: the others go in, the row is kept aside with the reason.
// 3. Any other failure is not the rows': the batch is kept and tried again with back-off.
// 4. A slow database slows the reading, never the actors: a partition's next batch comes when the
//    one before is written.
// 5. An event of a newer release is never committed past: its partition waits, the others go on.
// 6. A commit that the log did not take is tried again until it does or the partition is another's: what
//    is written must not look like lag.

import { decode, PAIR_EVENT } from "../../protocol/codec.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";
import type { Batch, EventLog, LogRecord, Position, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import { pauseMs } from "../core/retry.ts";

export interface WriterOptions {
  readonly log: EventLog;
  readonly group: string;
  readonly topic: string;
  readonly pairs: PairStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Rows that go into one statement, and how long the first of them waits for more. */
  readonly batchRows: number;
  readonly batchMs: number;
  readonly onCrash: (error: Error) => void;
}

const COMMIT_AGAIN_MS = 1_000;

interface Piece {
  readonly events: readonly PairEvent[];
  readonly next: Position;
  readonly done: () => void;
}

export class WriterActor {
  readonly #options: WriterOptions;
  #subscription: Subscription | null = null;
  #waiting: Piece[] = [];
  #timer: Timer | null = null;
  #writing = false;
  #writingSinceMs: number | null = null;
  #stopped = false;
  #endPause: () => void = () => undefined;
  /** By partition: how far rows are written, where the log does not say so yet. */
  readonly #uncommitted = new Map<number, Position>();
  #commitTimer: Timer | null = null;
  readonly #blocked = new Set<number>();
  readonly #endBlocks: (() => void)[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { log, group, topic, onCrash, logger, metrics } = this.#options;
    this.#subscription = await log.consume({
      group,
      topics: [topic],
      from: "committed",
      onBatch: (batch) => this.#onBatch(batch),
      onGap: (gap) => {
        metrics.count("events_gap");
        logger.error(gap, "pair events were lost to retention: reconcile writes what is open again");
      },
      onCrash,
    });
  }

  /** Partitions that wait for a node of a newer release. */
  get blockedPartitions(): readonly number[] {
    return [...this.#blocked];
  }

  /** Monotonic: when the log last answered; null before the start. */
  get fetchedAtMs(): number | null {
    return this.#subscription?.fetchedAtMs() ?? null;
  }

  /** Monotonic: since when the rows at hand have been waiting for the database; null when none are. */
  get writingSinceMs(): number | null {
    return this.#writingSinceMs;
  }

  /** Ends the retries of a database that does not answer; what is not written is read again by the next owner of the partition. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#commitTimer?.cancel();
    this.#endPause();
    for (const piece of this.#waiting.splice(0)) piece.done();
    for (const end of this.#endBlocks.splice(0)) end();
    await this.#subscription?.stop();
  }

  async #onBatch(batch: Batch): Promise<void> {
    if (this.#stopped) return;
    const { topic, partition } = batch;
    const events: PairEvent[] = [];
    for (const record of batch.records) {
      const event = this.#decode(record);
      if (event === "unknown") {
        await this.#taken(events, { topic, partition, offset: record.offset });
        return this.#block(record);
      }
      if (event !== null) events.push(event);
    }
    await this.#taken(events, { topic, partition, offset: batch.next });
  }

  /** Resolves when the events are rows and `next` is committed. */
  async #taken(events: readonly PairEvent[], next: Position): Promise<void> {
    await new Promise<void>((done) => {
      this.#waiting.push({ events, next, done });
      const rows = this.#waiting.reduce((sum, piece) => sum + piece.events.length, 0);
      if (rows >= this.#options.batchRows) this.#flushSoon(0);
      else this.#flushSoon(this.#options.batchMs);
    });
  }

  /** Null: nobody's bytes, which can only be passed over. */
  #decode(record: LogRecord): PairEvent | "unknown" | null {
    if (record.value === null) return null;
    try {
      return decode(PAIR_EVENT, record.value);
    } catch (error) {
      if (isLockstepError(error, "unknown_schema")) return "unknown"; // 5
      this.#options.logger.error({ ...placeOf(record), error: messageOf(error) }, "event cannot be read");
      this.#options.metrics.count("rows_rejected");
      return null;
    }
  }

  /** Invariant 5. Resolves when the writer is stopped. */
  async #block(record: LogRecord): Promise<void> {
    if (this.#stopped) return;
    this.#options.logger.error(placeOf(record), "an event of a newer release: this partition waits for a node that can read it");
    this.#blocked.add(record.partition);
    await new Promise<void>((end) => this.#endBlocks.push(end));
  }

  #flushSoon(delayMs: number): void {
    if (this.#writing || (this.#timer !== null && delayMs > 0)) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = null;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0 || this.#writing) return;
    const pieces = this.#waiting.splice(0);
    this.#writing = true;
    this.#writingSinceMs = this.#options.clock.monotonicMs();
    const written = await this.#write(pieces.flatMap((piece) => piece.events));
    this.#writingSinceMs = null;
    if (written) await this.#commit(pieces.map((piece) => piece.next));
    for (const piece of pieces) piece.done();
    this.#writing = false;
    if (this.#waiting.length > 0) this.#flushSoon(0);
  }

  /** False: stopped before everything was in. */
  async #write(events: readonly PairEvent[]): Promise<boolean> {
    const { pairs, metrics, logger } = this.#options;
    if (events.length === 0) return true;
    for (let attempt = 1; !this.#stopped; attempt++) {
      try {
        const { written, fenced } = await pairs.write(events);
        metrics.count("rows_written", written);
        metrics.count("rows_fenced", fenced);
        return true;
      } catch (error) {
        if (isLockstepError(error, "row_fault")) return this.#halve(events, error);
        logger.warn({ attempt, rows: events.length, error: messageOf(error) }, "batch kept: the database does not take it now");
        await this.#pause(attempt);
      }
    }
    return false;
  }

  /** Invariant 2. Order is kept: a marker must come after the rows before it. */
  async #halve(events: readonly PairEvent[], fault: Error): Promise<boolean> {
    const [only] = events;
    if (events.length === 1 && only !== undefined) return this.#reject(only, fault);
    const middle = Math.ceil(events.length / 2);
    return (await this.#write(events.slice(0, middle))) && (await this.#write(events.slice(middle)));
  }

  async #reject(event: PairEvent, fault: Error): Promise<boolean> {
    const { pairs, metrics, logger } = this.#options;
    const code = (fault.cause as { readonly code?: string } | undefined)?.code ?? "unknown";
    metrics.count("rows_rejected");
    logger.error({ event, code, error: fault.message }, "row refused by the database and kept aside");
    for (let attempt = 1; !this.#stopped; attempt++) {
      try {
        await pairs.reject(event, { code, text: fault.message });
        return true;
      } catch (error) {
        logger.warn({ attempt, error: messageOf(error) }, "refused row not kept yet");
        await this.#pause(attempt);
      }
    }
    return false;
  }

  /** Grows with each attempt; `stop` ends it at once. */
  async #pause(attempt: number): Promise<void> {
    const { clock, random } = this.#options;
    if (this.#stopped) return;
    await new Promise<void>((resolve) => {
      const timer = clock.after(pauseMs(attempt, random.next()), resolve);
      this.#endPause = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Invariant 6. */
  async #commit(positions: readonly Position[]): Promise<void> {
    for (const position of positions) this.#uncommitted.set(position.partition, position);
    this.#commitTimer?.cancel();
    this.#commitTimer = null;
    const sent = [...this.#uncommitted];
    if (sent.length === 0) return;
    try {
      await this.#subscription?.commit(sent.map(([, position]) => position));
      this.#forget(sent);
    } catch (error) {
      this.#options.logger.warn({ error: messageOf(error) }, "offsets not committed");
      // What others hold now is theirs to commit; the rows are idempotent, so whoever reads them again changes nothing.
      if (isLockstepError(error, "stopped")) this.#forget(sent);
      else if (!this.#stopped) this.#commitTimer = this.#options.clock.after(COMMIT_AGAIN_MS, () => void this.#commit([]));
    }
  }

  #forget(sent: readonly (readonly [number, Position])[]): void {
    for (const [partition, position] of sent) if (this.#uncommitted.get(partition) === position) this.#uncommitted.delete(partition);
  }
}

const placeOf = ({ topic, partition, offset }: LogRecord): object => ({ topic, partition, offset });
