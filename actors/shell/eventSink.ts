// Owns the way of a follower's facts to the log: numbered in order, encoded off the hot path, kept
// in a bounded buffer while the log takes nothing.
//
// 1. Nothing here is awaited by anything that trades.
// 2. Facts are kept in order, also while the node is fenced and after their actor has ended; when the buffer is full the newest is refused and counted, and its
//    pair is marked dirty by the caller, whose next row of the pair contains it.
// 3. A fact that the log lost is handed over again, behind the newer ones: versions put rows in order. Who
//    wants to know is told when the log has it, or when it is given up for good.
// 4. What the log refuses for its own sake would be refused for ever: it is dropped and counted.

import { encodeOwnerEvent } from "../../protocol/codec.ts";
import { isLockstepError, LockstepError } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import { partitionOf } from "../../protocol/topics.ts";

export interface EventSinkOptions {
  readonly producer: Producer;
  readonly topic: string;
  readonly partitions: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Events that may wait for the producer. */
  readonly capacity: number;
  /** Pause before a full producer is tried again. */
  readonly retryMs: number;
}

interface Waiting {
  readonly event: OwnerEvent;
  readonly onSettled: ((error: Error | null) => void) | undefined;
}

/** Somebody waits for these. */
interface Flush {
  readonly open: Set<OwnerEvent>;
  readonly done: () => void;
}

export class EventSink {
  readonly #options: EventSinkOptions;
  #waiting: Waiting[] = [];
  /** Waiting, or with the producer. */
  readonly #unsettled = new Set<OwnerEvent>();
  readonly #flushes = new Set<Flush>();
  #scheduled = false;

  constructor(options: EventSinkOptions) {
    this.#options = options;
  }

  /** False: the buffer is full, the event was not taken. `onSettled` is called once: null when the log has it. */
  publish(event: OwnerEvent, onSettled?: (error: Error | null) => void): boolean {
    if (this.#waiting.length >= this.#options.capacity) {
      this.#options.metrics.count("events_waiting_full");
      return false;
    }
    this.#waiting.push({ event, onSettled });
    this.#unsettled.add(event);
    this.#schedule(0);
    return true;
  }

  /** Resolves when all that was published before, of one follower or of all, has reached the log; what is published meanwhile is not waited for. */
  flush(follower: AccountId | null = null): Promise<void> {
    const open = new Set([...this.#unsettled].filter((event) => follower === null || event.follower === follower));
    if (open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#flushes.add({ open, done: resolve }));
  }

  #forward(): void {
    const { producer, topic, partitions, retryMs } = this.#options;
    this.#scheduled = false;
    const waiting = this.#waiting;
    // What comes meanwhile, also what a producer settles at once, waits behind.
    this.#waiting = [];
    let taken = 0;
    for (const entry of waiting) {
      const { event } = entry;
      const onSettled = (error: Error | null): void => this.#settled(entry, error);
      const result = producer.append(
        { topic, partition: partitionOf(event.follower, partitions), key: event.follower, value: encodeOwnerEvent(event) },
        onSettled,
      );
      if (result === "full") break;
      if (result === "stopped") onSettled(new LockstepError("stopped", "the log's producer is stopped"));
      taken++;
    }
    this.#waiting = [...waiting.slice(taken), ...this.#waiting];
    if (this.#waiting.length > 0) this.#schedule(retryMs);
  }

  /** Invariants 3 and 4. */
  #settled(entry: Waiting, error: Error | null): void {
    const { capacity, metrics, retryMs } = this.#options;
    const isRefused = isLockstepError(error, "invalid_value");
    if (isRefused) metrics.count("events_refused"); // 4
    const isLost = error !== null && !isRefused && !isLockstepError(error, "stopped");
    const isFull = this.#waiting.length >= capacity;
    if (isLost && isFull) metrics.count("events_waiting_full");
    if (!isLost || isFull) return this.#over(entry, error);
    this.#waiting.push(entry);
    this.#schedule(retryMs);
  }

  /** The log has it, or never will. */
  #over({ event, onSettled }: Waiting, error: Error | null): void {
    this.#unsettled.delete(event);
    for (const flush of this.#flushes) {
      if (!flush.open.delete(event) || flush.open.size > 0) continue;
      this.#flushes.delete(flush);
      flush.done();
    }
    onSettled?.(error);
  }

  #schedule(delayMs: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (delayMs === 0) this.#options.clock.soon(() => this.#forward());
    else this.#options.clock.after(delayMs, () => this.#forward());
  }
}
