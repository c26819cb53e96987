// Owns prices that move by themselves: a small random walk, the spread kept.

import type { Random } from "../../protocol/ports/clock.ts";
import type { Points } from "../../protocol/units.ts";
import type { InstrumentQuote } from "./accounts.ts";

const MAX_STEP_POINTS = 5;

/** The next quote of a walk: up to five points either way, never at or below zero. */
export function walkedQuote({ instrument, bid, ask }: InstrumentQuote, random: Random): InstrumentQuote {
  const step = Math.floor(random.next() * (2 * MAX_STEP_POINTS + 1)) - MAX_STEP_POINTS;
  const moved = Math.max(1, bid + step);
  return { instrument, bid: moved as Points, ask: (moved + (ask - bid)) as Points };
}
