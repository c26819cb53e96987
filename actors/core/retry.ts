// Owns what follows a refusal: when an order is tried again, and when it is given up. A table, not
// a habit: what is not in it is not retried.
//
// 1. An open or place is tried a few times, once of these without stops, then skipped with the reason.
// 2. A close or cancel is never given up while the copy stands: the pause only grows.
// 3. A modify or change that can never succeed is given up for those very levels.

import type { Order, RefusalClass } from "../../protocol/orders.ts";
import { unreachable } from "../../protocol/errors.ts";

export type Retry =
  /** `plain`: without stops, which follow in a modify of their own. */
  | { readonly kind: "again"; readonly afterMs: number; readonly plain: boolean }
  | { readonly kind: "give_up" };

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;
const OPEN_ATTEMPTS = 5;
const MODIFY_ATTEMPTS = 5;

/**
 * The pause after `attempt` tries in a row, from 1: doubles from `firstMs` up to `longestMs`, jittered down to half so that
 * many do not try in step.
 * @param jitter uniform in [0, 1)
 */
export function backoffMs(attempt: number, firstMs: number, longestMs: number, jitter: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30)); // the exponent stays finite
  return full * (0.5 + jitter / 2);
}

/** Of a refused order. */
export const pauseMs = (attempt: number, jitter: number): number => backoffMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, jitter);

export interface Tried {
  /** How many times this was tried already, from 1. */
  readonly attempt: number;
  /** The last time without stops. */
  readonly plain: boolean;
}

/** @param jitter uniform in [0, 1) */
export function afterRefusal(kind: Order["kind"], refusal: Exclude<RefusalClass, "already">, { attempt, plain }: Tried, jitter: number): Retry {
  const again = (): Retry => ({ kind: "again", afterMs: pauseMs(attempt, jitter), plain: false });
  const opens = kind === "open" || kind === "place";
  const closes = kind === "close" || kind === "cancel";
  switch (refusal) {
    case "fresh_price":
    case "wait":
      return opens && attempt >= OPEN_ATTEMPTS ? { kind: "give_up" } : again();
    case "adjust":
      if (!closes && !opens && attempt >= MODIFY_ATTEMPTS) return { kind: "give_up" };
      if (opens) return plain || attempt >= OPEN_ATTEMPTS ? { kind: "give_up" } : { kind: "again", afterMs: 0, plain: true };
      return again();
    case "market_closed":
      return opens ? { kind: "give_up" } : again();
    case "final":
      return closes ? again() : { kind: "give_up" };
    default:
      return unreachable(refusal);
  }
}
