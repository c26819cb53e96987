// Owns the real clock, timers and randomness: the only place outside the executor's hosts that
// asks the operating system for them.

import type { Clock, Random } from "../protocol/ports/clock.ts";

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Date.now() steps by whole milliseconds: further than this from the carried clock it was stepped. */
const STEP_MS = 1.5;
let wallOffsetMs = Date.now() - monotonicMs();

/** Wall clock with fractions: carried on the monotonic clock, re-read when the system's clock was stepped. */
function wallMs(): number {
  const nowMs = Date.now();
  const carriedMs = monotonicMs() + wallOffsetMs;
  if (carriedMs >= nowMs - STEP_MS && carriedMs <= nowMs + 1 + STEP_MS) return carriedMs;
  wallOffsetMs = nowMs - monotonicMs();
  return nowMs;
}

export const systemClock: Clock = {
  wallMs,
  monotonicMs,
  after(delayMs, fn) {
    const timer = setTimeout(fn, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (fn) => void setImmediate(fn),
};

export const systemRandom: Random = { next: () => Math.random() };
