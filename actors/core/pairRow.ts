// Owns how the row of a trade begins, as an order on its way or as a trade that is not copied, and
// when two rows say the same.

import type { Link } from "../../protocol/accounts.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Pair } from "../../protocol/pairs.ts";
import type { ReasonDetail, SkipReason } from "../../protocol/reasons.ts";
import { NO_VOLUME, type VolumeUnits, type WallMs } from "../../protocol/units.ts";

export interface RowStart extends Pick<Pair, "holds" | "side" | "symbol" | "digits"> {
  readonly link: Link;
  readonly masterTicket: Ticket;
  /** What the copy is opened with. */
  readonly volume: VolumeUnits;
  /** What the master holds at that moment: the shares of part-closes count from it. */
  readonly masterVolume: VolumeUnits;
  readonly nowMs: WallMs;
}

/** The row once the order is on its way. */
export function sendingPair(start: RowStart): Pair {
  return {
    link: start.link.id,
    masterTicket: start.masterTicket,
    opening: 1,
    master: start.link.master,
    follower: start.link.follower,
    status: "Sending",
    holds: start.holds,
    symbol: start.symbol,
    digits: start.digits,
    side: start.side,
    followerTicket: null,
    initialVolume: start.volume,
    volume: start.volume,
    masterInitialVolume: start.masterVolume,
    masterVolume: start.masterVolume,
    openPrice: null,
    stopLoss: null,
    takeProfit: null,
    reason: null,
    detail: {},
    changedAtMs: start.nowMs,
  };
}

/** The row of a trade that is not copied: ended, so it is never opened later. */
export function skippedPair(start: Omit<RowStart, "volume">, reason: SkipReason, detail: ReasonDetail): Pair {
  return { ...sendingPair({ ...start, volume: NO_VOLUME }), status: "Skipped", reason, detail };
}

/** Alike but for the time of the change. */
export const samePair = (a: Pair, b: Pair): boolean => JSON.stringify({ ...a, changedAtMs: 0 }) === JSON.stringify({ ...b, changedAtMs: 0 });
