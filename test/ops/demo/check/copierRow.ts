// Owns the row that a copier of the checker's tests writes of a trade that it has not copied.

import type { Link } from "../../../../protocol/accounts.ts";
import type { Pair } from "../../../../protocol/pairs.ts";
import { pendingSide, type PendingOrder, type Position } from "../../../../protocol/trades.ts";
import type { VolumeUnits, WallMs } from "../../../../protocol/units.ts";

const NONE = 0 as VolumeUnits;

export function blankRow({ id: link, master: from, follower }: Link, master: Position | PendingOrder, nowMs: number): Pair {
  return {
    link,
    masterTicket: master.ticket,
    opening: 1,
    master: from,
    follower,
    status: "Skipped",
    holds: "position",
    symbol: master.symbol,
    digits: master.digits,
    side: "side" in master ? master.side : pendingSide(master.kind),
    followerTicket: null,
    initialVolume: NONE,
    volume: NONE,
    masterInitialVolume: master.volume,
    masterVolume: master.volume,
    openPrice: null,
    stopLoss: null,
    takeProfit: null,
    reason: null,
    detail: {},
    changedAtMs: nowMs as WallMs,
  };
}
