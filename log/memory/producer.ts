// Owns one producer of the in-memory log: the bounded buffer and the coalescing.
//
// 1. One send is in flight at a time; what comes meanwhile leaves as one batch after it. So the order
//    is kept, and a record that finds nothing in flight leaves at once.
// 2. Every accepted record settles exactly once, in order.
// 3. A record's bytes are copied at the hand-over: the caller may use its buffer again.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { AppendResult, OutgoingRecord, Producer, ProducerOptions } from "../../protocol/ports/log.ts";
import type { MemoryStore } from "./store.ts";

interface Accepted {
  readonly record: OutgoingRecord;
  readonly onSettled: ((error: Error | null) => void) | undefined;
}

export class MemoryProducer implements Producer {
  readonly #clock: Clock;
  readonly #store: MemoryStore;
  readonly #maxBuffered: number;
  readonly #onClosed: () => void;
  readonly #waiters: { readonly settledCount: number; readonly resolve: () => void }[] = [];
  #waiting: Accepted[] = [];
  #acceptedCount = 0;
  #settledCount = 0;
  #isSending = false;
  #state: "open" | "closed" | "killed" = "open";

  constructor(clock: Clock, store: MemoryStore, options: ProducerOptions, onClosed: () => void) {
    this.#clock = clock;
    this.#store = store;
    this.#maxBuffered = options.maxBuffered;
    this.#onClosed = onClosed;
  }

  append(record: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult {
    if (this.#state !== "open") return "stopped";
    if (this.#acceptedCount - this.#settledCount >= this.#maxBuffered) return "full";
    this.#acceptedCount += 1;
    const value = record.value === null ? null : new Uint8Array(record.value); // 3
    this.#waiting.push({ record: { ...record, value }, onSettled });
    if (!this.#isSending) this.#send();
    return "accepted";
  }

  flush(): Promise<void> {
    const settledCount = this.#acceptedCount;
    if (this.#settledCount >= settledCount) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ settledCount, resolve }));
  }

  async close(): Promise<void> {
    if (this.#state === "open") this.#state = "closed";
    await this.flush();
    this.#onClosed();
  }

  /** The process died: what waits is never sent, and no answer comes any more. */
  kill(): void {
    this.#state = "killed";
  }

  #send(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#isSending = true; // 1
    const results = this.#store.append(batch.map(({ record }) => record));
    this.#clock.soon(() => {
      if (this.#state !== "killed") this.#settle(batch, results);
    });
  }

  #settle(batch: readonly Accepted[], results: readonly (Error | null)[]): void {
    this.#isSending = false;
    this.#settledCount += batch.length;
    if (this.#waiting.length > 0) this.#send();
    batch.forEach(({ onSettled }, index) => onSettled?.(results[index] ?? null)); // 2
    while (this.#waiters[0] !== undefined && this.#waiters[0].settledCount <= this.#settledCount) this.#waiters.shift()?.resolve();
  }
}
