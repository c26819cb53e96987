// Owns the buffer before a send: what is accepted, what leaves together, and who is told what became of it.
//
// 1. One send is in flight at a time; what comes meanwhile leaves as one batch after it. So the order
//    is kept, and a record that finds nothing in flight leaves at once.
// 2. Every accepted record settles exactly once, in order.
// 3. A record's bytes are copied at the hand-over: the caller may use its buffer again.

import type { AppendResult, OutgoingRecord, Producer } from "../protocol/ports/log.ts";

/** For each record of a batch null, or why the log has it not. */
export type SendResults = readonly (Error | null)[];

export interface OutboxOptions {
  readonly maxBuffered: number;
  /** How many of the waiting leave together: at least one. */
  readonly cut: (waiting: readonly Waiting[]) => number;
  /** Begins a send in this turn; `done` is called once, in a later one. */
  readonly send: (records: readonly OutgoingRecord[], done: (results: SendResults) => void) => void;
  /** Everything has settled and nothing more will come; or nobody waits for it any more. */
  readonly onClosed: () => Promise<void>;
}

export interface Waiting {
  readonly record: OutgoingRecord;
}

interface Accepted extends Waiting {
  readonly onSettled: ((error: Error | null) => void) | undefined;
}

export class Outbox implements Producer {
  readonly #options: OutboxOptions;
  readonly #waiters: { readonly settledCount: number; readonly resolve: () => void }[] = [];
  #waiting: Accepted[] = [];
  #acceptedCount = 0;
  #settledCount = 0;
  #isSending = false;
  #state: "open" | "closed" | "killed" = "open";
  #closing: Promise<void> | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  append(record: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult {
    if (this.#state !== "open") return "stopped";
    if (this.#acceptedCount - this.#settledCount >= this.#options.maxBuffered) return "full";
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

  close(): Promise<void> {
    if (this.#state === "open") this.#state = "closed";
    return (this.#closing ??= this.flush().then(() => this.#options.onClosed()));
  }

  /** The process died: what waits is never sent, and no answer comes any more. */
  kill(): void {
    this.#state = "killed";
    this.#closing ??= this.#options.onClosed();
  }

  #send(): void {
    const batch = this.#waiting.splice(0, Math.max(1, this.#options.cut(this.#waiting)));
    this.#isSending = true; // 1
    this.#options.send(batch.map(({ record }) => record), (results) => {
      if (this.#state !== "killed") this.#settle(batch, results);
    });
  }

  #settle(batch: readonly Accepted[], results: SendResults): void {
    this.#isSending = false;
    this.#settledCount += batch.length;
    if (this.#waiting.length > 0) this.#send();
    batch.forEach(({ onSettled }, index) => onSettled?.(results[index] ?? null)); // 2
    while (this.#waiters[0] !== undefined && this.#waiters[0].settledCount <= this.#settledCount) this.#waiters.shift()?.resolve();
  }
}
