// Owns the rows that reconcile makes of what it finds at the broker: adopted, refreshed, reopened,
// completed.

import { isClosedOnRequest, isLive, type Pair } from "../../../protocol/pairs.ts";
import type { Sizing } from "../../../protocol/accounts.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import { pendingSide, type ClosedPosition, type PendingOrder, type Position, type RemovedPending } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import type { Target } from "../decide.ts";
import { samePair, sendingPair } from "../pairRow.ts";
import { adopted, adoptedPending, end, endReason } from "../settle.ts";
import { copyVolume } from "../sizing.ts";
import type { OwnCopy, Standing } from "./copies.ts";
import type { Action, PlanInput } from "./input.ts";

/** The row of a copy that is found without one. */
export function rowOf(input: PlanInput, masterTicket: Ticket, target: Target, copy: OwnCopy): Pair {
  const order = orderOf(copy);
  const pending = "kind" in order;
  return sendingPair({
    link: input.link,
    masterTicket,
    holds: pending ? "pending" : "position",
    side: pending ? pendingSide(order.kind) : order.side,
    symbol: order.symbol,
    digits: order.digits,
    volume: copy.initialVolume,
    masterVolume: masterVolumeAtOpen(input, target, copy.initialVolume),
    nowMs: input.nowMs,
  });
}

/**
 * What the master held when a copy of `initialVolume` was opened: all of it, or what is left, or something between, as the sizing gives such a copy.
 * Where the master holds nothing more, the copy's own volume stands for it: there is no share left to keep.
 */
function masterVolumeAtOpen(input: PlanInput, target: Target, initialVolume: VolumeUnits): VolumeUnits {
  if (target.kind === "gone") return initialVolume;
  if (target.kind === "pending") return target.pending.volume;
  const { initialVolume: whole, volume: left } = target.position;
  const { spec } = input.market(target);
  const gives = (volume: VolumeUnits): boolean => {
    const sized = spec === null ? null : copyVolume(input.link.settings, volume, spec);
    return sized?.kind === "volume" && sized.volume === initialVolume;
  };
  if (gives(whole)) return whole;
  return gives(left) ? left : inferred(input.link.settings.sizing, initialVolume, left, whole);
}

/** A copy opened between two part-closes: what a multiplier must have been applied to, between what is left and all of it. */
function inferred(sizing: Sizing, initialVolume: VolumeUnits, left: VolumeUnits, whole: VolumeUnits): VolumeUnits {
  if (sizing.mode !== "multiplier") return whole;
  return Math.min(whole, Math.max(left, Math.round((initialVolume / sizing.factorMillionths) * 1_000_000))) as VolumeUnits;
}

/** An ended trade whose order stands again: the rest of a partly filled order, or one that was executed after we gave it up. */
export function reopened(pair: Pair, copy: OwnCopy): Pair {
  return { ...pair, opening: pair.opening + 1, status: "Sending", followerTicket: null, initialVolume: copy.initialVolume, reason: null, detail: {} };
}

/** The row once its copy is known to stand like this. */
export function standsAs(input: PlanInput, pair: Pair, copy: OwnCopy, standing: Standing): Pair {
  const now: Pair = { ...pair, changedAtMs: input.nowMs };
  if (standing.kind === "pending") return adoptedPending(now, standing.pending);
  // What an open pair was opened with is known, and history may not reach back to it.
  const knows = pair.status === "Open" && pair.holds === "position" && pair.followerTicket !== null && copy.tickets.includes(pair.followerTicket);
  const initialVolume = knows ? (Math.max(pair.initialVolume, copy.initialVolume) as VolumeUnits) : copy.initialVolume;
  return { ...adopted(now, standing.position), initialVolume };
}

/** The row once its copy is known to have ended like this. */
export function completed(input: PlanInput, target: Target, pair: Pair, entry: ClosedPosition | RemovedPending): Pair {
  const followerTicket = endedOrder(entry).ticket;
  const now: Pair = { ...pair, followerTicket, changedAtMs: input.nowMs };
  const ours = target.kind === "gone";
  if ("pending" in entry) return end(now, ours ? "master_cancelled" : "removed", { followerTicket, why: entry.reason });
  return end({ ...now, holds: "position" }, endReason(entry.reason, isClosedOnRequest(pair) ? "closed_on_request" : ours ? "master_closed" : null), { followerTicket });
}

const endedOrder = (entry: ClosedPosition | RemovedPending): Position | PendingOrder => ("position" in entry ? entry.position : entry.pending);

function orderOf({ standing, ended }: OwnCopy): Position | PendingOrder {
  if (standing !== null) return standing.kind === "position" ? standing.position : standing.pending;
  if (ended !== null) return endedOrder(ended);
  throw new Error("a copy neither stands nor has ended");
}

export function rowIfChanged(before: Pair | null, after: Pair): readonly Action[] {
  return before !== null && isLive(before.status) === isLive(after.status) && samePair(before, after) ? [] : [{ kind: "row", pair: after }];
}
