// Owns the folding of one account's entries into its trades and requests.
//
// 1. A ticket names one trade for ever: it is never given twice.
// 2. Only a trade that stands can close, change, or be filled, and a close closes what is there.
// 3. An MT5 position is known by its identifier: whatever its ticket, that one stays.
// 4. A position that was closed while its order still filled stands again, as the same trade.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountId, Magic, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { ClosedPosition, PendingKind, PendingOrder, Platform, Position, Side } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";
import type { Fault } from "../../broker/faults.ts";
import type { BrokerLogEntry, RequestSource } from "../../broker/log.ts";
import { Ears } from "./ears.ts";
import type { AccountHistory, Caused, Close, Levels, PendingLife, PendingTerms, PositionLife, Request, Trade } from "./history.ts";
import type { Moment, Span, Step } from "./periods.ts";

export type TradeEntry = Extract<BrokerLogEntry, { kind: "deal" | "modified" | "grown" | "reticketed" | "pending" }>;
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
  readonly identifier: Ticket;
  readonly side: Side;
  volume: VolumeUnits;
  readonly openPrice: Points;
  readonly volumes: Step<VolumeUnits>[];
  readonly levels: Step<Levels>[];
  readonly closes: Close[] = [];
  end: Close | null = null;

  constructor(at: Caused, position: Position) {
    this.opened = at;
    this.identifier = position.identifier;
    this.side = position.side;
    this.volume = position.volume;
    this.openPrice = position.openPrice;
    this.volumes = [{ ...at, value: position.volume }];
    this.levels = [{ ...at, value: levelsOf(position) }];
  }

  get remaining(): VolumeUnits {
    return this.end === null ? (this.volumes.at(-1)?.value ?? this.volume) : (0 as VolumeUnits);
  }

  /** More of its order was filled (4). */
  grow(at: Caused, volume: VolumeUnits, total: VolumeUnits): void {
    this.end = null;
    this.volume = (this.volume + volume) as VolumeUnits;
    this.volumes.push({ ...at, value: total });
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
  readonly faults: Fault[] = [];
  late: Moment | null = null;

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
  readonly ears = new Ears();
  readonly #byTicket = new Map<Ticket, FoldedTrade>();

  constructor(account: AccountId, platform: Platform, symbols: readonly BrokerSymbol[]) {
    this.account = account;
    this.platform = platform;
    this.symbols = new Map(symbols.map((symbol) => [symbol.symbol, symbol]));
  }

  get deaf(): readonly Span[] {
    return this.ears.deaf();
  }

  get cutsMs(): readonly number[] {
    return this.ears.cutsMs;
  }

  get moves(): readonly Span[] {
    return this.ears.moves;
  }

  asked(entry: EntryOf<"request">): void {
    const ticket = "ticket" in entry.order ? entry.order.ticket : null;
    this.requests.set(entry.n, new FoldedRequest(entry, ticket === null ? null : (this.#byTicket.get(ticket) ?? null)));
  }

  /** Each of the functions below returns why the entry is impossible, or null. */
  answered(requestN: number, { atMs, code, text, notSent }: EntryOf<"answer">): string | null {
    const request = this.requests.get(requestN);
    if (request === undefined || request.answer !== null) return `a second answer to entry ${requestN}`;
    request.answer = { atMs, code, text, notSent };
    return null;
  }

  happenedLate(requestN: number, { n, atMs }: EntryOf<"late">): string | null {
    const request = this.requests.get(requestN);
    if (request === undefined || request.late !== null) return `a second late end of entry ${requestN}`;
    request.late = { n, atMs };
    return null;
  }

  befell(requestN: number, fault: Fault): string | null {
    const request = this.requests.get(requestN);
    request?.faults.push(fault);
    return request === undefined ? `a fault of entry ${requestN}, which is no request of ${this.account}` : null;
  }

  happened(entry: TradeEntry): string | null {
    const at = { n: entry.n, atMs: entry.atMs, causeN: entry.causeN };
    switch (entry.kind) {
      case "deal":
        if (entry.deal === "opened") return this.#begins(entry.position, (trade) => void (trade.position = new FoldedPosition(at, entry.position)));
        return this.#closes(at, entry.closed, entry.deal === "part_closed" ? entry.rest : null);
      case "modified":
        return this.#position(entry.position, (position) => {
          position.levels.push({ ...at, value: levelsOf(entry.position) });
          return null;
        });
      case "grown":
        return this.#grows(at, entry);
      case "reticketed":
        return this.#position(entry.before, (position, trade) => (entry.position.identifier === position.identifier ? this.#renames(trade, entry.position.ticket) : `ticket ${entry.position.ticket} is no new one of ${entry.before.ticket}`)); // 3
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
    return this.#position(closed.position, (position, trade) => {
      if (volume <= 0 || position.remaining !== volume + (rest?.volume ?? 0)) return `ticket ${ticket}: ${position.remaining} units are not ${volume} closed and ${rest?.volume ?? 0} left`;
      const close = position.close(at, closed);
      if (rest === null) {
        position.end = close;
        return null;
      }
      position.volumes.push({ ...at, value: rest.volume });
      return rest.ticket === ticket ? null : this.#renames(trade, rest.ticket);
    });
  }

  #renames(trade: FoldedTrade, ticket: Ticket): string | null {
    if (this.#byTicket.has(ticket)) return `ticket ${ticket} of ${this.account} is given twice`; // 1
    trade.tickets.push(ticket);
    this.#byTicket.set(ticket, trade);
    return null;
  }

  #grows(at: Caused, { position: { ticket, identifier, volume: total }, volume }: EntryOf<"grown">): string | null {
    const trade = this.#byTicket.get(ticket);
    const position = trade?.position ?? null;
    if (trade === undefined || position === null || position.identifier !== identifier) return `no position ${ticket} of ${this.account} was filled in part`;
    if (volume <= 0 || position.remaining + volume !== total) return `ticket ${ticket}: ${position.remaining} units and ${volume} more are not ${total}`; // 4
    position.grow(at, volume, total);
    if (trade.tickets.at(-1) !== ticket) trade.tickets.push(ticket);
    return null;
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

  #position({ ticket, identifier }: Position, change: (position: FoldedPosition, trade: FoldedTrade) => string | null): string | null {
    const trade = this.#byTicket.get(ticket);
    if (trade === undefined || trade.position === null || !trade.stands(ticket)) return `no position ${ticket} of ${this.account} stands`; // 2
    if (this.platform === "mt5" && trade.position.identifier !== identifier) return `position ${ticket} of ${this.account} is ${trade.position.identifier}, not ${identifier}`; // 3
    return change(trade.position, trade);
  }

  #standingPending(ticket: Ticket, change: (found: { readonly pending: FoldedPending; readonly trade: FoldedTrade }) => void): string | null {
    const trade = this.#byTicket.get(ticket);
    if (trade === undefined || trade.pending === null || trade.position !== null || !trade.stands(ticket)) return `no pending ${ticket} of ${this.account} stands`; // 2
    change({ pending: trade.pending, trade });
    return null;
  }
}
