// Owns watching a cluster until something is so: one look after the other, with a bound on each and on all.
//
// 1. A look that fails is no end: the next one may see again. What does not need a look is asked after each
//    one, also after those that failed.
// 2. When the time is over the last look is what there is; if that one failed, its failure.

import { messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { pause, within } from "../../protocol/waiting.ts";

export interface WatchOptions<Look> {
  readonly look: () => Promise<Look>;
  readonly isSo: (look: Look) => boolean;
  /** After every look, null for one that failed; what it throws ends the watch (1). */
  readonly after: (look: Look | null) => void;
  readonly limitMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOOK_EVERY_MS = 500;
/** Longer than everything that is asked in a look may take by its own bound. */
export const LOOK_LIMIT_MS = 30_000;

/** Resolves with the last look: it is so, or the time is over. @throws what the last look met, or `after` threw */
export async function watch<Look>({ look, isSo, after, limitMs, clock, logger }: WatchOptions<Look>): Promise<Look> {
  const endMs = clock.monotonicMs() + limitMs;
  for (;;) {
    const seen = await within(clock, LOOK_LIMIT_MS, "the cluster", look()).then(
      (now) => ({ now, failure: null }),
      (failure: unknown) => ({ now: null, failure }),
    );
    after(seen.now); // (1)
    const isOver = clock.monotonicMs() > endMs;
    if (seen.now !== null && (isOver || isSo(seen.now))) return seen.now;
    if (isOver) throw seen.failure; // (2)
    if (seen.now === null) logger.warn({ error: messageOf(seen.failure) }, "the cluster cannot be seen now");
    await pause(clock, LOOK_EVERY_MS);
  }
}
