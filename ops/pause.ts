// Owns waiting on the injected clock.

import type { Clock } from "../protocol/ports/clock.ts";

export const pause = (clock: Clock, delayMs: number): Promise<void> => new Promise((resolve) => void clock.after(delayMs, resolve));
