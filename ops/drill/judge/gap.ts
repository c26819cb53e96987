// Owns the gap: for each follower that was struck, the time from the fault to the first order of its new owner for something that
// its master did after the takeover; beside the arithmetic one. And the waits of trades that were opened late, which are no gap.
//
// 1. What a master did is dated by its broker's log, and so is the order.
// 2. Takeover: when the last of what was struck was there again, the follower or its master (takeover.ts). What is sent then for
//    something newer is the new owner's: else it is another rule's violation.
// 3. The next tick is the first that asks for something once the owner could act: whoever misses it has a longer gap. What is
//    opened so shortly after an acquisition that it may be a former owner's (actors/core/reconcile/rules.ts) asks for a late open
//    alone: it need not end the gap, and does if it is sent by then.
// 4. An order is for what its kind answers to: an open for the beginning of the trade, however lately that was changed.
// 5. The shorter limit counts: the arithmetic one and ALLOWED_MS, or the drill's own, which keeps the measured terms honest.

import { isOlderThanUs } from "../../../actors/core/reconcile/rules.ts";
import type { ReasonCode } from "../../../protocol/reasons.ts";
import type { Copy } from "../../demo/check/cases.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import { beginOf, endOf, type Caused, type Trade } from "../../demo/check/history.ts";
import { arithmeticMs } from "./arithmetic.ts";
import { copyOf, notJudged, stepsOf, violation, wallMs, type Evidence, type FollowerEvidence, type SentOrder } from "./evidence.ts";
import { isFollowerStruck, struckAccounts } from "./struck.ts";
import { takeoverOf, type Takeover } from "./takeover.ts";
import { demandsOf, type Demand } from "./untouched.ts";

/** What may come on top of the arithmetic. */
const ALLOWED_MS = 1_000;
/** What its master held for less may have been gone before it was copied. */
const BRIEF_MS = 300;
/** A copier that is in time does not have these, or only of what was very brief. */
const LATE_REASONS: ReadonlySet<ReasonCode> = new Set<ReasonCode>(["gone_before_copy", "late_open_price_moved", "too_old", "dropped"]);

export interface Gaps {
  /** The longest one, and the arithmetic of the same follower; null: none was to be measured, or could be. */
  readonly measuredMs: number | null;
  readonly arithmeticMs: number | null;
  /** The longest wait of a trade that was opened late; null: none was. */
  readonly lateOpenMs: number | null;
  readonly violations: readonly Violation[];
}

interface Gap {
  readonly measuredMs: number;
  readonly arithmeticMs: number | null;
}

export function gapsOf(evidence: Evidence): Gaps {
  const { record } = evidence;
  const struck = struckAccounts(evidence);
  const followers = evidence.followers.filter((follower) => isFollowerStruck(struck, follower));
  const taken = followers.map((follower) => ({ follower, takeover: takeoverOf(evidence, follower, [follower.id, follower.master].filter((account) => struck.has(account))) }));
  const waits = taken.flatMap(({ follower, takeover }) => lateOpens(evidence, follower, takeover));
  const lateOpenMs = waits.length === 0 ? null : Math.round(Math.max(...waits));
  if (!record.expects.gap) return { measuredMs: null, arithmeticMs: null, lateOpenMs, violations: [] };

  const gaps = taken.map(({ follower, takeover }) => gapOf(evidence, follower, takeover));
  const worst = gaps.flatMap((gap) => ("rule" in gap ? [] : [gap])).sort((a, b) => b.measuredMs - a.measuredMs)[0];
  const violations = [
    ...(followers.length === 0 ? [notJudged("gap", "no follower was struck")] : []),
    ...gaps.flatMap((gap, index) => ("rule" in gap ? [gap] : tooLong(evidence, gap, followers[index]))),
  ];
  return { measuredMs: rounded(worst?.measuredMs), arithmeticMs: rounded(worst?.arithmeticMs), lateOpenMs, violations };
}

const rounded = (ms: number | null | undefined): number | null => (ms === null || ms === undefined ? null : Math.round(ms));

/** Invariant 5. */
function tooLong({ record }: Evidence, { measuredMs, arithmeticMs }: Gap, follower: FollowerEvidence | undefined): Violation[] {
  const id = follower?.id ?? null;
  const lacking = arithmeticMs === null ? [notJudged("gap", `there is no arithmetic for ${record.drill}, or nothing shows when the account was free, or how long session and reconcile took`, id)] : [];
  const limitMs = Math.min(arithmeticMs === null ? Infinity : arithmeticMs + ALLOWED_MS, record.expects.longestGapMs ?? Infinity);
  if (measuredMs <= limitMs) return lacking;
  const beside = arithmeticMs === null ? "" : `, the arithmetic one is ${Math.round(arithmeticMs)} ms`;
  return [...lacking, violation("gap-too-long", id, `${Math.round(measuredMs)} ms, allowed are ${Math.round(limitMs)} ms${beside}`)];
}

function gapOf(evidence: Evidence, follower: FollowerEvidence, takeover: Takeover | null): Gap | Violation {
  const { record } = evidence;
  if (takeover === null) return violation("gap-too-long", follower.id, "nobody took the account, or its master's");
  const { atMs: takeoverMs } = takeover; // 2
  const first = follower.orders.find((order) => (answeredMs(evidence, follower, order) ?? -Infinity) > takeoverMs);
  if (first === undefined) return demandsAfter(evidence, follower, takeoverMs).some(({ atMs }) => atMs < record.endAtMs) ? violation("gap-too-long", follower.id, "no order came for anything that its master did after the takeover") : notJudged("gap", "its master did nothing after the takeover", follower.id);
  return { measuredMs: first.atMs - record.faultAtMs, arithmeticMs: arithmeticOf(evidence, follower, takeover) };
}

function arithmeticOf(evidence: Evidence, follower: FollowerEvidence, takeover: Takeover): number | null {
  const { record } = evidence;
  const { atMs, sessionMs, sinceMs } = takeover;
  if (sessionMs === null) return null;
  const readyMs = atMs + sessionMs;
  const isOfBefore = ({ atMs: openedMs, opens }: DatedDemand): boolean => opens && sinceMs !== null && isOlderThanUs(0, { monotonicMs: openedMs, sinceMs });
  const next = demandsAfter(evidence, follower, readyMs).find((demand) => !isOfBefore(demand)); // 3
  return arithmeticMs(record.drill, {
    ...takeover,
    lease: record.lease,
    healedMs: record.healAtMs === null ? null : record.healAtMs - record.faultAtMs,
    sessionMs,
    nextTickMs: next === undefined ? 0 : next.atMs - readyMs,
  });
}

interface DatedDemand {
  readonly atMs: number;
  readonly opens: boolean;
}

/** By time. */
const demandsAfter = (evidence: Evidence, { case: { copies } }: FollowerEvidence, afterMs: number): DatedDemand[] =>
  [...copies.values()]
    .flatMap((copy) => [...demandsOf(copy, BRIEF_MS), ...missedDemand(copy)])
    .map(({ at, opens }) => ({ atMs: wallMs(evidence, at.atMs), opens }))
    .filter(({ atMs }) => atMs > afterMs)
    .sort((a, b) => a.atMs - b.atMs);

/** Who did not open for being late excuses nothing by it, where there was time. */
function missedDemand(copy: Copy): Pick<Demand, "at" | "opens">[] {
  const at = copyableFrom(copy);
  const end = endOf(copy.master);
  const isMissed = copy.rows.some(({ status, reason }) => status === "Skipped" && reason !== null && LATE_REASONS.has(reason));
  return isMissed && at !== null && (end === null || end.atMs > at.atMs + ALLOWED_MS) ? [{ at, opens: true }] : [];
}

/** When its master did what an order is for; null where it is for nothing of its master's. */
function answeredMs(evidence: Evidence, follower: FollowerEvidence, { n, order }: SentOrder): number | null {
  const copy = copyOf(follower, n);
  if (copy === null) return null;
  const isOpening = order.kind === "open" || order.kind === "place";
  const moment = isOpening ? copyableFrom(copy) : stepsOf(copy.master).findLast((step) => step.n < n); // 4
  return moment === undefined || moment === null ? null : wallMs(evidence, moment.atMs);
}

/** When there was something to be copied. */
const copyableFrom = ({ master, follower }: Copy): Caused | null => (follower.link.settings.copyPendings || master.pending === null ? beginOf(master) : (master.position?.opened ?? null));

/** How long each trade waited that a new owner opened although it was begun before the takeover. */
function lateOpens(evidence: Evidence, follower: FollowerEvidence, takeover: Takeover | null): number[] {
  const takeoverMs = takeover?.atMs ?? Infinity;
  const seen = new Set<Trade>();
  return follower.orders.flatMap((sent) => {
    const copy = sent.order.kind === "open" || sent.order.kind === "place" ? copyOf(follower, sent.n) : null;
    const begun = answeredMs(evidence, follower, sent);
    if (copy === null || begun === null || begun > takeoverMs || sent.atMs < takeoverMs || sent.atMs >= evidence.record.endAtMs || seen.has(copy.master)) return [];
    seen.add(copy.master);
    return [sent.atMs - begun];
  });
}
