// Owns what is seen of owners' turns at the brokers: where an account's orders begin to come from another owner, or
// from the same one at another epoch.

import type { AccountId, BootId, Epoch, NodeId } from "../../protocol/ids.ts";
import type { TimelineEntry, TimelineEvent } from "../../protocol/timeline.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { BrokerLogEntry } from "../broker/log.ts";
import { clientOf } from "../demo/check/owners.ts";

interface Sent {
  readonly atMs: number;
  readonly owner: string;
  readonly epoch: number;
  readonly kind: string;
}

/** At each change the last order of the one and the first of the next. @param log of one server, whole */
export function turnEntries(log: readonly BrokerLogEntry[], clockOffsetMs: number): TimelineEntry[] {
  const clients = new Map<number, string | null>();
  const last = new Map<AccountId, Sent>();
  return log.flatMap((entry) => {
    if (entry.kind === "login" && entry.refused === null) clients.set(entry.connection, entry.client);
    if (entry.kind !== "request" || entry.by.kind !== "connection") return [];
    const client = clientOf(clients.get(entry.by.connection) ?? null, entry.epoch);
    if (client === null) return [];
    const { account } = entry;
    const sent: Sent = { atMs: entry.atMs - clockOffsetMs, owner: client.owner, epoch: client.epoch, kind: entry.order.kind };
    const before = last.get(account);
    last.set(account, sent);
    if (before === undefined || (before.owner === sent.owner && before.epoch === sent.epoch)) return [];
    return [entryOf(account, "last_order", before), entryOf(account, "first_order", sent)];
  });
}

function entryOf(account: AccountId, event: TimelineEvent, { atMs, owner, epoch, kind }: Sent): TimelineEntry {
  const [node = "", boot = ""] = owner.split("/");
  return { atMs: atMs as WallMs, node: node as NodeId, boot: boot as BootId, account, epoch: epoch as Epoch, event, detail: { order: kind } };
}
