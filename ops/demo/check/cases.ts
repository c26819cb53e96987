// Owns what is judged: each follower, and for each of its master's trades everything the follower
// did about it.
//
// 1. A copy belongs to a master's trade by its tag alone: the link's magic and the comment that
//    names the trade's first ticket. What Lockstep says of it is never used to find it.
// 2. Nobody can follow what neither was heard of nor could be answered to: while no copier ran or had the
//    account, while the master's session or the follower's was deaf, while an order of the trade had an unknown outcome.
// 3. An order that was on its way when its connection ended is in no log, and its outcome as unknown: so
//    may be whatever the copier had to do then.
// 4. After an outage, and under a new owner, a trade is opened late only when orders of whoever was before
//    have settled.

import type { Link } from "../../../protocol/accounts.ts";
import type { AccountId, Ticket } from "../../../protocol/ids.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { Platform } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Cast, Follower } from "../cast.ts";
import { RESYNC_MS } from "./ears.ts";
import { beginOf, firstTicketOf, initialVolumeOf, type AccountHistory, type Request, type Trade } from "./history.ts";
import type { Histories } from "./histories.ts";
import { followerSymbol, taggedTicket } from "./names.ts";
import { unsettledSpan } from "./outcomes.ts";
import { joined, Patience, type Absence, type Allowance } from "./patience.ts";
import type { QuoteBook } from "./prices.ts";
import type { Moment, Span } from "./periods.ts";

export interface FollowerCase {
  readonly id: AccountId;
  readonly platform: Platform;
  readonly link: Link;
  readonly history: AccountHistory;
  readonly quotes: QuoteBook;
  /** The last entry of the log. */
  readonly end: Moment;
  /** When nobody heard what the master did, joined. */
  readonly unheard: readonly Span[];
  /** When no copier ran, or nobody acted for it or its master. */
  readonly outages: readonly Span[];
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
  /** For what happens to its copy, and for its opening (2, 3, 4). */
  readonly patience: Patience;
  readonly openingPatience: Patience;
}

interface Draft {
  readonly master: Trade;
  readonly symbol: BrokerSymbol | null;
  readonly lives: Trade[];
  readonly requests: Request[];
  readonly rows: Pair[];
}

export const emptyHistory = (account: AccountId, platform: Platform): AccountHistory => ({ account, platform, symbols: new Map(), trades: [], requests: new Map(), deaf: [], cutsMs: [], moves: [] });

export function followerCases(histories: Histories, cast: Cast, pairs: readonly Pair[], allowance: Allowance): FollowerCase[] {
  const master = histories.accounts.get(cast.master.account) ?? emptyHistory(cast.master.account, cast.master.platform);
  return cast.followers.map((follower) => followerCase(follower, histories, master, pairs, allowance));
}

function followerCase({ broker, link }: Follower, histories: Histories, master: AccountHistory, pairs: readonly Pair[], allowance: Allowance): FollowerCase {
  const history = histories.accounts.get(broker.account) ?? emptyHistory(broker.account, broker.platform);
  const drafts = new Map<Ticket, Draft>();
  for (const trade of master.trades) {
    drafts.set(firstTicketOf(trade), { master: trade, symbol: followerSymbol(trade.symbol, link.settings.symbols, history.symbols), lives: [], requests: [], rows: [] });
  }
  const rows = pairs.filter(({ follower }) => follower === broker.account);
  for (const trade of history.trades) tagged(drafts, link, trade)?.lives.push(trade);
  for (const request of history.requests.values()) {
    if (request.by.kind === "connection") copyOfRequest(drafts, link, request)?.requests.push(request);
  }
  for (const row of rows) drafts.get(row.masterTicket)?.rows.push(row);

  const copies = new Map<Ticket, Copy>();
  const moves = movesOf(history, allowance);
  const absences = [master, history].flatMap(({ account }) => allowance.absences.get(account) ?? []);
  const outages = [...allowance.outages, ...absences];
  const unheard = joined([...outages, ...master.deaf, ...moves]);
  const follower: FollowerCase = { id: broker.account, platform: broker.platform, link, history, quotes: histories.quotes, end: histories.end, unheard, outages, copies, rows };
  const deaf = [...outages, ...master.deaf, ...history.deaf];
  for (const [ticket, draft] of drafts) copies.set(ticket, { follower, ...draft, ...patienceFor(draft, history, deaf, moves, absences, allowance) });
  return follower;
}

/** From when an owner that leaves takes nothing new any more to the login of the next one. */
const movesOf = ({ moves }: AccountHistory, { handoverMs }: Allowance): Span[] => (handoverMs === null ? [] : moves.map(({ fromMs, toMs }) => ({ fromMs: fromMs - handoverMs, toMs })));

function patienceFor({ master, requests }: Draft, { platform, cutsMs }: AccountHistory, deaf: readonly Span[], moves: readonly Span[], absences: readonly Absence[], allowance: Allowance): Pick<Copy, "patience" | "openingPatience"> {
  const { graceMs, settleMs, outages } = allowance;
  const known = [...deaf, ...requests.flatMap((request) => unsettledSpan(request, platform, allowance) ?? [])]; // 2
  const always = [...known, ...lostOnTheWay(momentsOf(master), cutsMs, known, allowance)]; // 3
  // What a new owner finds it opens late; what it hears of when it has taken everything in is new to it.
  const found = moves.filter(({ toMs }) => beginOf(master).atMs <= toMs + RESYNC_MS);
  const settling = [...[...outages, ...found].map(({ fromMs, toMs }) => ({ fromMs, toMs: toMs + settleMs })), ...absences.map(({ fromMs, opensFromMs }) => ({ fromMs, toMs: opensFromMs }))]; // 4
  return { patience: new Patience(graceMs, always), openingPatience: new Patience(graceMs, [...always, ...settling]) };
}

/** When something happened that the copier had to answer to. */
function momentsOf({ pending, position }: Trade): number[] {
  const steps = [...(pending?.terms ?? []), ...(position?.volumes ?? []), ...(position?.levels ?? []), pending?.end ?? null, position?.end ?? null];
  return [...new Set(steps.flatMap((step) => step?.atMs ?? []))];
}

/** The times after those cuts that came before the copier had done what it had to. */
function lostOnTheWay(moments: readonly number[], cutsMs: readonly number[], deaf: readonly Span[], { graceMs, settleMs }: Allowance): Span[] {
  const spans: Span[] = [];
  let patience = new Patience(graceMs, deaf);
  for (const atMs of moments) {
    for (const cutMs of cutsMs) {
      if (cutMs < atMs || cutMs > patience.dueMs(atMs)) continue;
      spans.push({ fromMs: cutMs, toMs: cutMs + settleMs });
      patience = new Patience(graceMs, [...deaf, ...spans]);
    }
  }
  return spans;
}

/** The copy whose tag this is (1). */
function tagged<C>(copies: ReadonlyMap<Ticket, C>, link: Link, { magic, comment }: Pick<Trade, "magic" | "comment">): C | null {
  const ticket = taggedTicket(comment);
  return magic === link.magic && ticket !== null ? (copies.get(ticket as Ticket) ?? null) : null;
}

/** The copy that a request is about, by the tag it carries or the trade whose ticket it names; null where it is about none. */
export function copyOfRequest<C>(copies: ReadonlyMap<Ticket, C>, link: Link, { order, target }: Request): C | null {
  if ("comment" in order) return tagged(copies, link, order);
  return target === null ? null : tagged(copies, link, target);
}

/** The volumes the master's trade had until entry `n`, the initial one first: an opening may answer to any of them. */
export function masterVolumesBefore({ master }: Copy, n: number): VolumeUnits[] {
  return [initialVolumeOf(master), ...(master.position?.volumes ?? []).filter((step) => step.n < n).map(({ value }) => value)];
}
