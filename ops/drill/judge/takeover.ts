// Owns when somebody was there again for an account that a fault struck: the acquisition by the rows, and how long session and
// reconcile took from there, by what the node told.

import type { AccountId } from "../../../protocol/ids.ts";
import { wallMs, type Evidence } from "./evidence.ts";
import { isSame, type Owner } from "./leases.ts";
import type { Tenure } from "./tenures.ts";

type OwnedTenure = Tenure & { readonly owner: Owner };

export interface Takeover {
  readonly atMs: number;
  /** From then until it could answer its master's ticks; null: nobody told. */
  readonly sessionMs: number | null;
  /** What was left of the former owner's lease when the fault came. */
  readonly leaseLeftMs: number;
}

/** Null: nobody came. */
export function takeoverOf(evidence: Evidence, account: AccountId, isMaster: boolean): Takeover | null {
  const { record, tenures } = evidence;
  const { faultAtMs, healAtMs } = record;
  const held = tenures.at(account, faultAtMs);
  const cutMs = record.struck.length === 0 ? firstLoginMs(evidence, account) : null;
  if (cutMs !== null) return { atMs: cutMs, sessionMs: tookMs(evidence, account, isMaster, cutMs, null), leaseLeftMs: 0 };
  const next = servedAfter(evidence, account, isMaster);
  const leaseLeftMs = held === null || held.owner === null ? 0 : leaseLeft(evidence, held.owner, next?.fromMs ?? Infinity);
  // Nobody else had to come: what was away came back.
  if (next === null) return healAtMs === null ? null : { atMs: healAtMs, sessionMs: 0, leaseLeftMs };
  const keepsSession = isMaster && isSame(next.owner, held?.owner ?? null);
  return { atMs: next.fromMs, sessionMs: keepsSession ? 0 : tookMs(evidence, account, isMaster, next.fromMs, next.epoch), leaseLeftMs };
}

/** The first acquisition after the fault that its owner kept for long enough to answer ticks; where none was, the first. */
function servedAfter(evidence: Evidence, account: AccountId, isMaster: boolean): OwnedTenure | null {
  const first = evidence.tenures.acquiredAfter(account, evidence.record.faultAtMs);
  for (let next = first; next !== null; next = evidence.tenures.acquiredAfter(account, next.fromMs)) {
    if (tookMs(evidence, account, isMaster, next.fromMs, next.epoch) !== null) return next;
  }
  return first;
}

function firstLoginMs(evidence: Evidence, account: AccountId): number | null {
  const logins = evidence.troupes.flatMap(({ troupe: { log } }) => log.flatMap((entry) => (entry.kind === "login" && entry.account === account && entry.channel === "session" && entry.refused === null ? [wallMs(evidence, entry.atMs)] : [])));
  return logins.find((atMs) => atMs > evidence.record.faultAtMs) ?? null;
}

/** A follower can when it has made its first plan, a master when its session is there. */
function tookMs({ record }: Evidence, account: AccountId, isMaster: boolean, fromMs: number, epoch: number | null): number | null {
  const event = isMaster ? "session_open" : "plan";
  const told = record.timeline.find((entry) => entry.account === account && entry.event === event && (epoch === null ? entry.atMs >= fromMs : entry.epoch === epoch));
  return told === undefined ? null : Math.max(0, told.atMs - fromMs);
}

/** By the rows, up to when somebody else had the account: what a boot renewed when it came back is another lease. */
function leaseLeft({ record, leases }: Evidence, owner: Owner, beforeMs: number): number {
  const cameBackMs = Math.min(record.healAtMs ?? Infinity, beforeMs);
  const last = leases.renewalsOf(owner).findLast(({ atMs }) => atMs < cameBackMs);
  return Math.max(0, (last?.untilMs ?? 0) - record.faultAtMs);
}
