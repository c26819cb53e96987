// Owns the rules about what Lockstep asked of brokers: only for trades that its master has, under
// its own tag, and nothing once a copy is over.

import type { Order } from "../../../protocol/orders.ts";
import { copyOfRequest, type Copy, type FollowerCase } from "./cases.ts";
import { beginOf, endOf, firstTicketOf, type AccountHistory, type Request } from "./history.ts";
import { taggedTicket } from "./names.ts";
import { timeText, tradeText } from "./wording.ts";

function orderText(order: Order): string {
  const whose = "comment" in order ? `with magic ${order.magic} and comment ${JSON.stringify(order.comment)}` : `of ticket ${order.ticket}`;
  return `${order.kind} in ${order.symbol} ${whose}`;
}

const requestText = ({ n, atMs, order }: Request): string => `entry ${n} at ${timeText(atMs)}: ${orderText(order)}`;

function foreignOrder({ history, link, copies }: FollowerCase): string[] {
  return [...history.requests.values()].flatMap((request) => {
    if (request.by.kind !== "connection") return [];
    const copy = copyOfRequest(copies, link, request);
    if (copy === null) return [`${requestText(request)}: ${strangeness(request, link.magic)}`];
    return beginOf(copy.master).n > request.n ? [`${requestText(request)}: before the master had trade ${firstTicketOf(copy.master)}`] : [];
  });
}

function strangeness({ order, target }: Request, magic: number): string {
  const tagged = "comment" in order ? order : target;
  if (tagged === null) return "no such ticket";
  if (tagged.magic !== magic) return `expected the link's magic ${magic}, got ${tagged.magic}`;
  const ticket = taggedTicket(tagged.comment);
  return ticket === null ? `${JSON.stringify(tagged.comment)} is no tag` : `the master has no trade ${ticket}`;
}

/** Nobody but the player trades on the master. */
export function masterTouched(master: AccountHistory): string[] {
  return [...master.requests.values()].filter(({ by }) => by.kind === "connection").map(requestText);
}

/** Within the grace it may cross with the news of the end. An opening that was done is another rule's. */
function requestAfterEnd({ master, lives, requests, patience }: Copy): string[] {
  return requests.flatMap((request) => {
    const isOpening = request.target === null;
    if (isOpening && lives.some((life) => beginOf(life).causeN === request.n)) return [];
    const about = request.target ?? lives.findLast((life) => beginOf(life).n < request.n && life.position !== null) ?? null;
    const end = about === null ? null : endOf(about);
    if (about === null || end === null || request.atMs <= patience.dueMs(end.atMs)) return [];
    return [`${tradeText(master)}: ${requestText(request)}, although copy ${tradeText(about)} was over`];
  });
}

export const orderRules = { "request-after-end": requestAfterEnd } as const;
export const followerOrderRules = { "foreign-order": foreignOrder } as const;
