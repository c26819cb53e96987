// Owns waiting for an answer no longer than it is worth: after that it is as good as none.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";

/** @throws LockstepError `unreachable` after `limitMs`; whatever the work does later is not heard of. */
export function within<T>(clock: Clock, limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new LockstepError("unreachable", `${what}: no answer within ${Math.round(limitMs)} ms`)));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
