// Owns the stage of the checker's tests: the real broker with its log, without sockets; the player's
// hand on the master; time that passes only when told.

import { symbolName, type AccountId, type SymbolName, type Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { AccountChange, Side } from "../../../../protocol/trades.ts";
import { volumeFromLots, type BrokerMs, type Points, type VolumeUnits } from "../../../../protocol/units.ts";
import { Broker } from "../../../../ops/broker/broker.ts";
import { refusedOutcome, type Outcome } from "../../../../ops/broker/engine/orders.ts";
import { resultCode, type Refusal, type ResultCode } from "../../../../ops/broker/engine/refusals.ts";
import type { Fault } from "../../../../ops/broker/faults.ts";
import { BrokerLog, type BrokerLogFact } from "../../../../ops/broker/log.ts";
import { MemoryLogSink } from "../../../../ops/broker/logSinks.ts";
import { Trader } from "../../../../ops/broker/trader.ts";
import { RESYNC_MS } from "../../../../ops/demo/check/ears.ts";
import { checkDemo, type CheckInput, type CheckReport } from "../../../../ops/demo/check/checkDemo.ts";
import type { Cast } from "../../../../ops/demo/cast.ts";
import type { Statement } from "../../../../ops/statement/model.ts";

export const EUR = symbolName("eurusd.");
export const GBP = symbolName("gbpusd.");
export const GOLD = symbolName("xauusd.");
export const lots = (text: string): VolumeUnits => volumeFromLots(text);
export const points = (value: number): Points => value as Points;

export const GRACE_MS = 500;
/** Of the copier, after an order of unknown outcome. */
export const SETTLE_MS = 3_000;
/** Shorter than the copier's own, as the settle time is: what is too old comes to be so in ten seconds. */
const LATE_OPEN_MS = 10_000;
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
  #connections = 0;
  readonly #late: { readonly atMs: number; readonly happen: () => void }[] = [];
  readonly #connectionOf = new Map<AccountId, number>();

  constructor(statement: Statement, cast: Cast) {
    this.statement = statement;
    this.cast = { ...cast, followers: cast.followers.map((follower) => ({ ...follower, link: { ...follower.link, settings: { ...follower.link.settings, lateOpenMs: LATE_OPEN_MS } } })) };
    const nowMs = (): BrokerMs => this.nowMs as BrokerMs;
    this.#log = new BrokerLog([this.sink], nowMs);
    const accounts = [cast.master, ...cast.followers.map(({ broker }) => broker)];
    this.broker = new Broker({ instruments: cast.instruments, accounts, log: this.#log, nowMs, maxOpen: 100, maxHistory: 1000 });
    this.broker.listen({ changed: (account, changes) => this.#copier?.heard(account, changes), quoted() {} });
    this.#trader = this.hand(cast.master.account);
    for (const { account } of accounts) this.connect(account);
    this.nowMs += RESYNC_MS;
  }

  /** Of the person at an account's terminal. */
  hand(account: AccountId): Trader {
    return new Trader(this.broker, this.#log, account);
  }

  append(fact: BrokerLogFact): void {
    this.#log.append(fact);
  }

  /** A session logs in; `client`: how it names itself. */
  connect(account: AccountId, client: string | null = null): void {
    this.#connections += 1;
    this.#connectionOf.set(account, this.#connections);
    const { login } = this.broker.account(account);
    this.#log.append({ kind: "login", account, connection: this.#connections, login, channel: "session", client, refused: null });
  }

  disconnect(account: AccountId): void {
    this.#log.append({ kind: "disconnect", account, connection: this.#connectionOf.get(account) ?? 0, cause: "closed by the client" });
  }

  engage(copier: Copier): void {
    this.#copier = copier;
  }

  /** Time passes; the copier works after its latency, and again at the end. */
  pass(ms: number): void {
    this.#comesTo(this.nowMs + Math.min(ms, LATENCY_MS));
    if (ms < LATENCY_MS) return;
    this.#copier?.work();
    this.#comesTo(this.nowMs + ms - LATENCY_MS);
    this.#copier?.work();
  }

  /** What was to happen later does so at its time. */
  #comesTo(atMs: number): void {
    for (const late of this.#late.splice(0)) {
      if (late.atMs > atMs) this.#late.push(late);
      else {
        this.nowMs = late.atMs;
        late.happen();
      }
    }
    this.nowMs = atMs;
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

  /** What a connection asked to close: the broker's history does not tell. */
  readonly closedByRequest = new Set<Ticket>();
  /** An order of unknown outcome: what takes hold of the account's next one. */
  readonly hides = new Map<AccountId, Extract<Fault, { kind: "lose_answer" | "execute_late" }>>();

  /** A follower's order as its connection sends it. */
  ask(account: AccountId, order: Order): Outcome | "unknown" {
    const fault = this.hides.get(account);
    if (fault === undefined) return this.askPlainly(account, order);
    this.hides.delete(account);
    const requestN = this.#receive(account, order);
    this.#log.append({ kind: "fault", account, fault, requestN });
    const { platform } = this.broker.account(account);
    const execute = (): Outcome => this.broker.execute(account, order, requestN);
    if (fault.kind === "lose_answer") {
      const outcome = execute();
      this.#answer(account, requestN, outcome, resultCode(platform, outcome.refusal), "fault: answer lost");
      return "unknown";
    }
    const happen = (): void => {
      const { refusal, ticket, volume, price } = execute();
      this.#log.append({ kind: "late", account, requestN, ...resultCode(platform, refusal), ticket, volume, price });
    };
    this.#late.push({ atMs: this.nowMs + fault.afterMs, happen });
    this.#answer(account, requestN, refusedOutcome("timed_out"), resultCode(platform, "timed_out"), null);
    return "unknown";
  }

  #receive(account: AccountId, order: Order): number {
    this.#asked += 1;
    if (order.kind === "close") this.closedByRequest.add(order.ticket);
    return this.broker.receive(account, order, { kind: "connection", connection: 1, id: this.#asked }, null);
  }

  #answer(account: AccountId, requestN: number, { ticket, volume, price }: Outcome, code: ResultCode, notSent: string | null): void {
    this.#log.append({ kind: "answer", account, requestN, ...code, ticket, volume, price, notSent });
  }

  askPlainly(account: AccountId, order: Order, refusal: Refusal | null = null): Outcome {
    const requestN = this.#receive(account, order);
    const outcome = refusal === null ? this.broker.execute(account, order, requestN) : refusedOutcome(refusal);
    this.#answer(account, requestN, outcome, resultCode(this.broker.account(account).platform, outcome.refusal), null);
    return outcome;
  }

  rows(): CheckInput["rows"] {
    return this.#copier?.rows() ?? [];
  }

  report(more: Partial<CheckInput> = {}): CheckReport {
    const { statement, cast } = this;
    return checkDemo({ statement, cast, log: this.sink.entries, rows: this.rows(), rejected: 0, graceMs: GRACE_MS, settleMs: SETTLE_MS, ...more });
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
