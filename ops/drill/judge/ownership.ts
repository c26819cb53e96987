// Owns the rules about who may trade: `order-outside-lease`, by the brokers' logs and the polled rows, and
// `epoch-went-back`, `epoch-shared` of the rows alone. Those of the logs alone are the checker's (../../demo/check/owners.ts).
//
// Which way what is not known exactly falls:
// 1. When a lease began, ran out and ended is exact (leases.ts). Where it ran out, an order that comes later is one too
//    many, to the millisecond: whoever sends stops a margin earlier. Where it was ended, the order may have been on
//    its way: ARRIVAL_MS are for it.
// 2. A new tenure is seen up to a poll's pause late, which is for whoever had the account before; ARRIVAL_MS are for it
//    besides. An order of the new one may come before it was seen, which is no fault. So a wrong order is missed in those
//    moments at most; that of a former owner after an order of the new one is found by the logs, whatever the rows say.
// 3. A lease that lapsed and is live again gives nothing back: what was owned before has to be acquired anew.
// 4. A boot's first lease begins before anything is sent; so does that of each epoch.

import type { AccountId } from "../../../protocol/ids.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import { ARRIVAL_MS, isOwn, notJudged, orderText, violation, whenText, type Evidence, type SentOrder } from "./evidence.ts";
import { isSame, ownerText, type LeaseWindow } from "./leases.ts";

export function ownershipViolations(evidence: Evidence): Violation[] {
  const { record } = evidence;
  const lacking = [
    ...(record.leases.length === 0 ? [notJudged("order-outside-lease", "no lease was seen")] : []),
    ...accountsOf(evidence).filter((account) => evidence.tenures.of(account).length === 0).map((account) => notJudged("order-outside-lease", "its row was never seen", account)),
  ];
  const orders = evidence.orders.filter(({ atMs }) => isOwn(record, atMs));
  const outside = lacking.length > 0 ? [] : orders.flatMap((order) => {
    const why = whyOutside(evidence, order);
    return why === null ? [] : [violation("order-outside-lease", order.account, `${orderText(record, order)}: ${why}`)];
  });
  return [...lacking, ...outside, ...accountsOf(evidence).flatMap((account) => epochsOf(evidence, account))];
}

export const accountsOf = ({ troupes }: Evidence): AccountId[] => troupes.flatMap(({ troupe: { cast } }) => [cast.master.account, ...cast.followers.map(({ broker }) => broker.account)]);

function whyOutside({ record, leases, tenures }: Evidence, { account, atMs, sender }: SentOrder): string | null {
  if (sender === null) return "whose lease it was sent under cannot be told";
  const windows = leases.windowsOf(sender);
  const window = windows.find(({ fromMs, untilMs, isEnded }) => fromMs <= atMs && atMs < untilMs + (isEnded ? ARRIVAL_MS : 0)); // 1
  if (window === undefined) return whenItHad(windows, atMs, (ms) => whenText(record, ms));
  const tenure = tenures.ofEpoch(account, sender.epoch);
  if (tenure === null || !isSame(tenure.owner, sender)) return `epoch ${sender.epoch} of the account was ${tenure === null ? "nobody's" : `${ownerText(tenure.owner)}'s`}`;
  if (tenure.fromMs < window.fromMs) return `its lease had lapsed since it took the account, and was live again only from ${whenText(record, window.fromMs)} on`; // 3
  if (atMs <= tenure.untilMs + ARRIVAL_MS) return null; // 2
  const next = tenures.at(account, atMs);
  const whose = next?.owner === null || next === null ? "nobody's" : `${ownerText(next.owner)}'s at epoch ${next.epoch}`;
  return `the account was ${whose} since ${whenText(record, tenure.untilMs)}`;
}

function whenItHad(windows: readonly LeaseWindow[], atMs: number, text: (ms: number) => string): string {
  const before = windows.findLast(({ untilMs }) => untilMs <= atMs);
  if (before !== undefined) return `its lease had ${before.isEnded ? "been ended" : "run out"} ${text(before.untilMs)}`;
  const [first] = windows;
  return first === undefined ? "it never had a lease" : `its first lease began ${text(first.fromMs)}`; // 4
}

/** Epochs rise with every acquisition, and one is one owner's. */
function epochsOf({ record, tenures }: Evidence, account: AccountId): Violation[] {
  const all = tenures.of(account);
  return all.flatMap((tenure, index) => {
    const before = all[index - 1];
    if (before === undefined || !isOwn(record, tenure.fromMs)) return [];
    const when = whenText(record, tenure.fromMs);
    if (tenure.epoch < before.epoch) return [violation("epoch-went-back", account, `its row's epoch fell from ${before.epoch} to ${tenure.epoch} ${when}`)];
    const namesake = all.slice(0, index).find(({ epoch, owner }) => epoch === tenure.epoch && owner !== null);
    if (tenure.owner === null || namesake === undefined || namesake.owner === null) return [];
    if (!isSame(namesake.owner, tenure.owner)) return [violation("epoch-shared", account, `its row's epoch ${tenure.epoch} was ${ownerText(namesake.owner)}'s and is ${ownerText(tenure.owner)}'s ${when}`)];
    return [violation("epoch-shared", account, `its row's epoch ${tenure.epoch} was given to ${ownerText(tenure.owner)} again ${when}`)];
  });
}
