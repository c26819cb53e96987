// Owns a small model of one account at its broker: what stands there, what has ended, and a complete
// log of what was asked of it. It shares no code with what it judges.
//
// 1. It executes at once and says what changed; delays and losses are the session's (modelSession.ts).
// 2. Every position and pending remembers the comment it was born with, through MetaTrader 4's new
//    tickets, which the account itself does not show.

import type { AccountId, Epoch, Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { Answer, Order } from "../../protocol/orders.ts";
import type { AccountChange, AccountSnapshot, ClosedPosition, CloseReason, PendingKind, PendingOrder, Platform, Position, Quote, RemovalReason, RemovedPending, Side, SymbolSpec } from "../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import type { FakeScheduler } from "./scheduler.ts";

export interface ModelBrokerOptions {
  readonly account: AccountId;
  readonly platform: Platform;
  readonly clock: FakeScheduler;
  readonly symbols: readonly SymbolSpec[];
  /** Of the broker's clock from ours. */
  readonly offsetMs: number;
}

/** One order as it reached the broker. */
export interface Asked {
  readonly atMs: number;
  readonly order: Order;
  readonly answer: Answer;
}

export interface NewPosition {
  readonly symbol: SymbolName;
  readonly side: Side;
  readonly volume: VolumeUnits;
  readonly stopLoss?: Points | null;
  readonly takeProfit?: Points | null;
  readonly magic?: Magic;
  readonly comment?: string;
}

export type NewPending = Omit<NewPosition, "side"> & { readonly kind: PendingKind; readonly price: Points };

export class ModelBroker {
  readonly options: ModelBrokerOptions;
  readonly positions = new Map<Ticket, Position>();
  readonly pendings = new Map<Ticket, PendingOrder>();
  readonly closed: ClosedPosition[] = [];
  readonly removed: RemovedPending[] = [];
  readonly quotes = new Map<SymbolName, Quote>();
  /** Everything that was asked for, in order: what checks read. */
  readonly asked: Asked[] = [];
  /** The epoch of every call that was made, in order, also of those that were never carried out. */
  readonly callEpochs: Epoch[] = [];
  /** By current ticket: the comment the trade was opened or placed with. */
  readonly bornAs = new Map<Ticket, string>();
  /** Magic and comment of every trade that was opened or placed while another of the same stood. */
  readonly doubles: string[] = [];
  /** Nobody gets a connection. */
  isDown = false;
  /** Why it refuses logins; null: it does not. */
  refusesLogins: string | null = null;
  /** How often a session tried to log in. */
  logins = 0;
  onChange: (change: AccountChange) => void = () => undefined;
  #lastTicket: number;

  constructor(options: ModelBrokerOptions, firstTicket = 1_000) {
    this.options = options;
    this.#lastTicket = firstTicket;
  }

  nowMs(): BrokerMs {
    return (this.options.clock.wallMs() + this.options.offsetMs) as BrokerMs;
  }

  setQuote(symbol: SymbolName, bid: number, ask = bid): void {
    this.quotes.set(symbol, { symbol, bid: bid as Points, ask: ask as Points, atMs: this.nowMs() });
  }

  snapshot(): AccountSnapshot {
    const { positions, pendings, closed, removed } = this;
    return { account: this.options.account, takenAtMs: this.nowMs(), synced: true, positions: [...positions.values()], pendings: [...pendings.values()], closed: [...closed], removed: [...removed] };
  }

  /** Carries out an order as the platform would. */
  execute(order: Order): Answer {
    const answer = this.#carryOut(order);
    this.asked.push({ atMs: this.options.clock.monotonicMs(), order, answer });
    return answer;
  }

  #carryOut(order: Order): Answer {
    switch (order.kind) {
      case "open": {
        const price = this.#price(order.symbol, order.side);
        if (price === null) return refusal("fresh_price", 136);
        if (order.priceLimit !== null && (order.side === "buy" ? price > order.priceLimit : price < order.priceLimit)) return refusal("fresh_price", 138);
        const { ticket } = this.open(order);
        return this.#done(ticket, order.volume, price);
      }
      case "place":
        return this.#done(this.place({ ...order, kind: order.pending }).ticket, 0, null);
      case "close": {
        const position = this.positions.get(order.ticket);
        if (position === undefined || order.volume > position.volume || order.volume <= 0) return refusal("final", 4108);
        const rest = this.close(order.ticket, "manual", order.volume);
        const ticket = rest === null ? null : this.options.platform === "mt4" ? null : rest.ticket;
        return this.#done(ticket, order.volume, this.#price(order.symbol, position.side));
      }
      case "modify":
        if (!this.positions.has(order.ticket)) return refusal("final", 4108);
        return this.modify(order.ticket, order.stopLoss, order.takeProfit) ? this.#done(order.ticket, 0, null) : refusal("already", 1);
      case "change":
        if (!this.pendings.has(order.ticket)) return refusal("final", 4108);
        return this.change(order.ticket, order.price, order.stopLoss, order.takeProfit) ? this.#done(order.ticket, 0, null) : refusal("already", 1);
      case "cancel":
        if (!this.pendings.has(order.ticket)) return refusal("final", 4108);
        this.remove(order.ticket, "cancelled");
        return this.#done(order.ticket, 0, null);
    }
  }

  // What happens at the broker, by whosever hand.

  open(trade: NewPosition): Position {
    const ticket = this.#nextTicket();
    const { stopLoss = null, takeProfit = null, magic = 0 as Magic, comment = "" } = trade;
    const openPrice = this.#price(trade.symbol, trade.side) ?? (0 as Points);
    const position: Position = { ticket, identifier: ticket, symbol: trade.symbol, digits: this.#digits(trade.symbol), side: trade.side, volume: trade.volume, openPrice, openTimeMs: this.nowMs(), stopLoss, takeProfit, magic, comment };
    this.#born(ticket, magic, comment);
    this.positions.set(ticket, position);
    this.onChange({ kind: "position_opened", brokerMs: this.nowMs(), position });
    return position;
  }

  /** The rest, where only a part is closed. */
  close(ticket: Ticket, reason: CloseReason, volume?: VolumeUnits): Position | null {
    const position = this.#position(ticket);
    const part = volume ?? position.volume;
    const left = (position.volume - part) as VolumeUnits;
    const renamed = left > 0 && this.options.platform === "mt4";
    const current = renamed ? this.#nextTicket() : ticket;
    const rest: Position | null = left === 0 ? null : renamed ? { ...position, ticket: current, identifier: current, volume: left, comment: `from #${ticket}` } : { ...position, volume: left };
    const gone: Position = { ...position, volume: part, comment: renamed && rest !== null ? `to #${rest.ticket}` : position.comment };
    const closed: ClosedPosition = { position: gone, closePrice: this.#price(position.symbol, position.side) ?? (0 as Points), closeTimeMs: this.nowMs(), reason };
    this.closed.push(closed);
    this.positions.delete(ticket);
    if (rest !== null) {
      this.positions.set(rest.ticket, rest);
      this.bornAs.set(rest.ticket, this.bornAs.get(ticket) ?? "");
    }
    if (rest === null || renamed) this.onChange({ kind: "position_closed", brokerMs: this.nowMs(), closed });
    if (rest !== null) this.onChange({ kind: renamed ? "position_opened" : "position_changed", brokerMs: this.nowMs(), position: rest });
    return rest;
  }

  /** False: they are so already. */
  modify(ticket: Ticket, stopLoss: Points | null, takeProfit: Points | null): boolean {
    const before = this.#position(ticket);
    if (before.stopLoss === stopLoss && before.takeProfit === takeProfit) return false;
    const position: Position = { ...before, stopLoss, takeProfit };
    this.positions.set(ticket, position);
    this.onChange({ kind: "position_changed", brokerMs: this.nowMs(), position });
    return true;
  }

  place(trade: NewPending): PendingOrder {
    const ticket = this.#nextTicket();
    const { symbol, kind, volume, price, stopLoss = null, takeProfit = null, magic = 0 as Magic, comment = "" } = trade;
    const pending: PendingOrder = { ticket, symbol, digits: this.#digits(symbol), kind, volume, price, placedTimeMs: this.nowMs(), stopLoss, takeProfit, magic, comment };
    this.#born(ticket, magic, comment);
    this.pendings.set(ticket, pending);
    this.onChange({ kind: "pending_placed", brokerMs: this.nowMs(), pending });
    return pending;
  }

  change(ticket: Ticket, price: Points, stopLoss: Points | null, takeProfit: Points | null): boolean {
    const before = this.#pending(ticket);
    if (before.price === price && before.stopLoss === stopLoss && before.takeProfit === takeProfit) return false;
    const pending: PendingOrder = { ...before, price, stopLoss, takeProfit };
    this.pendings.set(ticket, pending);
    this.onChange({ kind: "pending_changed", brokerMs: this.nowMs(), pending });
    return true;
  }

  remove(ticket: Ticket, reason: RemovalReason): void {
    const removed: RemovedPending = { pending: this.#pending(ticket), removedTimeMs: this.nowMs(), reason };
    this.pendings.delete(ticket);
    this.removed.push(removed);
    this.onChange({ kind: "pending_removed", brokerMs: this.nowMs(), removed });
  }

  /** Under the same ticket, as both platforms do. */
  fill(ticket: Ticket): Position {
    const { kind, price, placedTimeMs: _, ...order } = this.#pending(ticket);
    const position: Position = { ...order, identifier: ticket, side: kind.startsWith("buy") ? "buy" : "sell", openPrice: price, openTimeMs: this.nowMs() };
    this.pendings.delete(ticket);
    this.positions.set(ticket, position);
    this.onChange({ kind: "pending_filled", brokerMs: this.nowMs(), pendingTicket: ticket, position });
    return position;
  }

  /** What stands and was born with this tag. */
  standing(comment: string): readonly (Position | PendingOrder)[] {
    return [...this.positions.values(), ...this.pendings.values()].filter(({ ticket }) => this.bornAs.get(ticket) === comment);
  }

  #born(ticket: Ticket, magic: Magic, comment: string): void {
    if (magic !== 0 && this.standing(comment).some((other) => other.magic === magic)) this.doubles.push(`${magic} ${comment}`);
    this.bornAs.set(ticket, comment);
  }

  #nextTicket(): Ticket {
    return ++this.#lastTicket as Ticket;
  }

  #position(ticket: Ticket): Position {
    const position = this.positions.get(ticket);
    if (position === undefined) throw new Error(`no position ${ticket}`);
    return position;
  }

  #pending(ticket: Ticket): PendingOrder {
    const pending = this.pendings.get(ticket);
    if (pending === undefined) throw new Error(`no pending order ${ticket}`);
    return pending;
  }

  #digits(symbol: SymbolName): number {
    return this.options.symbols.find((spec) => spec.symbol === symbol)?.digits ?? 0;
  }

  #price(symbol: SymbolName, side: Side): Points | null {
    const quote = this.quotes.get(symbol);
    return quote === undefined ? null : side === "buy" ? quote.ask : quote.bid;
  }

  #done(ticket: Ticket | null, volume: number, price: Points | null): Answer {
    return { kind: "done", ticket, volume: volume as VolumeUnits, price, brokerMs: this.nowMs() };
  }
}

const refusal = (refused: Extract<Answer, { kind: "refused" }>["refusal"], code: number): Answer => ({ kind: "refused", refusal: refused, code, text: "by the model broker" });
