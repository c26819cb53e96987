// Owns turning pair events into rows: what a batch is, partitions that do not wait for one another, and the
// commit of offsets after the commit of rows.
//
// 1. Offsets are committed only after the rows before them: a crash repeats work, never skips it.
// 2. A slow database slows the reading, never the actors: a partition's next batch comes when the
//    one before is written.
// 3. What comes after a quiet time is written at once. After a small batch the partition's next one is not
//    asked for until `batchMs` are over: meanwhile the log gathers it.
// 4. A writer that stops gives its partitions up, also while the database keeps it waiting: what comes of its last statement
//    then is a stale writer's, which the rows' fence and versions are for.
// 5. An event of a newer release is never committed past: its partition waits, the others go on.

import { decodeOwnerEvent } from "../../protocol/codec.ts";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Batch, EventLog, LogRecord, Position, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import { pause, within } from "../../protocol/waiting.ts";
import { Offsets } from "./offsets.ts";
import { RowWriter, type RowsWaiting } from "./rowWriter.ts";

export interface WriterOptions {
  readonly log: EventLog;
  readonly group: string;
  readonly topic: string;
  readonly pairs: PairStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A batch with so many rows is followed by the next at once, a smaller one after so long. */
  readonly batchRows: number;
  readonly batchMs: number;
  readonly onCrash: (error: Error) => void;
}

/** The rows that have waited longest, and why. */
export interface WaitingRows extends RowsWaiting {
  readonly partitions: readonly number[];
}

const DRAIN_LOOK_MS = 50;
/** Of a statement that is under way when the writer stops. Far below a lease's margin: whoever has the partition next must not wait for ours. */
const LAST_STATEMENT_MS = 1_000;

export class WriterActor {
  readonly #options: WriterOptions;
  readonly #offsets: Offsets;
  /** By partition, also of those that others hold now. */
  readonly #writers = new Map<number, RowWriter>();
  readonly #blocked = new Set<number>();
  /** What ends the pauses between batches, and the wait of blocked partitions. */
  readonly #wake = new Set<() => void>();
  /** What ends the wait for a statement (4). */
  readonly #abandon = new Set<() => void>();
  #subscription: Subscription | null = null;
  #stopped = false;

  constructor(options: WriterOptions) {
    const { clock, logger } = options;
    this.#options = options;
    const commit = async (positions: readonly Position[]): Promise<void> => this.#subscription?.commit(positions);
    this.#offsets = new Offsets({ commit, clock, logger });
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

  /** Null when no rows are waiting for the database. */
  get waiting(): WaitingRows | null {
    const all = [...this.#writers].flatMap(([partition, { waiting }]) => (waiting === null ? [] : [{ partition, ...waiting }]));
    const [oldest] = all.sort((a, b) => Number(b.isFault) - Number(a.isFault) || a.sinceMs - b.sinceMs);
    if (oldest === undefined) return null;
    return { sinceMs: Math.min(...all.map(({ sinceMs }) => sinceMs)), why: oldest.why, isFault: oldest.isFault, partitions: all.map(({ partition }) => partition).sort((a, b) => a - b) };
  }

  /** Resolves when what the log has now is rows, whoever writes them; or after `limitMs`, or as soon as the database takes none. */
  async drain(limitMs: number): Promise<void> {
    const { log, topic, clock, logger } = this.#options;
    const untilMs = clock.monotonicMs() + limitMs;
    try {
      const ends = (await within(clock, limitMs, "the log", log.bounds(topic))).filter(({ end }) => end > 0);
      while (!this.#stopped && clock.monotonicMs() < untilMs && (this.waiting?.why ?? null) === null) {
        const left = Math.max(1, untilMs - clock.monotonicMs());
        const committed = new Map((await within(clock, left, "the log", log.committed(this.#options.group, topic))).map(({ partition, offset }) => [partition, offset]));
        if (ends.every(({ partition, end }) => (committed.get(partition) ?? 0) >= end || this.#blocked.has(partition))) return;
        await pause(clock, DRAIN_LOOK_MS);
      }
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "what is not rows yet is written by whoever reads it next");
    }
  }

  /** Resolves when it has left the group. What is not written is read again by the next owner of the partition (4). */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const writer of this.#writers.values()) writer.stop();
    for (const wake of this.#wake) wake();
    const limit = this.#options.clock.after(LAST_STATEMENT_MS, () => {
      for (const abandon of this.#abandon) abandon();
    });
    await this.#subscription?.stop();
    limit.cancel();
    this.#offsets.stop();
  }

  async #onBatch({ topic, partition, records, next, end }: Batch): Promise<void> {
    const { clock, batchRows, batchMs } = this.#options;
    if (this.#stopped) return;
    const startedMs = clock.monotonicMs();
    const events: OwnerEvent[] = [];
    let unknown: LogRecord | null = null;
    for (const record of records) {
      const event = this.#decode(record);
      if (event === "unknown") unknown = record;
      if (unknown !== null) break;
      if (event !== null && event !== "unknown") events.push(event);
    }
    if (!(await this.#unlessAbandoned(this.#writerOf(partition).write(events)))) return;
    await this.#offsets.reached({ topic, partition, offset: unknown?.offset ?? next }); // 1
    if (unknown !== null) return this.#block(unknown);
    if (events.length < batchRows && next >= end) await this.#wait(startedMs + batchMs - clock.monotonicMs()); // 3
  }

  /** Null: nobody's bytes, which can only be passed over. */
  #decode(record: LogRecord): OwnerEvent | "unknown" | null {
    if (record.value === null) return null;
    try {
      return decodeOwnerEvent(record.value);
    } catch (error) {
      if (isLockstepError(error, "unknown_schema")) return "unknown"; // 5
      this.#options.logger.error({ ...placeOf(record), error: messageOf(error) }, "event cannot be read");
      this.#options.metrics.count("rows_rejected");
      return null;
    }
  }

  #writerOf(partition: number): RowWriter {
    let writer = this.#writers.get(partition);
    if (writer === undefined) {
      writer = new RowWriter({ ...this.#options, partition });
      this.#writers.set(partition, writer);
    }
    return writer;
  }

  /** What it comes to, or false when a stop has waited long enough for it (4). */
  #unlessAbandoned(work: Promise<boolean>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const abandon = (): void => resolve(false);
      this.#abandon.add(abandon);
      void work.then(resolve, reject).finally(() => this.#abandon.delete(abandon));
    });
  }

  /** Invariant 5. Resolves when the writer is stopped. */
  async #block(record: LogRecord): Promise<void> {
    this.#options.logger.error(placeOf(record), "an event of a newer release: this partition waits for a node that can read it");
    this.#blocked.add(record.partition);
    await this.#wait(Infinity);
  }

  /** Resolves after so long, or when the writer is stopped. */
  async #wait(ms: number): Promise<void> {
    if (this.#stopped || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer?.cancel();
        this.#wake.delete(done);
        resolve();
      };
      const timer = ms === Infinity ? null : this.#options.clock.after(ms, done);
      this.#wake.add(done);
    });
  }
}

const placeOf = ({ topic, partition, offset }: LogRecord): object => ({ topic, partition, offset });
