// Owns turning pair events into rows: what a batch is, partitions that do not wait for one another, and the
// commit of offsets after the commit of rows.
//
// 1. Offsets are committed only after the rows before them: a crash repeats work, never skips it.
// 2. A slow database slows the reading, never the actors: a partition's next batch comes when the
//    one before is written.
// 3. What comes after a quiet time is written at once. After a small batch the partition's next one is not
//    asked for until `batchMs` are over: meanwhile the log gathers it.
// 4. An event of a newer release is never committed past: its partition waits, the others go on.

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

export class WriterActor {
  readonly #options: WriterOptions;
  readonly #offsets: Offsets;
  /** By partition, also of those that others hold now. */
  readonly #writers = new Map<number, RowWriter>();
  readonly #blocked = new Set<number>();
  /** What ends the pauses between batches, and the wait of blocked partitions. */
  readonly #wake = new Set<() => void>();
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

  /** Ends the retries of a database that does not answer; what is not written is read again by the next owner of the partition. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const writer of this.#writers.values()) writer.stop();
    for (const wake of this.#wake) wake();
    await this.#subscription?.stop();
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
    if (!(await this.#writerOf(partition).write(events))) return;
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
      if (isLockstepError(error, "unknown_schema")) return "unknown"; // 4
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

  /** Invariant 4. Resolves when the writer is stopped. */
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
