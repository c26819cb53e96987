// Owns the folding of one account's entries into its trades and requests.
//
// 1. A ticket names one trade for ever: it is never given twice.
// 2. Only a trade that stands can close, change, or be filled, and a close closes what is there.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountId, Magic, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { ClosedPosition, PendingKind, PendingOrder, Platform, Position, Side } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { BrokerLogEntry, RequestSource } from "../../broker/log.ts";
import type { AccountHistory, Caused, Close, Levels, PendingLife, PendingTerms, PositionLife, Request, Trade } from "./history.ts";
import type { Step } from "./timeline.ts";

export type TradeEntry = Extract<BrokerLogEntry, { kind: "deal" | "modified" | "pending" }>;
type EntryOf<K extends BrokerLogEntry["kind"]> = Extract<BrokerLogEntry, { kind: K }>;

const levelsOf = ({ stopLoss, takeProfit }: Levels): Levels => ({ stopLoss, takeProfit });
const termsOf = ({ price, stopLoss, takeProfit }: PendingTerms): PendingTerms => ({ price, stopLoss, takeProfit });

class FoldedPending implements PendingLife {
  readonly placed: Caused;
  readonly kind: PendingKind;
  readonly volume: VolumeUnits;
  readonly terms: Step<PendingTerms>[];
  end: PendingLife["end"] = null;

  constructor(at: Caused, pending: PendingOrder) {
    this.placed = at;
    this.kind = pending.kind;
    this.volume = pending.volume;
    this.terms = [{ ...at, value: termsOf(pending) }];
  }
}

class FoldedPosition implements PositionLife {
  readonly opened: Caused;
  readonly side: Side;
  readonly volume: VolumeUnits;
  readonly openPrice: Points;
  readonly volumes: Step<VolumeUnits>[];
  readonly levels: Step<Levels>[];
  readonly closes: Close[] = [];
  end: Close | null = null;

  constructor(at: Caused, position: Position) {
    this.opened = at;
    this.side = position.side;
    this.volume = position.volume;
    this.openPrice = position.openPrice;
    this.volumes = [{ ...at, value: position.volume }];
    this.levels = [{ ...at, value: levelsOf(position) }];
  }

  get remaining(): VolumeUnits {
    return this.volumes.at(-1)?.value ?? this.volume;
  }

  close(at: Caused, { position, closePrice, reason }: ClosedPosition): Close {
    const close = { ...at, volume: position.volume, price: closePrice, reason, levels: levelsOf(position) };
    this.closes.push(close);
    return close;
  }
}

class FoldedTrade implements Trade {
  readonly tickets: Ticket[];
  readonly symbol: SymbolName;
  readonly digits: number;
  readonly magic: Magic;
  readonly comment: string;
  pending: FoldedPending | null = null;
  position: FoldedPosition | null = null;

  constructor({ ticket, symbol, digits, magic, comment }: Position | PendingOrder) {
    this.tickets = [ticket];
    this.symbol = symbol;
    this.digits = digits;
    this.magic = magic;
    this.comment = comment;
  }

  /** The position or pending that stands under this ticket now. */
  stands(ticket: Ticket): boolean {
    return this.tickets.at(-1) === ticket && (this.position ?? this.pending)?.end === null;
  }
}

class FoldedRequest implements Request {
  readonly n: number;
  readonly atMs: number;
  readonly by: RequestSource;
  readonly order: Order;
  readonly target: Trade | null;
  answer: Request["answer"] = null;

  constructor({ n, atMs, by, order }: EntryOf<"request">, target: Trade | null) {
    this.n = n;
    this.atMs = atMs;
    this.by = by;
    this.order = order;
    this.target = target;
  }
}

export class FoldedAccount implements AccountHistory {
  readonly account: AccountId;
  readonly platform: Platform;
  readonly symbols: ReadonlyMap<SymbolName, BrokerSymbol>;
  readonly trades: FoldedTrade[] = [];
  readonly requests = new Map<number, FoldedRequest>();
  readonly #byTicket = new Map<Ticket, FoldedTrade>();

  constructor(account: AccountId, platform: Platform, symbols: readonly BrokerSymbol[]) {
    this.account = account;
    this.platform = platform;
    this.symbols = new Map(symbols.map((symbol) => [symbol.symbol, symbol]));
  }

  asked(entry: EntryOf<"request">): void {
    const ticket = "ticket" in entry.order ? entry.order.ticket : null;
    this.requests.set(entry.n, new FoldedRequest(entry, ticket === null ? null : (this.#byTicket.get(ticket) ?? null)));
  }

  /** Each of the functions below returns why the entry is impossible, or null. */
  answered(requestN: number, { code, text }: EntryOf<"answer">): string | null {
    const request = this.requests.get(requestN);
    if (request === undefined || request.answer !== null) return `a second answer to entry ${requestN}`;
    request.answer = { code, text };
    return null;
  }

  happened(entry: TradeEntry): string | null {
    const at = { n: entry.n, atMs: entry.atMs, causeN: entry.causeN };
    switch (entry.kind) {
      case "deal":
        if (entry.deal === "opened") return this.#begins(entry.position, (trade) => void (trade.position = new FoldedPosition(at, entry.position)));
        return this.#closes(at, entry.closed, entry.deal === "part_closed" ? entry.rest : null);
      case "modified":
        return this.#position(entry.position.ticket, (position) => {
          position.levels.push({ ...at, value: levelsOf(entry.position) });
          return null;
        });
      case "pending":
        return this.#pending(at, entry);
      default:
        return unreachable(entry);
    }
  }

  #begins(what: Position | PendingOrder, begin: (trade: FoldedTrade) => void): string | null {
    if (this.#byTicket.has(what.ticket)) return `ticket ${what.ticket} of ${this.account} is given twice`; // 1
    const trade = new FoldedTrade(what);
    begin(trade);
    this.trades.push(trade);
    this.#byTicket.set(what.ticket, trade);
    return null;
  }

  #closes(at: Caused, closed: ClosedPosition, rest: Position | null): string | null {
    const { ticket, volume } = closed.position;
    return this.#position(ticket, (position, trade) => {
      if (volume <= 0 || position.remaining !== volume + (rest?.volume ?? 0)) return `ticket ${ticket}: ${position.remaining} units are not ${volume} closed and ${rest?.volume ?? 0} left`;
      const close = position.close(at, closed);
      if (rest === null) {
        position.end = close;
        return null;
      }
      position.volumes.push({ ...at, value: rest.volume });
      if (rest.ticket === ticket) return null;
      if (this.#byTicket.has(rest.ticket)) return `ticket ${rest.ticket} of ${this.account} is given twice`; // 1
      trade.tickets.push(rest.ticket);
      this.#byTicket.set(rest.ticket, trade);
      return null;
    });
  }

  #pending(at: Caused, entry: EntryOf<"pending">): string | null {
    switch (entry.step) {
      case "placed":
        return this.#begins(entry.pending, (trade) => void (trade.pending = new FoldedPending(at, entry.pending)));
      case "changed":
        return this.#standingPending(entry.pending.ticket, ({ pending }) => void pending.terms.push({ ...at, value: termsOf(entry.pending) }));
      case "removed":
        return this.#standingPending(entry.removed.pending.ticket, ({ pending }) => void (pending.end = { ...at, how: "removed" }));
      case "filled":
        return this.#standingPending(entry.pending.ticket, ({ pending, trade }) => {
          pending.end = { ...at, how: "filled" };
          trade.position = new FoldedPosition(at, entry.position);
        });
      default:
        return unreachable(entry);
    }
  }

  #position(ticket: Ticket, change: (position: FoldedPosition, trade: FoldedTrade) => string | null): string | null {
    const trade = this.#byTicket.get(ticket);
    if (trade === undefined || trade.position === null || !trade.stands(ticket)) return `no position ${ticket} of ${this.account} stands`; // 2
    return change(trade.position, trade);
  }

  #standingPending(ticket: Ticket, change: (found: { readonly pending: FoldedPending; readonly trade: FoldedTrade }) => void): string | null {
    const trade = this.#byTicket.get(ticket);
    if (trade === undefined || trade.pending === null || trade.position !== null || !trade.stands(ticket)) return `no pending ${ticket} of ${this.account} stands`; // 2
    change({ pending: trade.pending, trade });
    return null;
  }
}
