// Owns what lies between the client and the handler of one partition: batches that wait, the one that
// is with the handler, and where the partition stands.
//
// 1. One batch at a time is with the handler; the next comes after its promise.
// 2. The client fetches for all partitions at once and waits for none: what comes while the handler is
//    busy waits here as few full batches, and with `maxWaitingBatches` the partition is held back at the client.
// 3. A batch belongs to the stay in the group in which it was fetched: after a rebalance what waited is
//    dropped, and read again by whoever holds the partition then.
// 4. An offset that jumps is shown to `checkJump` before the handler sees what lies behind it.

import type { Batch } from "../../protocol/ports/log.ts";

export interface FeedOptions {
  readonly topic: string;
  readonly partition: number;
  readonly maxBatchRecords: number;
  /** What the client brings at once: no more than that waits as one batch either. */
  readonly partitionBytes: number;
  readonly maxWaitingBatches: number;
  readonly handle: (batch: Batch) => Promise<void>;
  /** Between `expected` and the next record's offset something is missing: says so where retention took it. */
  readonly checkJump: (expected: number) => Promise<void>;
  /** The client brings what lies below where this partition stands: it has begun anew by itself, and says so to nobody. */
  readonly onBack: () => void;
  readonly onFailed: (error: unknown) => void;
  readonly pause: () => void;
  readonly resume: () => void;
}

export class Feed {
  readonly #options: FeedOptions;
  #waiting: Batch[] = [];
  /** The next offset that the client will bring; null while that is not known. */
  #fetched: number | null = null;
  /** The offset after the last batch that was handled in this stay. */
  #handled: number | null = null;
  #isPaused = false;
  #busy: Promise<void> | null = null;
  #isMuted = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get fetched(): number | null {
    return this.#fetched;
  }

  get handled(): number | null {
    return this.#handled;
  }

  /** The batch under way, or null. */
  get busy(): Promise<void> | null {
    return this.#busy;
  }

  /** A new stay in the group, or none: nothing that was fetched before it counts (3). */
  lose(): void {
    this.#waiting = [];
    this.#fetched = null;
  }

  /** From here on in this stay. */
  begin(offset: number): void {
    this.#waiting = [];
    this.#fetched = offset;
    this.#handled = offset;
    this.#isPaused = false;
  }

  /** Nothing more reaches the handler. */
  mute(): void {
    this.#isMuted = true;
    this.#waiting = [];
  }

  offer(batch: Batch): void {
    const from = this.#fetched;
    if (this.#isMuted || from === null) return;
    if (batch.next <= from) return batch.records.length === 0 ? undefined : this.#options.onBack();
    this.#fetched = batch.next;
    for (const part of this.#cut({ ...batch, records: batch.records.filter(({ offset }) => offset >= from) })) this.#queue(part);
    if (this.#waiting.length >= this.#options.maxWaitingBatches) this.#hold(); // 2
    this.#pump();
  }

  /** Joins it to the one that waits last, where both fit into a batch and nothing lies between them. */
  #queue(batch: Batch): void {
    const { maxBatchRecords, partitionBytes } = this.#options;
    const last = this.#waiting.at(-1);
    const fits = last !== undefined && last.records.length + batch.records.length <= maxBatchRecords && bytesOf(last) + bytesOf(batch) <= partitionBytes;
    if (fits && last.next === (batch.records[0]?.offset ?? batch.next)) this.#waiting.splice(-1, 1, { ...batch, records: [...last.records, ...batch.records] });
    else this.#waiting.push(batch);
  }

  #pump(): void {
    if (this.#busy !== null) return;
    const batch = this.#waiting.shift();
    if (batch === undefined) return this.#release();
    this.#busy = this.#work(batch).finally(() => {
      this.#busy = null;
      this.#pump();
    });
  }

  async #work(batch: Batch): Promise<void> {
    const { handle, checkJump, onFailed } = this.#options;
    try {
      const first = batch.records[0]?.offset ?? batch.next;
      if (this.#handled !== null && first > this.#handled) {
        await checkJump(this.#handled); // 4
        if (this.#isMuted) return;
      }
      await handle(batch);
      if (this.#handled !== null) this.#handled = Math.max(this.#handled, batch.next);
    } catch (error) {
      onFailed(error);
    }
  }

  #cut(batch: Batch): Batch[] {
    const { maxBatchRecords } = this.#options;
    if (batch.records.length <= maxBatchRecords) return [batch];
    const parts: Batch[] = [];
    for (let start = 0; start < batch.records.length; start += maxBatchRecords) {
      const records = batch.records.slice(start, start + maxBatchRecords);
      const isLast = start + maxBatchRecords >= batch.records.length;
      parts.push({ ...batch, records, next: isLast ? batch.next : (records.at(-1)?.offset ?? 0) + 1 });
    }
    return parts;
  }

  #hold(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#options.pause();
  }

  #release(): void {
    if (!this.#isPaused || this.#fetched === null) return;
    this.#isPaused = false;
    this.#options.resume();
  }
}

const bytesOf = ({ records }: Batch): number => records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
