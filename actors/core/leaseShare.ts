// Owns which account a node hands back because it holds more than its share, and for how long a node
// leaves an account alone that it could not serve.
//
// 1. Nothing is handed back that nobody has room for: without a taker it is only an interruption.
// 2. What came back after it was handed back shows that the others cannot take it, whatever they
//    say of their room: each time the node waits longer before it hands anything back again.

import type { AccountId } from "../../protocol/ids.ts";
import type { PlatformShare } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import { backoffMs } from "./retry.ts";

/** The accounts that may go, oldest first, with their platform where it is known. */
export type Movable = readonly { readonly account: AccountId; readonly platform: Platform | null }[];

/** The one to hand back now, the newest of its platform; null: none. */
export function surplus(shares: readonly PlatformShare[], movable: Movable): AccountId | null {
  for (const { platform, share, mine, othersHaveRoom } of shares) {
    if (mine <= share || !othersHaveRoom) continue; // (1)
    const newest = movable.filter((one) => one.platform === platform).at(-1);
    if (newest !== undefined) return newest.account;
  }
  return null;
}

/** A pause that grows each time its reason comes again, and is forgotten when it has not for long. */
export interface GrowingPause {
  readonly times: number;
  readonly untilMs: number;
}

export interface PauseBounds {
  readonly firstMs: number;
  readonly longestMs: number;
  /** It begins anew when its reason has not come for so long after its end. */
  readonly forgetMs: number;
}

/** The pauses grow by these alone; who waits is one node, so no draw is needed. */
const NO_JITTER = 1;

export function grow(old: GrowingPause | undefined, nowMs: number, { firstMs, longestMs, forgetMs }: PauseBounds): GrowingPause {
  const times = old === undefined || nowMs - old.untilMs > forgetMs ? 1 : old.times + 1;
  return { times, untilMs: nowMs + backoffMs(times, firstMs, longestMs, NO_JITTER) };
}
