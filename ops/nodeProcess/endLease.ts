// Owns ending the lease of a process that is dead for certain, so that its accounts are free now
// instead of when the lease runs out.
//
// 1. One statement, guarded by the boot: a lease of any other boot is not touched, and no renewal of
//    the dead one that is still on its way brings it back.
// 2. Tried again while the database does not answer, until the lease has run out by itself.

import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Identity, Registry } from "../../protocol/ports/storage.ts";
import { pause } from "../../protocol/waiting.ts";

export interface EndLeaseOptions {
  readonly registry: Pick<Registry, "leave">;
  readonly me: Identity;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted: not tried again. */
  readonly giveUp: AbortSignal;
}

const RETRY_MS = 500;

/** False: the database did not take it, and the lease runs out by itself. */
export async function endLease({ registry, me, ttlMs, clock, logger, giveUp }: EndLeaseOptions): Promise<boolean> {
  const limitMs = clock.monotonicMs() + ttlMs;
  for (;;) {
    try {
      await registry.leave(me);
      return true;
    } catch (error) {
      logger.warn({ node: me.node, error: messageOf(error) }, "lease not ended yet");
      const isWorthIt = isLockstepError(error) && error.retry === "later" && !giveUp.aborted && clock.monotonicMs() + RETRY_MS < limitMs;
      if (!isWorthIt) return false;
    }
    await pause(clock, RETRY_MS);
  }
}
