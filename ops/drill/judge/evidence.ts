// Owns the one reading of a drill's record: orders with their senders, leases, tenures, and each follower's copies.
//
// 1. All times are of the machine's wall clock; the brokers' are brought to it here. Histories and copies, which the
//    checker made, stay in the broker's: `wallMs` brings a time of theirs over.
// 2. An order counts when the broker had it. It may have been sent a little earlier: see ARRIVAL_MS.

import type { AccountId, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import { unreachable } from "../../../protocol/errors.ts";
import type { BrokerLogEntry } from "../../broker/log.ts";
import { followerCases, type Copy, type FollowerCase } from "../../demo/check/cases.ts";
import type { Violation } from "../../demo/check/checkDemo.ts";
import { foldLog, type Histories } from "../../demo/check/histories.ts";
import { beginOf, endOf, firstTicketOf, type AccountHistory, type Request, type Trade } from "../../demo/check/history.ts";
import { clientOf } from "../../demo/check/owners.ts";
import { taggedTicket } from "../../demo/check/names.ts";
import type { Moment } from "../../demo/check/periods.ts";
import type { DrillRecord, DrillTroupe, StruckNode } from "../record.ts";
import { isSame, Leases, type Owner } from "./leases.ts";
import { Tenures } from "./tenures.ts";

/**
 * So long an order may be on its way to the broker's log, on one machine that is busy. It is far below every margin, and
 * only where an order may be sent up to the very moment does it count: a death, a clean end, a deadline.
 */
export const ARRIVAL_MS = 300;
/** How long a copy may take to follow, when nothing is in the way: as in a demo and a cluster. */
export const GRACE_MS = 1_500;
/** An owner that gives an account back takes nothing new any more from so long before on. */
export const HANDOVER_MS = 500;

export interface SentOrder {
  readonly account: AccountId;
  readonly n: number;
  readonly atMs: number;
  readonly order: Order;
  /** Null: it does not say who sent it. */
  readonly sender: (Owner & { readonly epoch: number }) | null;
}

export interface TroupeEvidence {
  readonly troupe: DrillTroupe;
  readonly histories: Histories;
  readonly followers: readonly FollowerEvidence[];
  readonly orders: readonly SentOrder[];
}

export interface FollowerEvidence {
  readonly id: AccountId;
  readonly master: AccountId;
  readonly history: AccountHistory;
  readonly case: FollowerCase;
  /** What was sent for it, in order. */
  readonly orders: readonly SentOrder[];
}

export interface Evidence {
  readonly record: DrillRecord;
  readonly leases: Leases;
  readonly tenures: Tenures;
  readonly troupes: readonly TroupeEvidence[];
  readonly followers: readonly FollowerEvidence[];
  /** Of all accounts, by time. */
  readonly orders: readonly SentOrder[];
}

export function evidenceOf(record: DrillRecord): Evidence {
  const troupes = record.troupes.map((troupe) => troupeEvidence(troupe, record));
  return {
    record,
    leases: new Leases(record.leases, record.lease.ttlMs),
    tenures: new Tenures(record.owners),
    troupes,
    followers: troupes.flatMap(({ followers }) => followers),
    orders: troupes.flatMap(({ orders }) => orders).sort((a, b) => a.atMs - b.atMs),
  };
}

function troupeEvidence(troupe: DrillTroupe, record: DrillRecord): TroupeEvidence {
  const { cast, log, rows } = troupe;
  const histories = foldLog(log);
  const orders = sentOrders(log, record);
  const allowance = { graceMs: GRACE_MS, settleMs: record.settleMs, callTimeoutMs: record.callMs, outages: [], absences: new Map(), handoverMs: null };
  const cases = followerCases(histories, cast, rows.map(({ pair }) => pair), allowance);
  const followers = cases.map((one): FollowerEvidence => ({ id: one.id, master: cast.master.account, history: one.history, case: one, orders: orders.filter(({ account }) => account === one.id) }));
  return { troupe, histories, followers, orders };
}

function sentOrders(log: readonly BrokerLogEntry[], { clockOffsetMs }: DrillRecord): SentOrder[] {
  const clients = new Map<number, string | null>();
  return log.flatMap((entry) => {
    if (entry.kind === "login" && entry.refused === null) clients.set(entry.connection, entry.client);
    if (entry.kind !== "request" || entry.by.kind !== "connection") return [];
    const client = clientOf(clients.get(entry.by.connection) ?? null, entry.epoch);
    const [node, boot] = client?.owner.split("/") ?? [];
    const sender = client === null || node === undefined || boot === undefined ? null : { node, boot, epoch: client.epoch };
    return [{ account: entry.account, n: entry.n, atMs: entry.atMs - clockOffsetMs, order: entry.order, sender }];
  });
}

/** What the broker's clock showed, on the machine's. */
export const wallMs = ({ record }: Evidence, brokerMs: number): number => brokerMs - record.clockOffsetMs;

/** Whether a moment is this record's to judge: each is judged once, and the last record has what is left. */
export const isOwn = ({ fromMs, endAtMs, round, rounds }: DrillRecord, atMs: number): boolean => atMs >= fromMs && (round === rounds || atMs < endAtMs);

export const isStruck = ({ struck }: DrillRecord, owner: Owner | null): boolean => owner !== null && struck.some((one) => isSame(asOwner(one), owner));

export const isSender = ({ sender }: SentOrder, owner: Owner): boolean => isSame(sender, owner);

export const asOwner = ({ node, boot }: StruckNode): Owner | null => (boot === null ? null : { node, boot });

/** The master's trade an order is about: by the tag it carries, or by the trade whose ticket it names; null where there is none. */
export function copyOf({ case: one, history }: FollowerEvidence, n: number): Copy | null {
  const request = history.requests.get(n);
  return request === undefined ? null : (one.copies.get((taggedTicket(tagOf(history, request)) ?? 0) as Ticket) ?? null);
}

/** The comment that an order was opened with, as it was asked for: whatever its broker made of it. */
function tagOf(history: AccountHistory, request: Request): string {
  const { order, target } = request;
  return "comment" in order ? order.comment : target === null ? "" : openedAs(history, target).comment;
}

/** Magic and comment a trade was asked for with; those it has at the broker where nobody asked. */
export function openedAs({ requests }: AccountHistory, trade: Trade): { readonly magic: number; readonly comment: string } {
  const causeN = (trade.pending?.placed ?? trade.position?.opened)?.causeN ?? null;
  const order = causeN === null ? undefined : requests.get(causeN)?.order;
  return order !== undefined && "comment" in order ? order : trade;
}

/** `1.250 s after the fault`. */
export function whenText({ faultAtMs }: DrillRecord, atMs: number): string {
  const seconds = (Math.abs(atMs - faultAtMs) / 1_000).toFixed(3);
  return `${seconds} s ${atMs < faultAtMs ? "before" : "after"} the fault`;
}

export function orderText(record: DrillRecord, { n, atMs, order, sender }: SentOrder): string {
  const from = sender === null ? "nobody who says his name" : `${sender.node}/${sender.boot}#${sender.epoch}`;
  return `entry ${n}, ${order.kind} ${subjectOf(order)} from ${from} ${whenText(record, atMs)}`;
}

function subjectOf(order: Order): string {
  switch (order.kind) {
    case "open":
    case "place":
      return `of ${order.comment}`;
    case "close":
    case "modify":
    case "change":
    case "cancel":
      return `of ticket ${order.ticket}`;
    default:
      return unreachable(order);
  }
}

/** Everything that happened to a trade, in order. */
export function stepsOf(trade: Trade): Moment[] {
  const { pending, position } = trade;
  const all = [beginOf(trade), ...(pending?.terms ?? []), ...(position === null ? [] : [position.opened, ...position.volumes, ...position.levels]), endOf(trade)];
  return all.filter((step) => step !== null).sort((a, b) => a.n - b.n);
}

export const tradeName = (trade: Trade): string => `ticket ${firstTicketOf(trade)}`;

export const violation = (rule: string, follower: AccountId | null, detail: string): Violation => ({ rule, follower, detail });
/** What the record lacks: silence would pass for right. */
export const notJudged = (what: string, why: string, follower: AccountId | null = null): Violation => violation("not-judged", follower, `${what}: ${why}`);
