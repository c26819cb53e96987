// Owns the rules about who sent an account's orders, by the broker's log alone: one owner at a time,
// and a former one never again.
//
// 1. An order is its connection's, and a connection is the client's who logged in on it: a text
//    `<node>/<boot>#<epoch>`. What does not say who it is cannot be judged, which is a violation too.
//    Its epoch is the one that the order itself says: an ownership may be renewed under a session that
//    stays. Where it says none, the one at the login holds.
// 2. Only orders count. A former owner may still be logged in; it may not trade.
// 3. An order counts when it arrived, whatever the broker made of it.

import type { AccountId } from "../../../protocol/ids.ts";
import type { BrokerLogEntry } from "../../broker/log.ts";
import type { Violation } from "./checkDemo.ts";
import { timeText } from "./wording.ts";

export interface Client {
  readonly text: string;
  /** Node and boot. */
  readonly owner: string;
  readonly epoch: number;
}

const CLIENT = /^([^/#]+\/[^/#]+)#(0|[1-9][0-9]*)$/;

/** Who sent an order that says this epoch, on a connection of the client of that name (1). */
export function clientOf(name: string | null, ordersEpoch: number | null): Client | null {
  const [, owner, loginEpoch] = CLIENT.exec(name ?? "") ?? [];
  if (owner === undefined) return null;
  const epoch = ordersEpoch ?? Number(loginEpoch);
  return { text: `${owner}#${epoch}`, owner, epoch };
}

/** What one account's orders have shown so far. */
interface Traders {
  last: Client | null;
  highest: Client | null;
  readonly seen: Set<string>;
  readonly ownerOf: Map<number, string>;
}

/** @param log of one server, whole */
export function ownerViolations(log: readonly BrokerLogEntry[]): Violation[] {
  const clients = new Map<number, string | null>();
  const accounts = new Map<AccountId, Traders>();
  return log.flatMap((entry) => {
    if (entry.kind === "login" && entry.refused === null) clients.set(entry.connection, entry.client ?? null);
    if (entry.kind !== "request" || entry.by.kind !== "connection") return []; // 2
    const traders = accounts.get(entry.account) ?? { last: null, highest: null, seen: new Set(), ownerOf: new Map() };
    accounts.set(entry.account, traders);
    const named = clients.get(entry.by.connection) ?? null;
    const client = clientOf(named, entry.epoch ?? null);
    const order = `entry ${entry.n} at ${timeText(entry.atMs)}: ${entry.order.kind}`;
    const broken = client === null ? [["owner-unknown", `from ${named === null ? "a client without a name" : JSON.stringify(named)}`] as const] : traded(traders, client);
    return broken.map(([rule, detail]) => ({ rule, follower: entry.account, detail: `${order} ${detail}` }));
  });
}

/** What is wrong with an order of this client now, as rule and text; it is remembered. */
function traded(traders: Traders, client: Client): (readonly [rule: string, detail: string])[] {
  const { last, highest, seen, ownerOf } = traders;
  const broken: (readonly [string, string])[] = [];
  if (highest !== null && client.epoch < highest.epoch) broken.push(["owner-went-back", `from ${client.text}, after ${highest.text} had traded`]);
  const namesake = ownerOf.get(client.epoch);
  if (namesake !== undefined && namesake !== client.owner) broken.push(["epoch-shared", `from ${client.text}, and epoch ${client.epoch} was ${namesake}'s`]);
  if (last !== null && last.text !== client.text && seen.has(client.text)) broken.push(["owners-interleaved", `from ${client.text} again, after ${last.text}`]);
  traders.last = client;
  if (highest === null || client.epoch > highest.epoch) traders.highest = client;
  seen.add(client.text);
  if (namesake === undefined) ownerOf.set(client.epoch, client.owner);
  return broken;
}
