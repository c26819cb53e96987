// Owns a broker session to a model broker, on fake time: delays drawn from the seed, and faults by
// script.
//
// 1. What the broker tells (changes, snapshots) arrives in the order in which it happened there; answers
//    to orders come on their own way, before or after it.
// 2. Between the hand-over and the call stands a second gate, as in the real drivers.
// 3. Whatever is cut off settles: an order that was called is unknown, one that was not is dropped.

import { LockstepError } from "../../protocol/errors.ts";
import type { AccountId, SymbolName } from "../../protocol/ids.ts";
import type { Answer, Execution, Order, Permit, RefusalClass } from "../../protocol/orders.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import type { Random } from "../../protocol/ports/clock.ts";
import type { Gate, GateVerdict } from "../../protocol/ports/gate.ts";
import type { AccountSnapshot, Platform, Quote, SymbolSpec } from "../../protocol/trades.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import type { ModelBroker } from "./modelBroker.ts";
import type { FakeScheduler } from "./scheduler.ts";

/** What goes wrong with one order; null goes right. */
export type Fault =
  | { readonly kind: "refuse"; readonly refusal: RefusalClass; readonly code?: number }
  /** No answer comes. The broker carries it out after `executeAfterMs`, or never (null). */
  | { readonly kind: "unknown"; readonly executeAfterMs: number | null }
  | { readonly kind: "not_delivered" }
  | { readonly kind: "drop"; readonly cause: "gate" | "queue_full" };

export interface ModelSessionOptions {
  readonly broker: ModelBroker;
  readonly clock: FakeScheduler;
  readonly random: Random;
  readonly gate: Gate;
  /** A call that gets no answer settles after this. */
  readonly timeoutMs: number;
  readonly reconnectMs: number;
}

/** A hand-over to the session and what the gate said in that very turn. */
export interface Handed {
  readonly order: Order;
  readonly verdict: GateVerdict;
}

interface Call {
  /** Null until the call is made. */
  madeAtMs: number | null;
  settle: (execution: Execution) => void;
}

/** On its way to us. */
interface Message {
  readonly deliver: () => void;
  /** The connection broke before. */
  readonly lost: () => void;
}

export class ModelSession implements BrokerSession {
  readonly account: AccountId;
  readonly platform: Platform;
  waitsForTurn = false;
  readonly handed: Handed[] = [];
  /** Asked once for each order. */
  faultOf: (order: Order) => Fault | null = () => null;
  /** How many snapshots fail or are not synced from now on. */
  failSnapshots = 0;
  unsyncedSnapshots = 0;
  /** When reports come, against answers: `before` always, `after` always, or as it happens. */
  reports: "before" | "after" | "any" = "any";
  /** Reports are lost on the way; snapshots still come. */
  mute = false;
  inFlight = 0;
  maxInFlight = 0;
  readonly #options: ModelSessionOptions;
  readonly #calls = new Set<Call>();
  #channel: Message[] = [];
  #onEvent: ((event: SessionEvent) => void) | null = null;
  #connected = false;
  #closed = false;

  constructor(options: ModelSessionOptions) {
    this.#options = options;
    this.account = options.broker.options.account;
    this.platform = options.broker.options.platform;
  }

  open(onEvent: (event: SessionEvent) => void): void {
    this.#onEvent = onEvent;
    this.#options.broker.onChange = (change) => this.mute || this.#tell(() => this.#onEvent?.({ kind: "changed", change, callbackAtMs: this.#options.clock.wallMs() }));
    this.#connect();
  }

  spec(symbol: SymbolName): SymbolSpec | null {
    return this.#options.broker.options.symbols.find((spec) => spec.symbol === symbol) ?? null;
  }

  symbols(): readonly SymbolSpec[] {
    return this.#options.broker.options.symbols;
  }

  quote(symbol: SymbolName): Quote | null {
    return this.#options.broker.quotes.get(symbol) ?? null;
  }

  brokerNowMs(): BrokerMs | null {
    return this.#onEvent === null ? null : this.#options.broker.nowMs();
  }

  get connected(): boolean {
    return this.#connected;
  }

  snapshot(_historyFromMs: BrokerMs): Promise<AccountSnapshot> {
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new LockstepError("unreachable", "no session"));
      if (!this.#connected) return fail();
      if (this.failSnapshots > 0) {
        this.failSnapshots--;
        return fail();
      }
      this.#options.clock.after(this.#delay(5), () => {
        if (!this.#connected) return fail();
        const taken = this.#synced();
        this.#tell(() => resolve(taken), fail);
      });
    });
  }

  execute(order: Order, permit: Permit): Promise<Execution> {
    const { broker, clock, gate, timeoutMs } = this.#options;
    this.handed.push({ order, verdict: gate.check(permit) });
    return new Promise((resolve) => {
      const call: Call = { madeAtMs: null, settle: () => undefined };
      call.settle = (execution) => {
        if (!this.#calls.delete(call)) return;
        if (call.madeAtMs !== null) this.inFlight--;
        resolve(execution);
      };
      const answer = (value: Answer): void => call.settle({ kind: "answered", answer: value, callMadeAtMs: call.madeAtMs });
      this.#calls.add(call);
      const fault = this.faultOf(order);
      clock.after(this.#delay(1), () => {
        if (!this.#calls.has(call)) return;
        if (!this.#connected) return call.settle({ kind: "dropped", cause: "session_down", detail: "no session" });
        if (fault?.kind === "drop") return call.settle({ kind: "dropped", cause: fault.cause, detail: "by script" });
        const verdict = gate.check(permit); // 2
        if (verdict !== "open") return call.settle({ kind: "dropped", cause: "gate", detail: verdict });
        if (fault?.kind === "not_delivered") return answer({ kind: "not_delivered", detail: "by script" });
        call.madeAtMs = clock.monotonicMs();
        broker.callEpochs.push(permit.epoch);
        this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight);
        if (fault?.kind === "refuse") {
          return void clock.after(this.#delay(20), () => answer({ kind: "refused", refusal: fault.refusal, code: fault.code ?? 0, text: "by script" }));
        }
        if (fault?.kind === "unknown") {
          if (fault.executeAfterMs !== null) clock.after(fault.executeAfterMs, () => broker.execute(order));
          return void clock.after(timeoutMs, () => answer({ kind: "unknown", detail: "no answer in time" }));
        }
        clock.after(this.#delay(15), () => {
          const value = broker.execute(order);
          clock.after(this.reports === "before" ? 40 + this.#delay(10) : this.reports === "after" ? 0 : this.#delay(20), () => answer(value));
        });
      });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cut("closed");
  }

  /** The connection breaks; it comes back by itself. */
  disconnect(): void {
    if (!this.#connected) return;
    this.#cut("cut by script");
    this.#onEvent?.({ kind: "disconnected", detail: "cut by script" });
    this.#options.clock.after(this.#options.reconnectMs, () => this.#connect());
  }

  #connect(): void {
    this.#options.clock.after(this.#delay(10), () => {
      if (this.#closed || this.#connected) return;
      const { broker, clock, reconnectMs } = this.#options;
      broker.logins++;
      if (broker.isDown) return void clock.after(reconnectMs, () => this.#connect());
      if (broker.refusesLogins !== null) return this.#onEvent?.({ kind: "refused", detail: broker.refusesLogins });
      this.#connected = true;
      const snapshot = this.#synced();
      this.#tell(() => this.#onEvent?.({ kind: "connected", snapshot }));
    });
  }

  /** Invariant 3. */
  #cut(detail: string): void {
    this.#connected = false;
    const lost = this.#channel;
    this.#channel = [];
    for (const call of [...this.#calls]) {
      if (call.madeAtMs !== null) call.settle({ kind: "answered", answer: { kind: "unknown", detail }, callMadeAtMs: call.madeAtMs });
      else call.settle({ kind: "dropped", cause: "session_down", detail });
    }
    for (const message of lost) message.lost();
  }

  #synced(): AccountSnapshot {
    const snapshot = this.#options.broker.snapshot();
    if (this.unsyncedSnapshots <= 0) return snapshot;
    this.unsyncedSnapshots--;
    return { ...snapshot, synced: false, positions: [], pendings: [] };
  }

  /** Invariant 1: whatever timer runs, the oldest message is delivered. */
  #tell(deliver: () => void, lost: () => void = () => undefined): void {
    if (!this.#connected) return;
    const channel = this.#channel;
    channel.push({ deliver, lost });
    const delayMs = this.reports === "before" ? 0 : this.reports === "after" ? 40 + this.#delay(10) : this.#delay(20);
    this.#options.clock.after(delayMs, () => {
      if (channel === this.#channel) channel.shift()?.deliver();
    });
  }

  #delay(maxMs: number): number {
    return this.#options.random.next() * maxMs;
  }
}
