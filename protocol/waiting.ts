// Owns waiting on the injected clock: a pause, and an answer that is waited for no longer than it is worth.

import { LockstepError } from "./errors.ts";
import type { Clock } from "./ports/clock.ts";

export const pause = (clock: Clock, delayMs: number): Promise<void> => new Promise((resolve) => void clock.after(delayMs, resolve));

/** @throws LockstepError `unreachable` after `limitMs`; whatever the work does later is not heard of. */
export function within<T>(clock: Clock, limitMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limitMs, () => reject(new LockstepError("unreachable", `${what}: no answer within ${Math.round(limitMs)} ms`)));
    work.then(resolve, reject).finally(() => timer.cancel());
  });
}
