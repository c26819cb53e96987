// Owns when a follower that a fault struck could be traded again, and what the arithmetic of that rests on: acquisitions, ends and
// lapses by the rows, logins by the brokers' logs, and by what the node told only how long session and reconcile took from there.
//
// 1. Whatever was struck has to be there again: the follower, its master, or both. The last of them is the takeover.
// 2. There again is who was acquired anew, whose owner logged in again after its session was cut, or, where neither had to be,
//    whose log came back.
// 3. It could be traded when it had made its first plan that rests on all of that: at its own new epoch, on its master's.

import type { AccountId } from "../../../protocol/ids.ts";
import type { TimelineEntry } from "../../../protocol/timeline.ts";
import { limitsOf } from "../../nodeLimits.ts";
import type { Evidence, FollowerEvidence } from "./evidence.ts";
import { isSame, type Owner } from "./leases.ts";
import { LOG_RETURN_MS, POLL_MS } from "./absences.ts";
import { accountsOf } from "./ownership.ts";
import { cutSession, longestPauseMs, sessionsOf, type LoggedSession } from "./sessions.ts";
import type { Tenure } from "./tenures.ts";

type OwnedTenure = Tenure & { readonly owner: Owner };

export interface Takeover {
  readonly atMs: number;
  /** From then until it could answer its master's ticks, as told; for a log's clients as long as they may take. Null: nobody told. */
  readonly sessionMs: number | null;
  /** What was left of the former owner's lease when the fault came. */
  readonly leaseLeftMs: number;
  /** From the fault until anybody could claim it, having been given back or its owner's lease having been ended; null: neither was seen. */
  readonly freedMs: number | null;
  /** Its owner had others before it: what a node cannot confirm at once, it asks for after its next renewal. */
  readonly isLate: boolean;
  /** So long at most it may have been, when its broker was back, before a session that was cut was tried again. */
  readonly reconnectMs: number;
  /** Since when the follower's new owner has it, who may take what was opened just before for a former owner's; null: it had it before. */
  readonly sinceMs: number | null;
}

/** How one account was there again (2). */
interface Return {
  readonly account: AccountId;
  readonly isMaster: boolean;
  readonly atMs: number;
  readonly held: Tenure | null;
  readonly acquired: OwnedTenure | null;
  /** Its session that was cut; null: none was. */
  readonly cut: LoggedSession | null;
  /** When it can hear what is said, and be heard, at the latest. */
  readonly hearsFromMs: number;
}

/** `accounts`: those of the follower and its master that were struck, at least one. Null: one of them nobody took. */
export function takeoverOf(evidence: Evidence, follower: FollowerEvidence, accounts: readonly AccountId[]): Takeover | null {
  const returns = accounts.map((account) => returnOf(evidence, account, account === follower.master));
  const known = returns.filter((one) => one !== null);
  if (known.length === 0 || known.length < returns.length) return null;
  const atMs = Math.max(...known.map((one) => one.atMs)); // 1
  const readyMs = readyOf(evidence, follower, known);
  const freed = known.map((one) => freedMs(evidence, one));
  const own = known.find(({ isMaster }) => !isMaster);
  const isNew = own !== undefined && own.acquired !== null && !isSame(own.acquired.owner, own.held?.owner ?? null);
  return {
    atMs,
    sessionMs: readyMs === null ? null : Math.max(0, readyMs - atMs),
    leaseLeftMs: Math.max(...known.map((one) => leaseLeftMs(evidence, one))),
    freedMs: freed.includes(null) ? null : Math.max(...freed.map((ms) => ms ?? 0)),
    isLate: known.some((one) => isLate(evidence, one)),
    reconnectMs: Math.max(...known.map((one) => reconnectMs(evidence, one))),
    sinceMs: isNew ? own.atMs : null,
  };
}

function returnOf(evidence: Evidence, account: AccountId, isMaster: boolean): Return | null {
  const { record, tenures } = evidence;
  const { faultAtMs, healAtMs } = record;
  const held = tenures.at(account, faultAtMs);
  const cut = record.struck.length === 0 ? cutSession(evidence, account) : null;
  const about = { account, isMaster, held, cut };
  if (cut !== null) {
    const next = sessionsOf(evidence, account).find(({ fromMs }) => fromMs > cut.untilMs);
    return next === undefined ? null : { ...about, atMs: next.fromMs, hearsFromMs: next.fromMs, acquired: null };
  }
  const acquired = servedAfter(evidence, account, isMaster);
  if (acquired !== null) return { ...about, atMs: acquired.fromMs, hearsFromMs: acquired.fromMs, acquired };
  // Nobody had to come: the log came back, and its clients do.
  return healAtMs === null ? null : { ...about, atMs: healAtMs, hearsFromMs: healAtMs + LOG_RETURN_MS, acquired: null };
}

/** The first acquisition after the fault that its owner kept for long enough to answer ticks; where none was, the first. */
function servedAfter(evidence: Evidence, account: AccountId, isMaster: boolean): OwnedTenure | null {
  const { record, tenures } = evidence;
  const isServed = ({ epoch }: OwnedTenure): boolean => plansOf(evidence).some((plan) => (isMaster ? restsOn(plan, account, epoch) : plan.account === account && plan.epoch === epoch));
  const first = tenures.acquiredAfter(account, record.faultAtMs);
  for (let next = first; next !== null; next = tenures.acquiredAfter(account, next.fromMs)) if (isServed(next)) return next;
  return first;
}

const plansOf = ({ record }: Evidence): TimelineEntry[] => record.timeline.filter(({ event }) => event === "plan");

const restsOn = ({ detail }: TimelineEntry, master: AccountId, epoch: number): boolean => detail["master"] === master && detail["masterEpoch"] === epoch;

/** Invariant 3. Who kept its session as well as its account is ready when it is there. */
function readyOf(evidence: Evidence, { id, master }: FollowerEvidence, returns: readonly Return[]): number | null {
  const { record } = evidence;
  const own = returns.find(({ isMaster }) => !isMaster) ?? null;
  const its = returns.find(({ isMaster }) => isMaster) ?? null;
  const toldFrom = (from: Return, event: "plan" | "session_open"): number | null => record.timeline.find((entry) => entry.event === event && entry.account === from.account && entry.atMs >= from.atMs)?.atMs ?? null;
  const needed: (number | null)[] = [];
  if (own !== null && own.cut !== null) needed.push(toldFrom(own, "plan"));
  if (its !== null && its.cut !== null) needed.push(toldFrom(its, "session_open"));
  const ownEpoch = own?.acquired?.epoch ?? null;
  const itsEpoch = its?.acquired?.epoch ?? null;
  if (ownEpoch !== null || itsEpoch !== null) {
    const isOnAll = (plan: TimelineEntry): boolean => plan.account === id && plan.atMs >= record.faultAtMs && (ownEpoch === null || plan.epoch === ownEpoch) && (itsEpoch === null || restsOn(plan, master, itsEpoch));
    needed.push(plansOf(evidence).find(isOnAll)?.atMs ?? null);
  }
  if (needed.includes(null)) return null;
  return Math.max(...returns.map(({ hearsFromMs }) => hearsFromMs), ...needed.map((ms) => ms ?? 0));
}

/** By the rows, up to when somebody else had the account: what a boot renewed when it came back is another lease. */
function leaseLeftMs({ record, leases }: Evidence, { held, acquired }: Return): number {
  if (held === null || held.owner === null) return 0;
  const cameBackMs = Math.min(record.healAtMs ?? Infinity, acquired?.fromMs ?? Infinity);
  const last = leases.renewalsOf(held.owner).findLast(({ atMs }) => atMs < cameBackMs);
  return Math.max(0, (last?.untilMs ?? 0) - record.faultAtMs);
}

/** The row was given back while the lease was live, or the lease was ended: by the rows, whichever came first. */
function freedMs({ record, leases }: Evidence, { held }: Return): number | null {
  if (held === null || held.owner === null) return 0;
  const givenMs = leases.windowAt(held.owner, held.untilMs) === null ? Infinity : held.untilMs;
  const atMs = Math.min(givenMs, leases.endOf(held.owner) ?? Infinity);
  return atMs === Infinity ? null : Math.max(0, atMs - record.faultAtMs);
}

/** A round of confirmations is one statement: what it brought about was seen at once. */
function isLate(evidence: Evidence, { acquired }: Return): boolean {
  if (acquired === null) return false;
  const { tenures, record } = evidence;
  const first = Math.min(...accountsOf(evidence).flatMap((account) => tenures.of(account).filter(({ owner, fromMs }) => fromMs > record.faultAtMs && isSame(owner, acquired.owner)).map(({ fromMs }) => fromMs)));
  return acquired.fromMs > first + POLL_MS;
}

function reconnectMs(evidence: Evidence, { account, cut }: Return): number {
  const { healAtMs, profile } = evidence.record;
  if (cut === null || healAtMs === null) return 0;
  const { session } = limitsOf(profile);
  const isFirst = sessionsOf(evidence, account).every(({ client, fromMs }) => fromMs >= cut.fromMs || client !== cut.client);
  return longestPauseMs(session, healAtMs - cut.untilMs, isFirst || cut.untilMs - cut.fromMs >= session.reconnectMaxMs);
}
