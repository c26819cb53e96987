// Owns the broker without its sockets: the market, every account's state, the order in which
// things happen, and their place in the log. All of it in the turn of the call.
//
// 1. Log first, then state, then whoever listens: nobody hears of what is not recorded.
// 2. A quote is told before the changes it causes.
// 3. A quote reaches accounts in the order they were given; each in its own symbol and digits.

import { LockstepError } from "../../protocol/errors.ts";
import type { AccountId, Epoch, Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { AccountChange, AccountSnapshot, PendingOrder, Position, Quote, SymbolSpec } from "../../protocol/trades.ts";
import { rescalePoints, type BrokerMs, type VolumeUnits } from "../../protocol/units.ts";
import { checkMarket, lastTicket, type BrokerAccount, type BrokerSymbol, type Instrument, type InstrumentQuote } from "./accounts.ts";
import { decideAct, type BrokerAct } from "./engine/acts.ts";
import { changesOf } from "./engine/changes.ts";
import { decideOrder, refusedOutcome, removal, type Decision, type OrderMoment, type Outcome } from "./engine/orders.ts";
import { decideQuote } from "./engine/quotes.ts";
import { applyComments, applyEvent, applyQuote, newAccountState, snapshotOf, type AccountState, type EngineLimits } from "./engine/state.ts";
import type { BrokerLog, RequestSource, TradeEvent } from "./log.ts";
import { checkQuirks, ORDINARY, type Quirks } from "./quirks.ts";
import { TicketSeries } from "./tickets.ts";
import { Past, toldSnapshot } from "./toldSnapshot.ts";

export interface BrokerOptions extends EngineLimits {
  readonly instruments: readonly Instrument[];
  readonly accounts: readonly BrokerAccount[];
  readonly log: BrokerLog;
  readonly nowMs: () => BrokerMs;
}

/** Told in the turn in which it happens; must not throw. */
export interface BrokerListener {
  changed(account: AccountId, changes: readonly AccountChange[]): void;
  quoted(account: AccountId, quotes: readonly Quote[]): void;
}

/** One account with all that the broker has of it. */
interface Desk {
  readonly account: BrokerAccount;
  readonly specs: readonly SymbolSpec[];
  readonly state: AccountState;
  readonly tickets: TicketSeries;
  quirks: Quirks;
  /** Only while a quirk tells clients of the past. */
  past: Past | null;
}

const SILENT: BrokerListener = { changed() {}, quoted() {} };

export class Broker {
  readonly #log: BrokerLog;
  readonly #nowMs: () => BrokerMs;
  readonly #instruments: ReadonlyMap<string, Instrument>;
  readonly #desks: ReadonlyMap<AccountId, Desk>;
  #listener = SILENT;

  /** @throws LockstepError `configuration` */
  constructor(options: BrokerOptions) {
    checkMarket(options.instruments, options.accounts);
    this.#log = options.log;
    this.#nowMs = options.nowMs;
    this.#instruments = new Map(options.instruments.map((instrument) => [instrument.name, instrument]));
    const series = new Map<string, TicketSeries>();
    this.#desks = new Map(options.accounts.map((account) => [account.account, newDesk(account, options, series)]));
    for (const { account, login, platform, company, symbols } of options.accounts) {
      this.#log.append({ kind: "account", account, login, platform, company, symbols });
    }
  }

  /** One listener: the server's sockets. */
  listen(listener: BrokerListener): void {
    this.#listener = listener;
  }

  /** @throws LockstepError `invalid_value` for an account this broker does not have */
  account(account: AccountId): BrokerAccount {
    return this.#desk(account).account;
  }

  specs(account: AccountId): readonly SymbolSpec[] {
    return this.#desk(account).specs;
  }

  /** The account's quotes, in its own symbols and digits. */
  quotes(account: AccountId): readonly Quote[] {
    return [...this.#desk(account).state.quotes.values()];
  }

  positions(account: AccountId): ReadonlyMap<Ticket, Position> {
    return this.#desk(account).state.positions;
  }

  pendings(account: AccountId): ReadonlyMap<Ticket, PendingOrder> {
    return this.#desk(account).state.pendings;
  }

  snapshot(account: AccountId, historyFromMs: BrokerMs): AccountSnapshot {
    return snapshotOf(this.#desk(account).state, account, this.#nowMs(), historyFromMs);
  }

  /** What a client is told that is logged in for `sinceLoginMs`: the truth, unless a quirk says otherwise. */
  toldSnapshot(account: AccountId, historyFromMs: BrokerMs, sinceLoginMs: number): AccountSnapshot {
    const { quirks, past } = this.#desk(account);
    return toldSnapshot(this.snapshot(account, historyFromMs), quirks.snapshots, sinceLoginMs, past);
  }

  quirks(account: AccountId): Quirks {
    return this.#desk(account).quirks;
  }

  /**
   * Changes an account's standing quirks from now on; those that are not named stay. `ORDINARY` takes all of them away.
   * @throws LockstepError `invalid_value`
   */
  setQuirk(account: AccountId, quirk: Partial<Quirks>): void {
    const desk = this.#desk(account);
    const quirks = { ...desk.quirks, ...quirk };
    checkQuirks(account, quirks);
    this.#log.append({ kind: "quirks", account, quirks }); // 1
    desk.quirks = quirks;
    applyComments(desk.state, desk.account.platform, quirks);
    if ("snapshots" in quirk) desk.past = quirks.snapshots?.kind === "stale" ? new Past(quirks.snapshots.ageMs, standing(desk, this.#nowMs())) : null;
  }

  /** Records that an order arrived; returns the `n` under which it is known. */
  receive(account: AccountId, order: Order, by: RequestSource, epoch: Epoch | null): number {
    const digits = this.#desk(account).state.specs.get(order.symbol)?.digits ?? null;
    return this.#log.append({ kind: "request", account, by, epoch, order, digits });
  }

  /** Does what a received order asks, or says why not. */
  execute(account: AccountId, order: Order, requestN: number): Outcome {
    return this.#decide(account, requestN, (state, at) => decideOrder(state, order, at));
  }

  /** MT5: `volume` more of the order `requestN` fills. `first`: the position as the part that filled before made it. */
  fillRest(account: AccountId, first: Position, volume: VolumeUnits, requestN: number): Outcome {
    return this.#act(account, { kind: "fill_rest", first, volume }, requestN);
  }

  /** The broker's own act: part of a position is closed without having been asked for. The outcome's `left` is what stands. */
  serverPartClose(account: AccountId, ticket: Ticket, volume: VolumeUnits): Outcome {
    return this.#act(account, { kind: "part_close", ticket, volume }, null);
  }

  /** The broker's own act: a position is closed at the market for want of margin. */
  stopOut(account: AccountId, ticket: Ticket): Outcome {
    return this.#act(account, { kind: "stop_out", ticket }, null);
  }

  /** The broker's own act: a position gets another ticket, which the outcome's `left` names. MT4 refuses. */
  reticket(account: AccountId, ticket: Ticket): Outcome {
    return this.#act(account, { kind: "reticket", ticket }, null);
  }

  /**
   * Sets prices, and does on every account what they bring about. Prices are in points of the instrument's own digits.
   * @throws LockstepError `invalid_value` for an instrument this broker does not have, or a bid above the ask; nothing is set then
   */
  setQuotes(quotes: readonly InstrumentQuote[]): void {
    const priced = quotes.map((quote) => ({ quote, instrument: this.#instrumentOf(quote) }));
    const nowMs = this.#nowMs();
    for (const { quote, instrument } of priced) {
      const causeN = this.#log.append({ kind: "quote", account: null, ...quote, digits: instrument.digits });
      for (const desk of this.#desks.values()) this.#reprice(desk, quote, instrument, causeN, nowMs); // 3
    }
  }

  /** The broker's own act: a pending ends without having been asked for. False when there is no such pending. */
  removePending(account: AccountId, ticket: Ticket, reason: "expired" | "deleted"): boolean {
    const desk = this.#desk(account);
    const pending = desk.state.pendings.get(ticket);
    if (pending === undefined) return false;
    const nowMs = this.#nowMs();
    this.#happen(desk, [removal(pending, reason, nowMs)], null, nowMs);
    return true;
  }

  #act(account: AccountId, act: BrokerAct, causeN: number | null): Outcome {
    return this.#decide(account, causeN, (state, at) => decideAct(state, act, at));
  }

  #decide(account: AccountId, causeN: number | null, decide: (state: AccountState, at: OrderMoment) => Decision): Outcome {
    const desk = this.#desk(account);
    const newTicket = desk.tickets.next(desk.account.firstTicket);
    if (newTicket === null) return refusedOutcome("too_many_positions");
    const nowMs = this.#nowMs();
    const { outcome, events } = decide(desk.state, { nowMs, newTicket });
    this.#happen(desk, events, causeN, nowMs);
    return outcome;
  }

  #reprice(desk: Desk, { bid, ask }: InstrumentQuote, instrument: Instrument, causeN: number, nowMs: BrokerMs): void {
    for (const { symbol, digits, instrument: name } of desk.account.symbols) {
      if (name !== instrument.name) continue;
      const quote: Quote = { symbol, bid: rescalePoints(bid, instrument.digits, digits), ask: rescalePoints(ask, instrument.digits, digits), atMs: nowMs };
      applyQuote(desk.state, quote);
      this.#listener.quoted(desk.account.account, [quote]); // 2
      this.#happen(desk, decideQuote(desk.state, quote, nowMs), causeN, nowMs);
    }
  }

  #happen(desk: Desk, events: readonly TradeEvent[], causeN: number | null, nowMs: BrokerMs): void {
    const { account } = desk.account;
    for (const event of events) {
      this.#log.append({ ...event, account, causeN }); // 1
      applyEvent(desk.state, event);
      desk.past?.keep(standing(desk, nowMs));
      this.#listener.changed(account, changesOf(event, nowMs));
    }
  }

  #desk(account: AccountId): Desk {
    const desk = this.#desks.get(account);
    if (desk === undefined) throw new LockstepError("invalid_value", `this broker has no account ${account}`);
    return desk;
  }

  #instrumentOf({ instrument: name, bid, ask }: InstrumentQuote): Instrument {
    const instrument = this.#instruments.get(name);
    if (instrument === undefined) throw new LockstepError("invalid_value", `this broker has no instrument ${JSON.stringify(name)}`);
    if (!Number.isSafeInteger(bid) || !Number.isSafeInteger(ask) || bid <= 0 || ask < bid) {
      throw new LockstepError("invalid_value", `${name}: expected whole points with 0 < bid <= ask, got bid ${bid}, ask ${ask}`);
    }
    return instrument;
  }
}

function newDesk(account: BrokerAccount, limits: EngineLimits, series: Map<string, TicketSeries>): Desk {
  const key = `${account.platform} ${account.company}`;
  const tickets = series.get(key) ?? new TicketSeries(lastTicket(account.platform));
  series.set(key, tickets);
  const specs = account.symbols.map(specOf);
  return { account, specs, state: newAccountState(account.platform, specs, limits), tickets, quirks: ORDINARY, past: null };
}

const standing = ({ state }: Desk, sinceMs: BrokerMs) => ({ sinceMs, positions: [...state.positions.values()], pendings: [...state.pendings.values()] });

/** What a client is told of a symbol: not what it is priced by. */
function specOf({ symbol, digits, volumeMin, volumeStep, volumeMax, stopLevelPoints }: BrokerSymbol): SymbolSpec {
  return { symbol, digits, volumeMin, volumeStep, volumeMax, stopLevelPoints };
}
