// Owns when nobody acted for an account, of which nobody can hear and to which nobody can answer: what the checker excuses
// as lateness, and nothing else. How long it lasted is judged elsewhere (gap.ts).
//
// 1. It begins where the owner stopped: at the fault that struck it, at its deadline where no renewal came in time, at the
//    end of its lease, or a handover before its row named somebody else. The first of these counts.
// 2. It ends when the next acquisition had a session and the time to take everything in. One by the same boot keeps its session.
// 3. A new owner opens late only when the former one's orders have settled and its events are rows; how long it waited for
//    those, it says itself, up to the longest it may.
// 4. A fault after which nobody is acquired anew (the log's) lasts until it was healed, and as long again as clients may take to
//    notice. One that was never healed excuses nothing: then nobody has the account.

import { KAFKA_LOG_LIMITS } from "../../../log/kafka/limits.ts";
import type { AccountId } from "../../../protocol/ids.ts";
import type { Absence } from "../../demo/check/patience.ts";
import { RESYNC_MS } from "../../demo/check/ears.ts";
import { HANDOVER_MS, isStruck, type Evidence, type TroupeEvidence } from "./evidence.ts";
import { isSame, ownerText, type Owner } from "./leases.ts";
import { cutSession, sessionsOf } from "./sessions.ts";
import { deadlineOf } from "./silence.ts";
import type { Tenure } from "./tenures.ts";

/** From a tenure that was polled to a login that came before it was seen. */
export const POLL_MS = 200;
/** An owner goes on without its barrier after this. */
const BARRIER_LIMIT_MS = 15_000;
/** Clients of a log that came back: their groups still know the members they had, and wait for no answer of theirs for longer. */
export const LOG_RETURN_MS = KAFKA_LOG_LIMITS.rebalanceMs;

/** Of one troupe's accounts, on its broker's clock. */
export function absencesOf(evidence: Evidence, { troupe: { cast } }: TroupeEvidence): ReadonlyMap<AccountId, readonly Absence[]> {
  const { clockOffsetMs } = evidence.record;
  const accounts = [cast.master.account, ...cast.followers.map(({ broker }) => broker.account)];
  const atBroker = ({ fromMs, toMs, opensFromMs }: Absence): Absence => ({ fromMs: fromMs + clockOffsetMs, toMs: toMs + clockOffsetMs, opensFromMs: opensFromMs + clockOffsetMs });
  return new Map(accounts.map((account, index) => [account, absences(evidence, account, index === 0).map(atBroker)]));
}

function absences(evidence: Evidence, account: AccountId, isMaster: boolean): Absence[] {
  const owned = evidence.tenures.of(account).filter((tenure): tenure is Owned => tenure.owner !== null);
  const between = owned.map((next, index): Absence => {
    const former = owned[index - 1];
    const fromMs = former === undefined ? -Infinity : stopOf(evidence, account, former, next);
    const toMs = readyOf(evidence, account, next);
    // What a master's followers find late was sent by nobody before.
    return { fromMs, toMs, opensFromMs: isMaster ? toMs : opensFromOf(evidence, account, next, toMs) }; // 3
  });
  const last = owned.at(-1);
  const strokes = last === undefined ? [] : [...strokesOn(evidence, last.owner), ...logStrokes(evidence, account)].filter(({ atMs, healMs }) => atMs >= last.fromMs && healMs < Infinity);
  const after = strokes.map(({ atMs, healMs }) => ({ fromMs: atMs, toMs: healMs + LOG_RETURN_MS, opensFromMs: healMs + LOG_RETURN_MS })); // 4
  return [...between, ...after];
}

interface Owned extends Tenure {
  readonly owner: Owner;
}

interface Stroke {
  readonly atMs: number;
  readonly healMs: number;
}

/** When a boot was struck: this record's faults, and those of other rounds, which are in the timeline. */
function strokesOn({ record }: Evidence, owner: Owner): Stroke[] {
  if (record.expects.copiesUntilDeadline) return [];
  const healOf = (atMs: number): number => record.timeline.find((entry) => entry.event === "heal" && entry.atMs >= atMs)?.atMs ?? Infinity;
  const told = record.timeline.filter(({ event, node, boot }) => event === "fault" && node !== null && boot !== null && isSame({ node, boot }, owner)).map(({ atMs }) => ({ atMs, healMs: healOf(atMs) }));
  return isStruck(record, owner) ? [...told, { atMs: record.faultAtMs, healMs: record.healAtMs ?? Infinity }] : told;
}

/** What struck no node and cut no session struck the log, which all share. */
function logStrokes(evidence: Evidence, account: AccountId): Stroke[] {
  const { struck, faultAtMs, healAtMs } = evidence.record;
  if (struck.length > 0 || healAtMs === null) return [];
  return cutSession(evidence, account) !== null ? [] : [{ atMs: faultAtMs, healMs: healAtMs }];
}

/** When a tenure's owner stopped acting for the account (1). */
function stopOf(evidence: Evidence, account: AccountId, { owner, fromMs, epoch }: Owned, next: Owned): number {
  const { record, leases, tenures } = evidence;
  const isWithin = (atMs: number): boolean => atMs >= fromMs && atMs <= next.fromMs;
  const struck = strokesOn(evidence, owner).map(({ atMs }) => atMs);
  const cleared = tenures.of(account).find((tenure) => tenure.owner === null && tenure.epoch === epoch)?.fromMs ?? next.fromMs;
  const renewals = leases.renewalsOf(owner);
  const deadlines = renewals.flatMap(({ untilMs }, index) => {
    const deadlineMs = untilMs - record.lease.marginMs;
    return deadlineMs < (renewals[index + 1]?.atMs ?? Infinity) ? [deadlineMs] : [];
  });
  const cut = record.expects.copiesUntilDeadline && isStruck(record, owner) ? [deadlineOf(leases, record, owner)?.earliestMs ?? next.fromMs] : [];
  return Math.min(cleared - HANDOVER_MS, ...[...struck, ...deadlines, leases.endOf(owner) ?? Infinity, ...cut].filter(isWithin));
}

/** When whoever has the account now could act (2). */
function readyOf(evidence: Evidence, account: AccountId, { owner, fromMs, untilMs }: Owned): number {
  const login = loginsOf(evidence, account, owner).find((atMs) => atMs >= fromMs - POLL_MS && atMs < untilMs);
  return Math.max(fromMs, login ?? 0) + RESYNC_MS;
}

const loginsOf = (evidence: Evidence, account: AccountId, owner: Owner): number[] =>
  sessionsOf(evidence, account).filter(({ client }) => client?.startsWith(`${ownerText(owner)}#`) === true).map(({ fromMs }) => fromMs);

function opensFromOf({ record }: Evidence, account: AccountId, { epoch }: Owned, readyMs: number): number {
  const passed = record.timeline.find((entry) => (entry.event === "barrier" || entry.event === "barrier_late") && entry.account === account && entry.epoch === epoch)?.atMs;
  return Math.max(readyMs + record.settleMs, Math.min(passed ?? 0, readyMs + BARRIER_LIMIT_MS) + RESYNC_MS);
}
