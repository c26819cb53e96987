// Owns the one excuse for a copy that did not get its master's stops, or a pending order its price.
//
// 1. A copy may be without them only as long as its broker has to refuse them, and only if it was
//    asked each time that it did not have to for longer than the grace. An attempt of unknown outcome
//    counts as asked.

import type { Order } from "../../../protocol/orders.ts";
import type { Copy } from "./cases.ts";
import type { Trade } from "./history.ts";
import { isUnknown } from "./outcomes.ts";
import { isBorneOut, isInvalidAt } from "./refusals.ts";
import type { Span } from "./periods.ts";

/** What a copy should have had, and did not come to. */
export interface Want {
  readonly life: Trade;
  readonly rest: Span;
  /** The change that would bring it there. */
  readonly order: Order;
  /** Whether an order asks for just that: the opening may have done so already. */
  readonly isAskedBy: (order: Order) => boolean;
}

/** Whether the copy is without it because its broker had to refuse it all along (1). */
export function isBrokersDoing({ follower, symbol, requests, patience }: Copy, { life, rest: { fromMs, toMs }, order, isAskedBy }: Want): boolean {
  if (symbol === null) return false;
  const { quotes, platform } = follower;
  const attempts = requests.filter((request) => request.atMs >= fromMs - patience.graceMs && request.atMs <= patience.dueMs(toMs) && isAskedBy(request.order));
  if (attempts.length === 0 || !attempts.every((attempt) => isUnknown(attempt, platform) || isBorneOut(attempt, platform, symbol, quotes))) return false;

  const changes = [...quotes.inForce(symbol, { fromMs, toMs }), ...attempts].sort((a, b) => a.n - b.n);
  let allowedSinceMs: number | null = null;
  for (const { n, atMs } of changes) {
    if (allowedSinceMs !== null && atMs > patience.dueMs(allowedSinceMs)) return false;
    const isAllowed = !isInvalidAt({ order, target: life }, n + 1, symbol, quotes);
    // An attempt in time that was refused all the same would not have been borne out.
    allowedSinceMs = isAllowed ? (allowedSinceMs ?? Math.max(atMs, fromMs)) : null;
  }
  return allowedSinceMs === null || toMs <= patience.dueMs(allowedSinceMs);
}
