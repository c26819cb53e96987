// Owns the rule `untouched-failed`: followers that the fault did not strike were copied throughout.
//
// 1. They have no excuse: what their master opened or ended is answered within the plain grace, every order of theirs has
//    an answer, and nobody loses them: their rows change only when an owner with a live lease gives one back.
// 2. From then on one that was given back is no longer judged here: it moves, and how is the checker's matter.
// 3. A trade that its row says was skipped, or whose master's end came within the grace, needs no order here: whether the
//    reason is true is the checker's matter too.

import type { AccountId } from "../../../protocol/ids.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import type { Copy } from "../../demo/check/cases.ts";
import { beginOf, endOf, wasFilled, type Caused, type Trade } from "../../demo/check/history.ts";
import { GRACE_MS, HANDOVER_MS, notJudged, tradeName, violation, wallMs, whenText, type Evidence, type FollowerEvidence } from "./evidence.ts";
import { isSame, ownerText } from "./leases.ts";
import { isFollowerStruck, struckAccounts } from "./struck.ts";

export interface Untouched {
  readonly followers: number;
  /** What was sent for them since the fault. */
  readonly orders: number;
  readonly failed: number;
  readonly violations: readonly Violation[];
}

export function untouched(evidence: Evidence): Untouched {
  const struck = struckAccounts(evidence);
  const followers = evidence.followers.filter((follower) => !isFollowerStruck(struck, follower));
  const judged = followers.map((follower) => judge(evidence, follower));
  const violations = judged.flatMap((one) => one.violations);
  const demands = judged.reduce((sum, one) => sum + one.demands, 0);
  const idle = followers.length > 0 && demands === 0 ? [notJudged("untouched-failed", "the masters gave untouched followers nothing to do")] : [];
  return { followers: followers.length, orders: judged.reduce((sum, one) => sum + one.orders, 0), failed: violations.length, violations: [...violations, ...idle] };
}

interface Judged {
  readonly orders: number;
  readonly demands: number;
  readonly violations: readonly Violation[];
}

function judge(evidence: Evidence, follower: FollowerEvidence): Judged {
  const { record } = evidence;
  const { id, master } = follower;
  const [own, its] = [id, master].map((account) => stayOf(evidence, account));
  const toMs = Math.min(own?.untilMs ?? 0, its?.untilMs ?? 0);
  const isIn = (brokerMs: number): boolean => wallMs(evidence, brokerMs) >= record.faultAtMs && wallMs(evidence, brokerMs) < toMs;
  const failed = (what: string): Violation => violation("untouched-failed", id, what);
  const requests = [...follower.history.requests.values()].filter(({ by, atMs }) => by.kind === "connection" && isIn(atMs));
  const unanswered = requests.filter(({ answer }) => answer === null || answer.notSent !== null).map(({ n, atMs }) => failed(`entry ${n} ${whenText(record, wallMs(evidence, atMs))} had no answer`));
  const demands = [...follower.case.copies.values()].flatMap((copy) => demandsOf(copy, GRACE_MS)).filter(({ at }) => isIn(at.atMs));
  const late = demands.flatMap(({ at, what, isMet }) => (isMet ? [] : [failed(`${what} ${whenText(record, wallMs(evidence, at.atMs))}, and it was not followed within ${GRACE_MS} ms`)]));
  const lost = [own, its].flatMap((stay) => (stay?.fault === null || stay === undefined ? [] : [failed(stay.fault)]));
  return { orders: requests.length, demands: demands.length, violations: [...lost, ...unanswered, ...late] };
}

interface Stay {
  /** So long it is judged: what its master does later may be left undone. */
  readonly untilMs: number;
  readonly fault: string | null;
}

/** How an account stayed with the owner it had when the fault came (1, 2). */
function stayOf({ record, tenures, leases }: Evidence, account: AccountId): Stay {
  const held = tenures.at(account, record.faultAtMs);
  if (held === null || held.owner === null) return { untilMs: record.faultAtMs, fault: `nobody had ${account} when the fault came` };
  if (held.untilMs >= record.endAtMs) return { untilMs: record.endAtMs - GRACE_MS, fault: null };
  const untilMs = held.untilMs - GRACE_MS - HANDOVER_MS;
  const next = tenures.at(account, held.untilMs);
  const isGiven = !isSame(next?.owner ?? null, held.owner) && leases.windowAt(held.owner, held.untilMs) !== null;
  if (isGiven) return { untilMs, fault: null };
  const to = next?.owner === null || next === null ? "nobody" : `${ownerText(next.owner)}#${next.epoch}`;
  return { untilMs, fault: `${account} went from ${ownerText(held.owner)}#${held.epoch} to ${to} ${whenText(record, held.untilMs)}` };
}

export interface Demand {
  readonly at: Caused;
  /** To open a copy; else to end one. */
  readonly opens: boolean;
  readonly what: string;
  readonly isMet: boolean;
}

/** What a master's trade asks of a follower: to open a copy, unless it was held more briefly, and to end the one that stands. */
export const demandsOf = (copy: Copy, brieflyMs: number): Demand[] => [openingDemand(copy, brieflyMs), endingDemand(copy)].filter((demand) => demand !== null);

function openingDemand({ master, follower, symbol, requests, rows }: Copy, brieflyMs: number): Demand | null {
  if (symbol === null) return null;
  const at = follower.link.settings.copyPendings || master.pending === null ? beginOf(master) : (master.position?.opened ?? null);
  const isOver = (end: Caused | null): boolean => end !== null && at !== null && end.atMs <= at.atMs + brieflyMs;
  if (at === null || isSkipped(master, rows) || isOver(endOf(master))) return null; // 3
  const isMet = requests.some(({ order, atMs }) => (order.kind === "open" || order.kind === "place") && atMs >= at.atMs && atMs <= at.atMs + GRACE_MS);
  return { at, opens: true, what: `the master had ${tradeName(master)}`, isMet };
}

const isSkipped = (master: Trade, rows: Copy["rows"]): boolean => rows.some(({ status, reason }) => status === "Skipped" && !(reason === "pendings_off" && wasFilled(master)));

function endingDemand({ master, lives }: Copy): Demand | null {
  const at = endOf(master);
  if (at === null) return null;
  const standing = lives.filter((life) => beginOf(life).n < at.n && (endOf(life)?.n ?? Infinity) > at.n);
  if (standing.length === 0) return null;
  return { at, opens: false, what: `the master's ${tradeName(master)} ended`, isMet: standing.every((life) => (endOf(life)?.atMs ?? Infinity) <= at.atMs + GRACE_MS) };
}
