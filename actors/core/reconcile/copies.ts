// Owns what a follower's snapshot shows of our own orders, gathered into copies: one copy is all
// that has become of one order, whatever tickets it has had.
//
// 1. Only orders under the link's magic count. Comments are untrusted: a tag or a chain mark is
//    whole or none, and a chain that closes into a ring ends where it began.
// 2. MetaTrader 4's chains are followed from both sides, whoever made them: the closed part's
//    `to #NEW` and the rest's `from #OLD`.
// 3. On MetaTrader 5 a position keeps its identifier, whatever ticket the server's work gives it: an
//    order and its position, and the parts closed of it, are one copy.
// 4. Where a broker's comments say nothing of a part-close, a closed part and a standing rest that no
//    pair knows are one copy if they agree in everything a part-close keeps, and no other two do.

import type { Magic, Ticket } from "../../../protocol/ids.ts";
import { chainFrom, chainTo, masterTicketOfComment } from "../../../protocol/tags.ts";
import type { AccountSnapshot, ClosedPosition, PendingOrder, Position, RemovedPending } from "../../../protocol/trades.ts";
import type { BrokerMs, VolumeUnits } from "../../../protocol/units.ts";

export type Standing = { readonly kind: "position"; readonly position: Position } | { readonly kind: "pending"; readonly pending: PendingOrder };

export interface OwnCopy {
  /** All its tickets, the first one first. */
  readonly tickets: readonly Ticket[];
  /** What stands now; null when it has ended. */
  readonly standing: Standing | null;
  /** How it ended; null while it stands. */
  readonly ended: ClosedPosition | RemovedPending | null;
  /** What it was opened with: what stands and every part that was closed. */
  readonly initialVolume: VolumeUnits;
  /** When its first order was opened or placed. */
  readonly openedMs: BrokerMs;
  /** The master ticket that any of its orders names; null when the comments are gone. */
  readonly tag: Ticket | null;
  /** It is the rest of something that the history does not reach back to. */
  readonly isCut: boolean;
}

/**
 * Copies in the order of their first tickets, so that the older of two comes first.
 * @param known tickets that a pair knows: they need no guess
 */
export function gatherCopies(snapshot: AccountSnapshot, magic: Magic, known: ReadonlySet<Ticket>): OwnCopy[] {
  const orders = ordersByTicket(snapshot, magic);
  const restOf = chainLinks(orders);
  addUnmarkedRests(orders, restOf, known);
  const rests = new Set(restOf.values());
  const firsts = [...orders.keys()].filter((ticket) => !rests.has(ticket));
  const copies = firsts.map((first) => copyOf(chainFromFirst(first, restOf), orders));
  const placed = new Set(copies.flatMap((copy) => copy.tickets));
  // Invariant 1: what is left hangs in rings; each of them counts for itself.
  const rings = [...orders.keys()].filter((ticket) => !placed.has(ticket)).map((ticket) => copyOf([ticket], orders));
  return [...copies, ...rings].sort((a, b) => first(a) - first(b));
}

export const first = (copy: OwnCopy): Ticket => copy.tickets[0] as Ticket;

/** All that a snapshot shows under one ticket; positions under their identifiers. */
interface TicketOrders {
  position: Position | null;
  pending: PendingOrder | null;
  readonly closed: ClosedPosition[];
  removed: RemovedPending | null;
}

function ordersByTicket(snapshot: AccountSnapshot, magic: Magic): Map<Ticket, TicketOrders> {
  const orders = new Map<Ticket, TicketOrders>();
  const under = (ticket: Ticket): TicketOrders => {
    const known = orders.get(ticket) ?? { position: null, pending: null, closed: [], removed: null };
    orders.set(ticket, known);
    return known;
  };
  // Invariant 3.
  for (const position of snapshot.positions) if (position.magic === magic) under(position.identifier).position = position;
  for (const pending of snapshot.pendings) if (pending.magic === magic) under(pending.ticket).pending = pending;
  for (const closed of snapshot.closed) if (closed.position.magic === magic) under(closed.position.identifier).closed.push(closed);
  for (const removed of snapshot.removed) if (removed.pending.magic === magic) under(removed.pending.ticket).removed = removed;
  return orders;
}

/** Invariant 2: the ticket that the rest of each part-closed one lives on under. */
function chainLinks(orders: ReadonlyMap<Ticket, TicketOrders>): Map<Ticket, Ticket> {
  const restOf = new Map<Ticket, Ticket>();
  for (const [ticket, { position, closed }] of orders) {
    for (const part of closed) {
      const to = chainTo(part.position.comment);
      if (to !== null && to !== ticket && orders.has(to)) restOf.set(ticket, to);
    }
    const from = position === null ? null : chainFrom(position.comment);
    if (from !== null && from !== ticket && !restOf.has(from)) restOf.set(from, ticket);
  }
  return restOf;
}

/** Invariant 4. */
function addUnmarkedRests(orders: ReadonlyMap<Ticket, TicketOrders>, restOf: Map<Ticket, Ticket>, known: ReadonlySet<Ticket>): void {
  const rests = new Set(restOf.values());
  const parts = new Map<string, Ticket[]>();
  for (const [ticket, { position, closed }] of orders) {
    const part = closed.at(-1);
    if (position === null && part !== undefined && !restOf.has(ticket)) note(parts, keptByPartClose(part.position), ticket);
  }
  const unmarked = new Map<string, Ticket[]>();
  for (const [ticket, { position, closed }] of orders) {
    if (position === null || closed.length > 0 || rests.has(ticket) || known.has(ticket) || masterTicketOfComment(position.comment) !== null) continue;
    note(unmarked, keptByPartClose(position), ticket);
  }
  for (const [key, [rest, ...more]] of unmarked) {
    const [part, ...others] = parts.get(key) ?? [];
    if (rest !== undefined && part !== undefined && part < rest && more.length === 0 && others.length === 0) restOf.set(part, rest);
  }
}

/** What MetaTrader 4 keeps in a part-close, as one text. */
const keptByPartClose = ({ symbol, side, openTimeMs, openPrice }: Position): string => [symbol, side, openTimeMs, openPrice].join(" ");

/** Adds a value to those under a key. */
export function note<K, V>(byKey: Map<K, V[]>, key: K, value: V): void {
  const noted = byKey.get(key);
  if (noted === undefined) byKey.set(key, [value]);
  else noted.push(value);
}

function chainFromFirst(firstTicket: Ticket, restOf: ReadonlyMap<Ticket, Ticket>): Ticket[] {
  const tickets = [firstTicket];
  for (let next = restOf.get(firstTicket); next !== undefined && !tickets.includes(next); next = restOf.get(next)) tickets.push(next);
  return tickets;
}

function copyOf(tickets: readonly Ticket[], orders: ReadonlyMap<Ticket, TicketOrders>): OwnCopy {
  const entries = tickets.flatMap((ticket) => orders.get(ticket) ?? []);
  const last = entries.at(-1);
  const standing = last === undefined ? null : standingOf(last);
  const ended = standing === null ? (last?.closed.at(-1) ?? last?.removed ?? null) : null;
  const closedVolume = entries.flatMap((entry) => entry.closed).reduce((sum, { position }) => sum + position.volume, 0);
  const standingVolume = standing?.kind === "position" ? standing.position.volume : (standing?.pending.volume ?? 0);
  const removedVolume = ended !== null && "pending" in ended ? ended.pending.volume : 0;
  const from = chainFrom(entries[0]?.position?.comment ?? "");
  const isCut = from !== null && !orders.has(from);
  const now = standing?.kind === "position" ? standing.position.ticket : null;
  return {
    // What a rest names is its ticket before, also where the history does not show it: a pair may know it.
    tickets: [...(isCut ? [from] : []), ...tickets, ...(now === null || tickets.includes(now) ? [] : [now])],
    standing,
    ended,
    initialVolume: (closedVolume + standingVolume + removedVolume) as VolumeUnits,
    openedMs: Math.min(...entries.flatMap(openTimes)) as BrokerMs,
    isCut,
    tag: entries.flatMap(comments).map(masterTicketOfComment).find((tag) => tag !== null) ?? null,
  };
}

function standingOf({ position, pending }: TicketOrders): Standing | null {
  if (position !== null) return { kind: "position", position };
  return pending === null ? null : { kind: "pending", pending };
}

const openTimes = ({ position, pending, closed, removed }: TicketOrders): number[] => [
  ...(position === null ? [] : [position.openTimeMs]),
  ...(pending === null ? [] : [pending.placedTimeMs]),
  ...closed.map((entry) => entry.position.openTimeMs),
  ...(removed === null ? [] : [removed.pending.placedTimeMs]),
];

const comments = ({ position, pending, closed, removed }: TicketOrders): string[] => [
  ...(position === null ? [] : [position.comment]),
  ...(pending === null ? [] : [pending.comment]),
  ...closed.map((entry) => entry.position.comment),
  ...(removed === null ? [] : [removed.pending.comment]),
];
