// Owns the joining of part-closes: which row is the rest of which.
//
// 1. MT5 keeps the ticket: rows of one ticket that agree in all that a part-close keeps are one
//    trade, in the order in which they closed. A position that reappears under its ticket does not
//    agree, and is a trade of its own.
// 2. MT4 gives the rest a new ticket. One name is enough (`to #` here or `from #` there), since a rest
//    that is part-closed itself loses its `from #`. So the two rows must also agree.
// 3. A row has at most one rest and is the rest of at most one; a rest's row closes later or has the
//    larger ticket, so no chain returns to its start.

import type { Ticket } from "../../protocol/ids.ts";
import type { Side } from "../../protocol/trades.ts";
import type { BrokerMs, Points } from "../../protocol/units.ts";

/** What the joining needs to know of a trade's row. */
export interface ChainLink {
  readonly ticket: Ticket;
  readonly symbol: string;
  readonly side: Side;
  readonly openTimeMs: BrokerMs;
  readonly openPrice: Points;
  /** Null while it is open. */
  readonly closeTimeMs: BrokerMs | null;
  /** What its comment names. */
  readonly namedFrom: Ticket | null;
  readonly namedTo: Ticket | null;
}

export interface Chains<Link> {
  /** From a closed part's row to its rest's. */
  readonly to: ReadonlyMap<Link, Link>;
  /** The same, backwards. */
  readonly from: ReadonlyMap<Link, Link>;
  /** Trades that name a ticket they could not be joined with. */
  readonly unresolved: readonly Ticket[];
}

export function joinChains<Link extends ChainLink>(trades: readonly Link[]): Chains<Link> {
  const to = new Map<Link, Link>();
  const from = new Map<Link, Link>();
  const join = (part: Link, rest: Link | undefined): void => {
    if (rest === undefined || to.has(part) || from.has(rest) || !agree(part, rest)) return; // Invariant 3.
    to.set(part, rest);
    from.set(rest, part);
  };
  const alike = new Map<string, Link[]>();
  for (const trade of trades) {
    const { ticket, symbol, side, openTimeMs, openPrice } = trade;
    const key = `${ticket} ${symbol} ${side} ${openTimeMs} ${openPrice}`;
    const rows = alike.get(key);
    if (rows === undefined) alike.set(key, [trade]);
    else rows.push(trade);
  }
  for (const rows of alike.values()) {
    const inOrder = rows.toSorted((a, b) => closing(a) - closing(b));
    for (const [index, part] of inOrder.entries()) join(part, inOrder[index + 1]); // Invariant 1.
  }

  const byTicket = new Map(trades.map((trade) => [trade.ticket, trade]));
  const named = (ticket: Ticket | null): Link | undefined => (ticket === null ? undefined : byTicket.get(ticket));
  const joinNamed = (part: Link | undefined, rest: Link | undefined): void => {
    if (part !== undefined && rest !== undefined && namesAgree(part, rest)) join(part, rest); // Invariant 2.
  };
  for (const trade of trades) {
    joinNamed(trade, named(trade.namedTo));
    joinNamed(named(trade.namedFrom), trade);
  }
  const resolved = (trade: Link): boolean =>
    (trade.namedTo === null || to.get(trade)?.ticket === trade.namedTo) && (trade.namedFrom === null || from.get(trade)?.ticket === trade.namedFrom);
  return { to, from, unresolved: trades.filter((trade) => !resolved(trade)).map(({ ticket }) => ticket) };
}

/** What is still open closes after all that is closed. */
const closing = ({ closeTimeMs }: ChainLink): number => closeTimeMs ?? Number.MAX_SAFE_INTEGER;

function namesAgree(part: ChainLink, rest: ChainLink): boolean {
  return part.ticket < rest.ticket && (part.namedTo === null || part.namedTo === rest.ticket) && (rest.namedFrom === null || rest.namedFrom === part.ticket);
}

/** Whether two rows are alike in all that a part-close keeps. */
function agree(part: ChainLink, rest: ChainLink): boolean {
  return part.closeTimeMs !== null && part.symbol === rest.symbol && part.side === rest.side && part.openTimeMs === rest.openTimeMs && part.openPrice === rest.openPrice;
}
