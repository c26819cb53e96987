// Owns ending a long wait when its command is told to end.

import { LockstepError } from "../../protocol/errors.ts";

/** As the work, unless it is interrupted before. @throws LockstepError `stopped` */
export function unlessInterrupted<T>(interrupt: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const told = (): void => reject(interrupted());
    if (interrupt.aborted) told();
    interrupt.addEventListener("abort", told, { once: true });
    work.then(resolve, reject).finally(() => interrupt.removeEventListener("abort", told));
  });
}

export const interrupted = (): LockstepError => new LockstepError("stopped", "it was interrupted");
