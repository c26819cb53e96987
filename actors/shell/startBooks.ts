// Owns knowing when all books that were there at a reader's start have been read.
//
// 1. The end of each partition is fixed before the first is read.
// 2. What lies at an end may be gone by then (a tombstone that the log let go): when the log has
//    answered for a while and brought nothing more, there is nothing more. A master whose book is so
//    missed is not known, which concludes nothing.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Batch, PartitionBounds } from "../../protocol/ports/log.ts";

/** The log has answered for so long without another book. */
const NOTHING_MORE_MS = 3_000;
const LOOK_EVERY_MS = 500;

export class StartBooks {
  /** Resolves with the partitions that ended before their end (2); usually none. */
  readonly read: Promise<readonly number[]>;
  readonly #ends: ReadonlyMap<number, number>;
  readonly #unread: Set<number>;
  readonly #clock: Clock;
  #resolve: (missing: readonly number[]) => void = () => undefined;
  #lastAtMs: number;
  #timer: Timer | null = null;

  constructor(bounds: readonly PartitionBounds[], clock: Clock) {
    this.#ends = new Map(bounds.map(({ partition, end }) => [partition, end]));
    this.#unread = new Set(bounds.filter(({ start, end }) => end > start).map(({ partition }) => partition));
    this.#clock = clock;
    this.#lastAtMs = clock.monotonicMs();
    this.read = new Promise((resolve) => (this.#resolve = resolve));
    if (this.#unread.size === 0) this.#resolve([]);
  }

  /** Whether an offset lay there at the start: then its book is no news. */
  wasThere(partition: number, offset: number): boolean {
    return offset < (this.#ends.get(partition) ?? 0);
  }

  take(batch: Batch): void {
    this.#lastAtMs = this.#clock.monotonicMs();
    if (this.wasThere(batch.partition, batch.next)) return;
    if (this.#unread.delete(batch.partition) && this.#unread.size === 0) this.end();
  }

  /** Invariant 2. `fetchedAtMs`: when the log last answered, monotonic. */
  watch(fetchedAtMs: () => number): void {
    if (this.#unread.size === 0) return;
    this.#timer = this.#clock.after(LOOK_EVERY_MS, () => {
      if (fetchedAtMs() - this.#lastAtMs > NOTHING_MORE_MS) this.end();
      else this.watch(fetchedAtMs);
    });
  }

  /** Nobody waits any longer. */
  end(): void {
    this.#timer?.cancel();
    this.#resolve([...this.#unread]);
  }
}
