// Owns finding our own copies in a follower's snapshot: by ticket, along MetaTrader 4's part-close
// chains, and by tag. Comments are untrusted: only a whole tag under our magic counts.

import type { Magic, Ticket } from "../../protocol/ids.ts";
import { chainFrom, chainTo, masterTicketOfComment } from "../../protocol/tags.ts";
import type { AccountSnapshot, ClosedPosition, PendingOrder, Position, RemovedPending } from "../../protocol/trades.ts";
import type { VolumeUnits } from "../../protocol/units.ts";

export type Standing =
  /** `initialVolume`: with the parts that were closed since the open. */
  | { readonly kind: "position"; readonly position: Position; readonly initialVolume: VolumeUnits }
  | { readonly kind: "pending"; readonly pending: PendingOrder }
  | { readonly kind: "ended"; readonly entry: ClosedPosition | RemovedPending }
  | { readonly kind: "none" };

export interface OwnOrders {
  byTicket(ticket: Ticket): Standing;
  byTag(masterTicket: Ticket): Standing;
  /** The open orders that carry this tag, the oldest first: more than one when one was executed after we had given it up. */
  openOf(masterTicket: Ticket): readonly (Position | PendingOrder)[];
  /** Every master ticket that an open order of this link names. */
  masterTickets(): Iterable<Ticket>;
}

const NONE: Standing = { kind: "none" };

export function ownOrders(snapshot: AccountSnapshot, magic: Magic): OwnOrders {
  const positions = new Map(snapshot.positions.map((position) => [position.ticket, position]));
  const pendings = new Map(snapshot.pendings.map((pending) => [pending.ticket, pending]));
  const closedParts = new Map<Ticket, ClosedPosition[]>();
  for (const entry of snapshot.closed) closedParts.set(entry.position.ticket, [...(closedParts.get(entry.position.ticket) ?? []), entry]);
  const removed = new Map(snapshot.removed.map((entry) => [entry.pending.ticket, entry]));
  const restOf = new Map<Ticket, Ticket>();
  for (const { position } of snapshot.closed) note(restOf, position.ticket, chainTo(position.comment));
  for (const { ticket, comment } of snapshot.positions) note(restOf, chainFrom(comment), ticket);

  const tagOf = (order: { readonly magic: Magic; readonly comment: string }): Ticket | null => (order.magic === magic ? masterTicketOfComment(order.comment) : null);
  const openByTag = groupedBy([...snapshot.positions, ...snapshot.pendings], tagOf);
  const endedByTag = groupedBy([...snapshot.closed.map((entry) => entry.position), ...snapshot.removed.map((entry) => entry.pending)], tagOf);

  function byTicket(first: Ticket): Standing {
    let closedVolume = 0;
    const seen = new Set<Ticket>();
    for (let ticket: Ticket | undefined = first; ticket !== undefined && !seen.has(ticket); ticket = restOf.get(ticket)) {
      seen.add(ticket);
      const parts = closedParts.get(ticket) ?? [];
      closedVolume += parts.reduce((sum, part) => sum + part.position.volume, 0);
      const position = positions.get(ticket);
      if (position !== undefined) return { kind: "position", position, initialVolume: (position.volume + closedVolume) as VolumeUnits };
      const pending = pendings.get(ticket);
      if (pending !== undefined) return { kind: "pending", pending };
      if (restOf.has(ticket)) continue;
      const entry = parts.at(-1) ?? removed.get(ticket);
      if (entry !== undefined) return { kind: "ended", entry };
    }
    return NONE;
  }

  return {
    byTicket,
    byTag(masterTicket) {
      const order = openByTag.get(masterTicket)?.[0] ?? endedByTag.get(masterTicket)?.[0];
      return order === undefined ? NONE : byTicket(order.ticket);
    },
    openOf: (masterTicket) => openByTag.get(masterTicket) ?? [],
    masterTickets: () => openByTag.keys(),
  };
}

function note(restOf: Map<Ticket, Ticket>, from: Ticket | null, to: Ticket | null): void {
  if (from !== null && to !== null) restOf.set(from, to);
}

/** The orders of each key, the oldest first: of two copies with one tag the older is the copy. */
function groupedBy<T extends { readonly ticket: Ticket }>(orders: readonly T[], keyOf: (order: T) => Ticket | null): Map<Ticket, T[]> {
  const found = new Map<Ticket, T[]>();
  for (const order of [...orders].sort((a, b) => a.ticket - b.ticket)) {
    const key = keyOf(order);
    if (key !== null) found.set(key, [...(found.get(key) ?? []), order]);
  }
  return found;
}
