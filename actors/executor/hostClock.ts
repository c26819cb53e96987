// Owns the clocks of a host thread. A Clock cannot be handed to another thread, so this file is the
// one place of the actors that asks the operating system for the time and for a timer.
//
// 1. Both readings are the same in all threads of a process: `performance.now()` would not be, since
//    each thread counts it from its own start.

import { setTimeout as after } from "node:timers/promises";
import type { Clock } from "../../protocol/ports/clock.ts";

/** The two readings that a gate compares its deadlines with. */
export type TimeSource = Pick<Clock, "monotonicMs" | "wallMs">;

export const hostClock: TimeSource = {
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  wallMs: () => Date.now(),
};

/** A pause of a host that has nothing else to do. */
export const hostPause = (pauseMs: number): Promise<void> => after(pauseMs);
