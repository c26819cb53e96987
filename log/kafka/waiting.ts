// Owns waiting on the injected clock: a pause, and a bound on what others promise.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";

export const pause = (clock: Clock, delayMs: number): Promise<void> => new Promise((resolve) => void clock.after(delayMs, resolve));

/** @throws LockstepError `unreachable` when it takes longer; what comes of it then is nobody's */
export function within<T>(clock: Clock, limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new LockstepError("unreachable", `${what} took longer than ${limitMs} ms`)));
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
