// Owns what the broker's tests trade on: one instrument, an MT4 and an MT5 account, and the engine
// of one account driven by hand.

import { accountId, symbolName, type Magic, type SymbolName, type Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { Platform, Quote } from "../../../protocol/trades.ts";
import { volumeFromLots, type BrokerMs, type Points, type VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerAccount, BrokerSymbol } from "../../../ops/broker/accounts.ts";
import { decideAct, type BrokerAct } from "../../../ops/broker/engine/acts.ts";
import { decideOrder, type Decision, type OrderMoment } from "../../../ops/broker/engine/orders.ts";
import { decideQuote } from "../../../ops/broker/engine/quotes.ts";
import { applyComments, applyEvent, applyQuote, newAccountState, type AccountState } from "../../../ops/broker/engine/state.ts";
import type { TradeEvent } from "../../../ops/broker/log.ts";
import { ORDINARY, type Quirks } from "../../../ops/broker/quirks.ts";

export const EURUSD = symbolName("EURUSD");
export const SUFFIXED = symbolName("EURUSD.m");
export const lots = (text: string): VolumeUnits => volumeFromLots(text);
export const points = (value: number): Points => value as Points;

/** The market that tests begin with. */
export const BID = points(108_500);
export const ASK = points(108_510);

export const MT4_ACCOUNT = accountId("mt4-1");
export const MT5_ACCOUNT = accountId("mt5-1");

export function symbolAs(symbol: SymbolName, digits: number, more: Partial<BrokerSymbol> = {}): BrokerSymbol {
  return { symbol, instrument: "eurusd", digits, volumeMin: lots("0.01"), volumeStep: lots("0.01"), volumeMax: lots("10"), stopLevelPoints: 10, ...more };
}

export const mt4Account: BrokerAccount = {
  account: MT4_ACCOUNT,
  login: 1,
  password: "one",
  platform: "mt4",
  company: "Tests",
  firstTicket: 1000,
  symbols: [symbolAs(EURUSD, 5)],
};

export const mt5Account: BrokerAccount = {
  account: MT5_ACCOUNT,
  login: 2,
  password: "two",
  platform: "mt5",
  company: "Tests",
  firstTicket: 9_000_000_000,
  symbols: [symbolAs(SUFFIXED, 4)],
};

type OrderOf<K extends Order["kind"]> = Extract<Order, { kind: K }>;

export function openOrder(more: Partial<OrderOf<"open">> = {}): OrderOf<"open"> {
  return { kind: "open", symbol: EURUSD, side: "buy", volume: lots("0.10"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7 as Magic, comment: "mc42", ...more };
}

export function placeOrder(more: Partial<OrderOf<"place">> = {}): OrderOf<"place"> {
  const trade = { symbol: EURUSD, volume: lots("0.10"), stopLoss: null, takeProfit: null, magic: 7 as Magic, comment: "mc42" };
  return { kind: "place", pending: "buy_limit", price: points(107_000), ...trade, ...more };
}

export function closeOrder(ticket: Ticket, volume: VolumeUnits, symbol: SymbolName = EURUSD): OrderOf<"close"> {
  return { kind: "close", ticket, symbol, volume, part: true };
}

/** The engine of one account: its own clock and tickets, everything that happened in `events`. */
export class Engine {
  readonly state: AccountState;
  readonly events: TradeEvent[] = [];
  nowMs = 1_000_000;
  lastTicket = 99;

  readonly #platform: Platform;

  constructor(platform: Platform, more: Partial<BrokerSymbol> = {}, limits = { maxOpen: 100, maxHistory: 1000 }) {
    this.#platform = platform;
    this.state = newAccountState(platform, [symbolAs(EURUSD, 5, more)], limits);
  }

  ask(order: Order): Decision {
    return this.#decide((at) => decideOrder(this.state, order, at));
  }

  act(act: BrokerAct): Decision {
    return this.#decide((at) => decideAct(this.state, act, at));
  }

  setQuirk(quirk: Partial<Quirks>): void {
    applyComments(this.state, this.#platform, { ...ORDINARY, ...quirk });
  }

  /** A quote of EURUSD, in points of 5 digits. */
  quote(bid: number, ask: number): TradeEvent[] {
    this.nowMs += 1000;
    const quote: Quote = { symbol: EURUSD, bid: points(bid), ask: points(ask), atMs: this.nowMs as BrokerMs };
    applyQuote(this.state, quote);
    const events = decideQuote(this.state, quote, this.nowMs as BrokerMs);
    this.#apply(events);
    return events;
  }

  /** The ticket of a trade that must have been accepted. */
  standing(order: Order): Ticket {
    const { outcome } = this.ask(order);
    if (outcome.left === null) throw new Error(`nothing stands: ${outcome.refusal ?? "done"}`);
    return outcome.left;
  }

  #decide(decide: (at: OrderMoment) => Decision): Decision {
    this.nowMs += 1000;
    this.lastTicket += 1;
    const decision = decide({ nowMs: this.nowMs as BrokerMs, newTicket: this.lastTicket as Ticket });
    this.#apply(decision.events);
    return decision;
  }

  #apply(events: readonly TradeEvent[]): void {
    for (const event of events) applyEvent(this.state, event);
    this.events.push(...events);
  }
}

/** The engine of one account, with a price. */
export function priced(platform: Platform = "mt4", limits = { maxOpen: 100, maxHistory: 1000 }): Engine {
  const engine = new Engine(platform, {}, limits);
  engine.quote(BID, ASK);
  return engine;
}
