// Owns what is judged: each follower, and for each of its master's trades everything the follower
// did about it.
//
// 1. A copy belongs to a master's trade by its tag alone: the link's magic and the comment that
//    names the trade's first ticket. What Lockstep says of it is never used to find it.

import type { Link } from "../../../protocol/accounts.ts";
import type { AccountId, Ticket } from "../../../protocol/ids.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { Platform } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Cast, Follower } from "../cast.ts";
import { firstTicketOf, initialVolumeOf, type AccountHistory, type Request, type Trade } from "./history.ts";
import type { Histories } from "./histories.ts";
import { followerSymbol, taggedTicket } from "./names.ts";
import type { QuoteBook } from "./prices.ts";
import type { Moment } from "./timeline.ts";

export interface FollowerCase {
  readonly id: AccountId;
  readonly platform: Platform;
  readonly link: Link;
  readonly history: AccountHistory;
  readonly quotes: QuoteBook;
  /** The last entry of the log. */
  readonly end: Moment;
  readonly graceMs: number;
  /** One for each trade of the master, copied or not, by the trade's first ticket. */
  readonly copies: ReadonlyMap<Ticket, Copy>;
  /** What Lockstep says, about whatever. */
  readonly rows: readonly Pair[];
}

/** One trade of the master and what one follower made of it. */
export interface Copy {
  readonly follower: FollowerCase;
  readonly master: Trade;
  /** What the follower's broker calls the master's symbol; null where it has none. */
  readonly symbol: BrokerSymbol | null;
  /** The follower's trades with this trade's tag, in order. More than one is rarely right. */
  readonly lives: readonly Trade[];
  /** What Lockstep asked of them or for them, in order. */
  readonly requests: readonly Request[];
  /** Those Lockstep has of it. */
  readonly rows: readonly Pair[];
}

interface GrowingCopy extends Copy {
  readonly lives: Trade[];
  readonly requests: Request[];
  readonly rows: Pair[];
}

export const emptyHistory = (account: AccountId, platform: Platform): AccountHistory => ({ account, platform, symbols: new Map(), trades: [], requests: new Map() });

export function followerCases(histories: Histories, cast: Cast, pairs: readonly Pair[], graceMs: number): FollowerCase[] {
  const master = histories.accounts.get(cast.master.account)?.trades ?? [];
  return cast.followers.map((follower) => followerCase(follower, histories, master, pairs, graceMs));
}

function followerCase({ broker, link }: Follower, histories: Histories, master: readonly Trade[], pairs: readonly Pair[], graceMs: number): FollowerCase {
  const history = histories.accounts.get(broker.account) ?? emptyHistory(broker.account, broker.platform);
  const copies = new Map<Ticket, GrowingCopy>();
  const rows = pairs.filter(({ follower }) => follower === broker.account);
  const follower: FollowerCase = { id: broker.account, platform: broker.platform, link, history, quotes: histories.quotes, end: histories.end, graceMs, copies, rows };
  for (const trade of master) {
    const symbol = followerSymbol(trade.symbol, link.settings.symbols, history.symbols);
    copies.set(firstTicketOf(trade), { follower, master: trade, symbol, lives: [], requests: [], rows: [] });
  }
  for (const trade of history.trades) tagged(copies, link, trade)?.lives.push(trade);
  for (const request of history.requests.values()) {
    if (request.by.kind === "connection") copyOfRequest(copies, link, request)?.requests.push(request);
  }
  for (const row of rows) copies.get(row.masterTicket)?.rows.push(row);
  return follower;
}

/** The copy whose tag this is (1). */
function tagged<C extends Copy>(copies: ReadonlyMap<Ticket, C>, link: Link, { magic, comment }: Pick<Trade, "magic" | "comment">): C | null {
  const ticket = taggedTicket(comment);
  return magic === link.magic && ticket !== null ? (copies.get(ticket as Ticket) ?? null) : null;
}

/** The copy that a request is about, by the tag it carries or the trade whose ticket it names; null where it is about none. */
export function copyOfRequest<C extends Copy>(copies: ReadonlyMap<Ticket, C>, link: Link, { order, target }: Request): C | null {
  if ("comment" in order) return tagged(copies, link, order);
  return target === null ? null : tagged(copies, link, target);
}

/** The volumes the master's trade had until entry `n`, the initial one first: an opening may answer to any of them. */
export function masterVolumesBefore({ master }: Copy, n: number): VolumeUnits[] {
  return [initialVolumeOf(master), ...(master.position?.volumes ?? []).filter((step) => step.n < n).map(({ value }) => value)];
}
