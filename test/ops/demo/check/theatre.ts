// Owns the stage of the checker's tests: the real broker with its log, without sockets; the player's
// hand on the master; time that passes only when told.

import { symbolName, type AccountId, type SymbolName, type Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { AccountChange, Side } from "../../../../protocol/trades.ts";
import { volumeFromLots, type BrokerMs, type Points, type VolumeUnits } from "../../../../protocol/units.ts";
import { Broker } from "../../../../ops/broker/broker.ts";
import { refusedOutcome, type Outcome } from "../../../../ops/broker/engine/orders.ts";
import { resultCode, type Refusal } from "../../../../ops/broker/engine/refusals.ts";
import { BrokerLog } from "../../../../ops/broker/log.ts";
import { MemoryLogSink } from "../../../../ops/broker/logSinks.ts";
import { Trader } from "../../../../ops/broker/trader.ts";
import { checkDemo, type CheckInput, type CheckReport } from "../../../../ops/demo/check/checkDemo.ts";
import type { Cast } from "../../../../ops/demo/cast.ts";
import type { Statement } from "../../../../ops/statement/model.ts";

export const EUR = symbolName("eurusd.");
export const GBP = symbolName("gbpusd.");
export const GOLD = symbolName("xauusd.");
export const lots = (text: string): VolumeUnits => volumeFromLots(text);
export const points = (value: number): Points => value as Points;

export const GRACE_MS = 500;
/** How long the network and the copier take. */
const LATENCY_MS = 20;

export interface Copier {
  heard(account: AccountId, changes: readonly AccountChange[]): void;
  /** Does what is due. Called again and again as time passes. */
  work(): void;
  rows(): CheckInput["rows"];
}

export class Theatre {
  readonly statement: Statement;
  readonly cast: Cast;
  readonly broker: Broker;
  readonly sink = new MemoryLogSink(200_000);
  nowMs = 1_700_000_000_000;
  readonly #log: BrokerLog;
  readonly #trader: Trader;
  #copier: Copier | null = null;
  #asked = 0;

  constructor(statement: Statement, cast: Cast) {
    this.statement = statement;
    this.cast = cast;
    const nowMs = (): BrokerMs => this.nowMs as BrokerMs;
    this.#log = new BrokerLog([this.sink], nowMs);
    const accounts = [cast.master, ...cast.followers.map(({ broker }) => broker)];
    this.broker = new Broker({ instruments: cast.instruments, accounts, log: this.#log, nowMs, maxOpen: 100, maxHistory: 1000 });
    this.broker.listen({ changed: (account, changes) => this.#copier?.heard(account, changes), quoted() {} });
    this.#trader = new Trader(this.broker, this.#log, cast.master.account);
  }

  engage(copier: Copier): void {
    this.#copier = copier;
  }

  /** Time passes; the copier works after its latency, and again at the end. */
  pass(ms: number): void {
    this.nowMs += Math.min(ms, LATENCY_MS);
    if (ms < LATENCY_MS) return;
    this.#copier?.work();
    this.nowMs += ms - LATENCY_MS;
    this.#copier?.work();
  }

  /** Long enough for everything to be judged. */
  rest(): void {
    this.pass(4 * GRACE_MS);
  }

  /** In the master's points; no spread, so that a statement's prices are met exactly. */
  quote(symbol: SymbolName, price: number): void {
    this.broker.setQuotes([{ instrument: symbol, bid: points(price), ask: points(price) }]);
  }

  open(row: number, symbol: SymbolName, side: Side, volume: string, stops: { readonly stopLoss?: Points; readonly takeProfit?: Points } = {}): Ticket {
    return stands(this.#trader.open({ symbol, side, volume: lots(volume), comment: `s${row}`, ...stops }));
  }

  place(row: number, symbol: SymbolName, pending: "buy_limit" | "sell_stop", volume: string, price: number): Ticket {
    return stands(this.#trader.place({ symbol, pending, volume: lots(volume), price: points(price), comment: `s${row}` }));
  }

  change(ticket: Ticket, price: number): void {
    done(this.#trader.change(ticket, points(price), { stopLoss: null, takeProfit: null }));
  }

  modify(ticket: Ticket, stopLoss: number | null, takeProfit: number | null): void {
    done(this.#trader.modify(ticket, { stopLoss: stopLoss as Points | null, takeProfit: takeProfit as Points | null }));
  }

  /** Returns the ticket of the rest. */
  partClose(ticket: Ticket, volume: string): Ticket {
    return stands(this.#trader.partClose(ticket, lots(volume)));
  }

  close(ticket: Ticket): void {
    done(this.#trader.close(ticket));
  }

  closeAll(): void {
    for (const { ticket } of this.#trader.positions()) this.close(ticket);
  }

  cancel(ticket: Ticket): void {
    done(this.#trader.cancel(ticket));
  }

  /** A follower's order as its connection sends it. */
  ask(account: AccountId, order: Order, refusal: Refusal | null = null): Outcome & { readonly code: number } {
    this.#asked += 1;
    const requestN = this.broker.receive(account, order, { kind: "connection", connection: 1, id: this.#asked });
    const outcome = refusal === null ? this.broker.execute(account, order, requestN) : refusedOutcome(refusal);
    const result = resultCode(this.broker.account(account).platform, outcome.refusal);
    const { ticket, volume, price } = outcome;
    this.#log.append({ kind: "answer", account, requestN, ...result, ticket, volume, price, notSent: null });
    return { ...outcome, code: result.code };
  }

  rows(): CheckInput["rows"] {
    return this.#copier?.rows() ?? [];
  }

  report(more: Partial<CheckInput> = {}): CheckReport {
    const { statement, cast } = this;
    return checkDemo({ statement, cast, log: this.sink.entries, rows: this.rows(), rejected: 0, graceMs: GRACE_MS, ...more });
  }
}

function done(outcome: Outcome): void {
  if (outcome.refusal !== null) throw new Error(`the player was refused: ${outcome.refusal}`);
}

function stands(outcome: Outcome): Ticket {
  done(outcome);
  if (outcome.left === null) throw new Error("nothing stands");
  return outcome.left;
}

/** `rule follower` of each violation, sorted. */
export const brokenRules = ({ violations }: CheckReport): string[] => violations.map(({ rule, follower }) => `${rule} ${follower ?? "-"}`).sort();
