// Owns the rules about boots that were struck and what they may still send: `order-after-fault`, `order-after-thaw`,
// and for those that go on until their deadline `stopped-early`, `ordered-after-deadline`.
//
// 1. The deadline is `sent + ttl - margin` of the last renewal whose answer counted. The rows know renewals, not answers: one
//    whose answer was cut off is in them too. So the deadline lies between that of the last renewal that was surely answered,
//    REPLY_MS before the fault, and that of the last one that was made by then or was under way; the node has to go on until the first and
//    to stop by the second. As a rule they are one.
// 2. A renewal is sent a little before the row has it: that is for the node, and far less than ARRIVAL_MS.
// 3. Whoever is fenced sends nothing under the epochs it had, ever: a lift acquires each account anew.
// 4. A second in which the masters gave its accounts nothing to do proves nothing.

import type { Violation } from "../../demo/check/checkDemo.ts";
import type { DrillRecord } from "../record.ts";
import { ARRIVAL_MS, asOwner, isSender, notJudged, orderText, stepsOf, violation, wallMs, whenText, type Evidence, type FollowerEvidence, type SentOrder } from "./evidence.ts";
import { isSame, ownerText, type Leases, type Owner } from "./leases.ts";

/** A renewal that is so much older than the fault had its answer; one that was under way then was made within it. */
const REPLY_MS = 250;
const SECOND_MS = 1_000;

export function silenceViolations(evidence: Evidence): Violation[] {
  const { record } = evidence;
  if (record.expects.silentFrom === null && !record.expects.copiesUntilDeadline) return [];
  if (record.struck.length === 0) return [notJudged("what struck nodes sent", "none was struck")];
  return record.struck.flatMap((node) => {
    const owner = asOwner(node);
    if (owner === null) return [notJudged("what struck nodes sent", `${node.node} had no lease`)];
    return [...(record.expects.silentFrom === null ? [] : afterSilence(evidence, owner, record.expects.silentFrom)), ...(record.expects.copiesUntilDeadline ? untilDeadline(evidence, owner) : [])];
  });
}

function afterSilence(evidence: Evidence, owner: Owner, from: "fault" | "heal"): Violation[] {
  const { record, leases } = evidence;
  const rule = from === "fault" ? "order-after-fault" : "order-after-thaw";
  const heldUntilMs = from === "fault" ? record.faultAtMs : record.healAtMs;
  if (heldUntilMs === null) return [notJudged(rule, "the fault was never healed")];
  const lastMs = leases.renewalsOf(owner).findLast(({ atMs }) => atMs <= record.faultAtMs + REPLY_MS)?.untilMs;
  if (lastMs === undefined) return [notJudged(rule, `no lease of ${ownerText(owner)} was seen`)];
  if (from === "heal" && lastMs > heldUntilMs) return [notJudged(rule, `${ownerText(owner)} was let go on ${whenText(record, heldUntilMs)}, before its lease had run out`)];
  const silentMs = from === "fault" ? record.faultAtMs + ARRIVAL_MS : heldUntilMs;
  return ordersUnderOldEpochs(evidence, owner, silentMs).map((order) => violation(rule, order.account, orderText(record, order)));
}

/** Those of a boot after a moment, under epochs that it had not acquired since (3). */
function ordersUnderOldEpochs({ record, orders, tenures }: Evidence, owner: Owner, fromMs: number): SentOrder[] {
  return orders.filter((order) => {
    if (order.atMs <= fromMs || order.atMs >= record.endAtMs || order.sender === null || !isSender(order, owner)) return false;
    const acquiredMs = tenures.ofEpoch(order.account, order.sender.epoch)?.fromMs;
    return acquiredMs === undefined || acquiredMs <= fromMs;
  });
}

export interface Deadline {
  /** Until then it has to go on, and by then it has to stop (1). */
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** Of a boot that was cut off at the fault; null where it had no lease. */
export function deadlineOf(leases: Leases, { faultAtMs, lease }: DrillRecord, owner: Owner): Deadline | null {
  const renewals = leases.renewalsOf(owner);
  const sure = renewals.findLast(({ atMs }) => atMs <= faultAtMs - REPLY_MS);
  const last = renewals.findLast(({ atMs }) => atMs <= faultAtMs + REPLY_MS);
  if (sure === undefined || last === undefined) return null;
  return { earliestMs: sure.untilMs - lease.marginMs, latestMs: last.untilMs - lease.marginMs };
}

function untilDeadline(evidence: Evidence, owner: Owner): Violation[] {
  const { record, leases } = evidence;
  const deadline = deadlineOf(leases, record, owner);
  if (deadline === null) return [notJudged("stopped-early", `no lease of ${ownerText(owner)} was seen`)];
  const { earliestMs, latestMs } = deadline;
  const after = ordersUnderOldEpochs(evidence, owner, latestMs + ARRIVAL_MS).map((order) => // 2
    violation("ordered-after-deadline", order.account, `${orderText(record, order)}: its deadline was ${whenText(record, latestMs)}`),
  );
  const sent = evidence.orders.filter((order) => isSender(order, owner) && order.atMs >= record.faultAtMs && order.atMs <= latestMs + ARRIVAL_MS).map(({ atMs }) => atMs);
  return [...silentSeconds(evidence, owner, earliestMs, sent), ...after];
}

function silentSeconds(evidence: Evidence, owner: Owner, deadlineMs: number, sent: readonly number[]): Violation[] {
  const { record } = evidence;
  // The last second ends with the deadline, the first ones begin with the fault.
  const seconds = Math.floor((deadlineMs - record.faultAtMs) / SECOND_MS);
  if (seconds < 1) return [notJudged("stopped-early", `the deadline of ${ownerText(owner)} was less than a second after the fault`)];
  return Array.from({ length: seconds }, (_, index) => deadlineMs - (seconds - index) * SECOND_MS).flatMap((fromMs) => {
    const toMs = fromMs + SECOND_MS;
    if (sent.some((atMs) => atMs >= fromMs && atMs < toMs + ARRIVAL_MS)) return [];
    const between = `in the second from ${whenText(record, fromMs)}, its deadline being ${whenText(record, deadlineMs)}`;
    if (hadWork(evidence, owner, fromMs, toMs)) return [violation("stopped-early", null, `${ownerText(owner)} sent no order ${between}`)];
    return [notJudged("stopped-early", `the masters gave ${ownerText(owner)} nothing to do ${between}`)]; // 4
  });
}

/** Whether a master of an account of this boot did anything. */
function hadWork(evidence: Evidence, owner: Owner, fromMs: number, toMs: number): boolean {
  const { record, tenures } = evidence;
  const isIn = (brokerMs: number): boolean => wallMs(evidence, brokerMs) >= fromMs && wallMs(evidence, brokerMs) < toMs;
  const isIts = ({ id }: FollowerEvidence): boolean => isSame(tenures.at(id, record.faultAtMs)?.owner ?? null, owner);
  return evidence.followers.filter(isIts).some((follower) => [...follower.case.copies.values()].some(({ master }) => stepsOf(master).some(({ atMs }) => isIn(atMs))));
}
