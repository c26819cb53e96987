// Owns the gap: for each follower that was struck, the time from the fault to the first order of its new owner for something that
// its master did after the takeover; beside the arithmetic one. And the waits of trades that were opened late, which are no gap.
//
// 1. What a master did is dated by its broker's log, and so is the order.
// 2. Takeover: the follower's, and its master's where that was struck too, whichever came later. What is sent then for something
//    newer is the new owner's: else it is another rule's violation.
// 3. The next tick is the first that asks for something once the owner could act: whoever misses it has a longer gap.
// 4. An order is for what its kind answers to: an open for the beginning of the trade, however lately that was changed.

import type { Copy } from "../../demo/check/cases.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import { beginOf, type Trade } from "../../demo/check/history.ts";
import type { Moment } from "../../demo/check/periods.ts";
import { arithmeticMs } from "./arithmetic.ts";
import { copyOf, notJudged, stepsOf, violation, wallMs, type Evidence, type FollowerEvidence, type SentOrder } from "./evidence.ts";
import { isFollowerStruck, struckAccounts } from "./struck.ts";
import { takeoverOf, type Takeover } from "./takeover.ts";
import { demandsOf } from "./untouched.ts";

/** What may come on top of the arithmetic. */
const ALLOWED_MS = 1_000;
/** What its master held for less may have been gone before it was copied. */
const BRIEF_MS = 300;

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
  const taken = followers.map((follower) => ({ follower, takeovers: [struck.has(follower.id) ? takeoverOf(evidence, follower.id, false) : [], struck.has(follower.master) ? takeoverOf(evidence, follower.master, true) : []].flat() }));
  const waits = taken.flatMap(({ follower, takeovers }) => lateOpens(evidence, follower, takeovers));
  const lateOpenMs = waits.length === 0 ? null : Math.round(Math.max(...waits));
  if (!record.expects.gap) return { measuredMs: null, arithmeticMs: null, lateOpenMs, violations: [] };

  const gaps = taken.map(({ follower, takeovers }) => gapOf(evidence, follower, takeovers));
  const worst = gaps.flatMap((gap) => ("rule" in gap ? [] : [gap])).sort((a, b) => b.measuredMs - a.measuredMs)[0];
  const violations = [
    ...(followers.length === 0 ? [notJudged("gap", "no follower was struck")] : []),
    ...gaps.flatMap((gap, index) => ("rule" in gap ? [gap] : tooLong(evidence, gap, followers[index]))),
  ];
  return { measuredMs: rounded(worst?.measuredMs), arithmeticMs: rounded(worst?.arithmeticMs), lateOpenMs, violations };
}

const rounded = (ms: number | null | undefined): number | null => (ms === null || ms === undefined ? null : Math.round(ms));

function tooLong({ record }: Evidence, { measuredMs, arithmeticMs }: Gap, follower: FollowerEvidence | undefined): Violation[] {
  const { longestGapMs } = record.expects;
  const id = follower?.id ?? null;
  const limitMs = longestGapMs ?? (arithmeticMs === null ? null : arithmeticMs + ALLOWED_MS);
  if (limitMs === null) return [notJudged("gap", `there is no arithmetic for ${record.drill}, or nobody told how long session and reconcile took`, id)];
  if (measuredMs <= limitMs) return [];
  const beside = arithmeticMs === null ? "" : `, the arithmetic one is ${Math.round(arithmeticMs)} ms`;
  return [violation("gap-too-long", id, `${Math.round(measuredMs)} ms, allowed are ${Math.round(limitMs)} ms${beside}`)];
}

function gapOf(evidence: Evidence, follower: FollowerEvidence, takeovers: readonly (Takeover | null)[]): Gap | Violation {
  const { record } = evidence;
  const known = takeovers.filter((takeover) => takeover !== null);
  if (known.length === 0 || known.length < takeovers.length) return violation("gap-too-long", follower.id, "nobody took the account, or its master's");
  const takeoverMs = Math.max(...known.map(({ atMs }) => atMs)); // 2
  const first = follower.orders.find((order) => (answeredMs(evidence, follower, order) ?? -Infinity) > takeoverMs);
  if (first === undefined) return hadDemand(evidence, follower, takeoverMs) ? violation("gap-too-long", follower.id, "no order came for anything that its master did after the takeover") : notJudged("gap", "its master did nothing after the takeover", follower.id);
  return { measuredMs: first.atMs - record.faultAtMs, arithmeticMs: arithmeticOf(evidence, follower, known) };
}


function arithmeticOf(evidence: Evidence, follower: FollowerEvidence, takeovers: readonly Takeover[]): number | null {
  const { record } = evidence;
  const sessions = takeovers.map(({ sessionMs }) => sessionMs);
  if (sessions.includes(null)) return null;
  const readyMs = Math.max(...takeovers.map(({ atMs, sessionMs }) => atMs + (sessionMs ?? 0)));
  const next = demandTimes(evidence, follower).find((atMs) => atMs > readyMs); // 3
  const sessionMs = Math.max(...sessions.map((ms) => ms ?? 0));
  return arithmeticMs(record.drill, {
    lease: record.lease,
    leaseLeftMs: Math.max(...takeovers.map(({ leaseLeftMs }) => leaseLeftMs)),
    healedMs: record.healAtMs === null ? null : record.healAtMs - record.faultAtMs,
    sessionMs,
    nextTickMs: next === undefined ? 0 : next - readyMs,
  });
}

const demandTimes = (evidence: Evidence, { case: { copies } }: FollowerEvidence): number[] => [...copies.values()].flatMap((copy) => demandsOf(copy, BRIEF_MS)).map(({ at }) => wallMs(evidence, at.atMs)).sort((a, b) => a - b);

const hadDemand = (evidence: Evidence, follower: FollowerEvidence, afterMs: number): boolean => demandTimes(evidence, follower).some((atMs) => atMs > afterMs && atMs < evidence.record.endAtMs);

/** When its master did what an order is for; null where it is for nothing of its master's. */
function answeredMs(evidence: Evidence, follower: FollowerEvidence, { n, order }: SentOrder): number | null {
  const copy = copyOf(follower, n);
  if (copy === null) return null;
  const isOpening = order.kind === "open" || order.kind === "place";
  const moment = isOpening ? copyableFrom(copy) : stepsOf(copy.master).findLast((step) => step.n < n); // 4
  return moment === undefined || moment === null ? null : wallMs(evidence, moment.atMs);
}

/** When there was something to be copied. */
const copyableFrom = ({ master, follower }: Copy): Moment | null => (follower.link.settings.copyPendings || master.pending === null ? beginOf(master) : (master.position?.opened ?? null));

/** How long each trade waited that a new owner opened although it was begun before the takeover. */
function lateOpens(evidence: Evidence, follower: FollowerEvidence, takeovers: readonly (Takeover | null)[]): number[] {
  const takeoverMs = Math.max(...takeovers.map((takeover) => takeover?.atMs ?? Infinity));
  const seen = new Set<Trade>();
  return follower.orders.flatMap((sent) => {
    const copy = sent.order.kind === "open" || sent.order.kind === "place" ? copyOf(follower, sent.n) : null;
    const begun = answeredMs(evidence, follower, sent);
    if (copy === null || begun === null || begun > takeoverMs || sent.atMs < takeoverMs || sent.atMs >= evidence.record.endAtMs || seen.has(copy.master)) return [];
    seen.add(copy.master);
    return [sent.atMs - begun];
  });
}
