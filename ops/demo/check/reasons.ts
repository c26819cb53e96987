// Owns why a copy ended, as the log tells it, and so what its row has to say.
//
// 1. Where the master's trade ended too before the copier could have told the one from the other, its
//    end is a true reason as well.
// 2. A broker's history says `manual` of whatever was asked for: a copier that never got the answer to
//    its own close, or was started anew since, cannot know whose it was.

import type { EndReason } from "../../../protocol/reasons.ts";
import type { Copy } from "./cases.ts";
import { endOf, type Caused, type Trade } from "./history.ts";
import { authorOf, isUnknown } from "./outcomes.ts";

/** The reasons that are true; none while it stands. */
export function endReasonsOf(copy: Copy, life: Trade): EndReason[] {
  const end = endOf(life);
  if (end === null) return [];
  const reasons = life.position?.end === undefined || life.position.end === null ? pendingReasons(copy, end) : positionReasons(copy, end, life.position.end.reason);
  return [...new Set([...reasons, ...(endedWithMaster(copy, end) ? MASTERS : [])])];
}

const MASTERS: readonly EndReason[] = ["master_closed", "master_cancelled"];

function positionReasons(copy: Copy, end: Caused, reason: "manual" | "stop_loss" | "take_profit" | "stop_out"): EndReason[] {
  if (reason !== "manual") return [reason];
  if (authorOf(copy.follower.history, end) !== "copier") return ["manual"];
  return ["master_closed", "part_below_grid", ...(isItsAuthorForgotten(copy, end) ? (["manual"] as const) : [])];
}

function pendingReasons(copy: Copy, end: Caused): EndReason[] {
  if (authorOf(copy.follower.history, end) !== "copier") return ["removed"];
  return [...MASTERS, ...(isItsAuthorForgotten(copy, end) ? (["removed"] as const) : [])];
}

/** Whether the copier may not have learnt that it was its own doing (2). */
function isItsAuthorForgotten({ follower, patience }: Copy, end: Caused): boolean {
  const request = follower.history.requests.get(end.causeN ?? 0);
  return patience.wasKept(end.atMs) || (request !== undefined && isUnknown(request, follower.platform));
}

/** Whether the master's trade had ended by the time the copier had to know of the copy's end (1). */
function endedWithMaster({ master, patience }: Copy, end: Caused): boolean {
  const masterEnd = endOf(master);
  return masterEnd !== null && masterEnd.atMs <= patience.dueMs(end.atMs);
}
