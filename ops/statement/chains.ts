// Owns the joining of MT4's part-closes: which row is the rest of which.
//
// 1. One name is enough (`to #` here or `from #` there), since a rest that is part-closed itself
//    loses its `from #`. So the two rows must also agree in all that a part-close keeps.
// 2. A ticket has at most one rest and is the rest of at most one; a rest's ticket is the larger,
//    so no chain returns to its start.

import type { Ticket } from "../../protocol/ids.ts";
import type { Side } from "../../protocol/trades.ts";
import type { BrokerMs, Points } from "../../protocol/units.ts";

/** What the joining needs to know of a trade. */
export interface ChainLink {
  readonly ticket: Ticket;
  readonly symbol: string;
  readonly side: Side;
  readonly openTimeMs: BrokerMs;
  readonly openPrice: Points;
  readonly closed: boolean;
  /** What its comment names. */
  readonly namedFrom: Ticket | null;
  readonly namedTo: Ticket | null;
}

export interface Chains {
  /** From a closed part's ticket to its rest's. */
  readonly to: ReadonlyMap<Ticket, Ticket>;
  /** The same, backwards. */
  readonly from: ReadonlyMap<Ticket, Ticket>;
  /** Trades that name a ticket they could not be joined with. */
  readonly unresolved: readonly Ticket[];
}

export function joinChains(trades: readonly ChainLink[]): Chains {
  const byTicket = new Map(trades.map((trade) => [trade.ticket, trade]));
  const to = new Map<Ticket, Ticket>();
  const from = new Map<Ticket, Ticket>();
  const join = (partTicket: Ticket, restTicket: Ticket): void => {
    const part = byTicket.get(partTicket);
    const rest = byTicket.get(restTicket);
    if (part === undefined || rest === undefined || !belongTogether(part, rest)) return;
    if (to.has(partTicket) || from.has(restTicket)) return; // Invariant 2.
    to.set(partTicket, restTicket);
    from.set(restTicket, partTicket);
  };
  for (const { ticket, namedFrom, namedTo } of trades) {
    if (namedTo !== null) join(ticket, namedTo);
    if (namedFrom !== null) join(namedFrom, ticket);
  }
  const resolved = ({ ticket, namedFrom, namedTo }: ChainLink): boolean =>
    (namedTo === null || to.get(ticket) === namedTo) && (namedFrom === null || from.get(ticket) === namedFrom);
  return { to, from, unresolved: trades.filter((trade) => !resolved(trade)).map((trade) => trade.ticket) };
}

function belongTogether(part: ChainLink, rest: ChainLink): boolean {
  return (
    part.closed &&
    part.ticket < rest.ticket &&
    (part.namedTo === null || part.namedTo === rest.ticket) &&
    (rest.namedFrom === null || rest.namedFrom === part.ticket) &&
    part.symbol === rest.symbol &&
    part.side === rest.side &&
    part.openTimeMs === rest.openTimeMs &&
    part.openPrice === rest.openPrice
  );
}
