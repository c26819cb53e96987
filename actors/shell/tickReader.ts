// Owns a node's reading of what masters did: the fold of every master, fed from ticks and books.
//
// 1. Start: the tick offsets are fixed first, then the books are read to the end fixed at the
//    start, then ticks from those offsets on.
// 2. Nothing slow runs in a batch handler: folded ticks go to mailboxes, which take or refuse.
// 3. A record that cannot be read is a gap for its master, never a reason to stop.

import { BOOK, decode, TICK, type Schema } from "../../protocol/codec.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Batch, EventLog, LogRecord, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { Book, Tick } from "../../protocol/ticks.ts";
import type { TimelineDetail, TimelineEvent } from "../../protocol/timeline.ts";
import { messageOf } from "../../protocol/errors.ts";
import { StartBooks } from "./startBooks.ts";
import { tickDetail } from "../core/tickDetail.ts";
import { foldBook, foldTick, newFold, type ClockReading, type FoldStep, type MasterFold } from "../core/masterFold.ts";

export interface TickReaderOptions {
  readonly log: EventLog;
  readonly group: string;
  readonly topics: { readonly ticks: string; readonly books: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
  /** A book that is ahead of the ticks replaces the fold when they have not come by then. */
  readonly bookAheadMs: number;
  readonly handlers: TickHandlers;
  readonly onCrash: (error: Error) => void;
}

export interface TickHandlers {
  /** A new tick, in order. `readAtMs`: monotonic clock at the reader. */
  readonly onTick: (tick: Tick, readAtMs: number) => void;
  /** A sign of life without news, while the master's state is known. */
  readonly onAlive: (master: AccountId, clock: ClockReading) => void;
  /** The master's state was put right by a book: what followers knew of it is void. */
  readonly onBook: (master: AccountId, fold: MasterFold) => void;
  /** A hole: the master's state is not known until `onBook`. */
  readonly onUnsynced: (master: AccountId) => void;
}

interface Followed {
  fold: MasterFold;
  /** The newest book that was ahead of the ticks. */
  held: HeldBook | null;
  timer: Timer | null;
}

interface HeldBook {
  readonly book: Book;
  /** Monotonic; null for a book from before our start. */
  readonly readAtMs: number | null;
}

export class TickReader {
  readonly #options: TickReaderOptions;
  readonly #masters = new Map<AccountId, Followed>();
  #books: StartBooks | null = null;
  #subscription: Subscription | null = null;
  #started = false;
  #onCrash: (error: Error) => void = () => undefined;

  constructor(options: TickReaderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when all books that were there at the start have been read.
   * @throws LockstepError `unreachable`, `configuration` (no such topic)
   */
  async start(): Promise<void> {
    const { log, group, topics, clock, logger, onCrash } = this.#options;
    const ticks = await log.bounds(topics.ticks);
    const bounds = await log.bounds(topics.books);
    const books = new StartBooks(bounds, clock);
    this.#books = books;
    const onBatch = async (batch: Batch): Promise<void> => {
      // Invariant 1: ticks wait until the books of the start are in.
      if (batch.topic === topics.ticks && !this.#started) await books.read;
      this.#onBatch(batch);
      if (batch.topic === topics.books) books.take(batch);
    };
    const from = [
      ...ticks.map(({ partition, end }) => ({ topic: topics.ticks, partition, offset: end })),
      ...bounds.map(({ partition, start }) => ({ topic: topics.books, partition, offset: start })),
    ];
    const crashed = new Promise<never>((_, reject) => (this.#onCrash = reject));
    const subscription = await log.consume({ group, topics: [topics.ticks, topics.books], from, onBatch, onGap: (gap) => this.#onLogGap(gap.topic), onCrash: (error) => this.#onCrash(error) });
    this.#subscription = subscription;
    books.watch(() => subscription.fetchedAtMs());
    const missing = await Promise.race([books.read, crashed]);
    if (missing.length > 0) logger.warn({ partitions: missing }, "the log ended before the end of its books: masters that are missing are known with their next book");
    this.#started = true;
    this.#onCrash = onCrash;
  }

  async stop(): Promise<void> {
    for (const followed of this.#masters.values()) followed.timer?.cancel();
    this.#books?.end();
    await this.#subscription?.stop();
    await this.#options.log.deleteGroup(this.#options.group);
  }

  /** Monotonic: when the log last answered; null before it ever did. */
  get fetchedAtMs(): number | null {
    return this.#subscription?.fetchedAtMs() ?? null;
  }

  /** Masters heard of, and how many of them are known to the last tick. */
  counts(): { readonly masters: number; readonly synced: number } {
    const synced = [...this.#masters.values()].filter(({ fold }) => fold.synced).length;
    return { masters: this.#masters.size, synced };
  }

  /** The state of a master, or null while it is not known. */
  foldOf(master: AccountId): MasterFold | null {
    const fold = this.#masters.get(master)?.fold;
    return fold?.synced === true ? fold : null;
  }

  #onBatch(batch: Batch): void {
    const readAtMs = this.#options.clock.monotonicMs();
    for (const record of batch.records) {
      if (batch.topic === this.#options.topics.ticks) this.#onTickRecord(record, readAtMs);
      else this.#onBookRecord(record, this.#books?.wasThere(record.partition, record.offset) === true ? null : readAtMs);
    }
  }

  #onTickRecord(record: LogRecord, readAtMs: number): void {
    const tick = this.#decode(TICK, record);
    if (tick === null) return this.#unsynced(record.key as AccountId, "a tick that cannot be read");
    const followed = this.#followed(tick.master);
    const before = followed.fold;
    const step = foldTick(before, tick, readAtMs);
    followed.fold = step.fold;
    if (tick.body.kind === "alive" && step.verdict === "folded") this.#options.handlers.onAlive(tick.master, { brokerMs: tick.brokerNowMs, atMs: readAtMs });
    if (step.verdict === "stale" || step.verdict === "gap") {
      this.#options.metrics.count(step.verdict === "stale" ? "ticks_stale" : "ticks_gap");
      this.#tell(tick, step.verdict, { ...tickDetail(tick.seq, tick.body), knownEpoch: before.epoch, knownSeq: before.seq });
    }
    if (step.replaced) return this.#replaced(followed, tick.master, step);
    for (const fresh of step.fresh) this.#options.handlers.onTick(fresh, readAtMs);
    if (before.synced && !step.fold.synced) {
      this.#options.handlers.onUnsynced(tick.master);
      // The book that closes the hole may have come before the tick that showed it.
      if (followed.held !== null) this.#takeBook(followed, followed.held, false);
    }
  }

  #onBookRecord(record: LogRecord, readAtMs: number | null): void {
    // A tombstone only says that an older epoch's book is no longer needed.
    if (record.value === null) return;
    const book = this.#decode(BOOK, record);
    if (book !== null) this.#takeBook(this.#followed(book.master), { book, readAtMs }, false);
  }

  #takeBook(followed: Followed, held: HeldBook, force: boolean): void {
    const { book, readAtMs } = held;
    const step = foldBook(followed.fold, book, readAtMs, force);
    followed.fold = step.fold;
    if (step.ahead) {
      followed.held = held;
      followed.timer ??= this.#options.clock.after(this.#options.bookAheadMs, () => {
        const late = followed.held;
        followed.timer = null;
        followed.held = null;
        if (late !== null) this.#takeBook(followed, late, true);
      });
      return;
    }
    if (step.replaced) this.#replaced(followed, book.master, step);
  }

  #replaced(followed: Followed, master: AccountId, step: FoldStep): void {
    followed.held = null;
    followed.timer?.cancel();
    followed.timer = null;
    const { epoch, seq, positions, pendings } = step.fold;
    this.#tell({ master, epoch }, "refolded", { seq, positions: positions.size, pendings: pendings.size, waiting: step.fresh.length });
    // The fold holds the fresh ticks already; followers reconcile against it as a whole.
    this.#options.handlers.onBook(master, step.fold);
    const readAtMs = this.#options.clock.monotonicMs();
    for (const tick of step.fresh) this.#options.handlers.onTick(tick, readAtMs);
  }

  #unsynced(master: AccountId, why: string): void {
    const followed = this.#followed(master);
    const { epoch, seq } = followed.fold;
    this.#tell({ master, epoch }, "gap", { why, knownEpoch: epoch, knownSeq: seq });
    followed.fold = { ...followed.fold, synced: false };
    this.#options.handlers.onUnsynced(master);
  }

  #onLogGap(topic: string): void {
    this.#options.logger.error({ topic }, "records were lost to retention: every master waits for its next book");
    this.#options.metrics.count("ticks_gap");
    for (const master of this.#masters.keys()) this.#unsynced(master, "retention took ticks before they were read");
  }

  #tell({ master, epoch }: Pick<Tick, "master" | "epoch">, event: TimelineEvent, detail: TimelineDetail): void {
    this.#options.journal.note({ account: master, epoch }, event, detail);
  }

  #followed(master: AccountId): Followed {
    let followed = this.#masters.get(master);
    if (followed === undefined) {
      followed = { fold: newFold(), held: null, timer: null };
      this.#masters.set(master, followed);
    }
    return followed;
  }

  #decode<T>(schema: Schema<T>, record: LogRecord): T | null {
    try {
      return decode(schema, record.value ?? new Uint8Array(0));
    } catch (error) {
      this.#options.metrics.count("ticks_unreadable");
      this.#options.logger.error({ topic: record.topic, partition: record.partition, offset: record.offset, error: messageOf(error) }, "record cannot be read");
      return null;
    }
  }
}
