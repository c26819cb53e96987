// Owns sessions that break one order of one follower and pass on everything else: a copier with a
// fault, made by replacing its port to the broker.
//
// 1. An order about a ticket is broken each time it is sent again: a copier looks at what its broker
//    holds and would repair what was broken once.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountId, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Execution, Order, Permit } from "../../../protocol/orders.ts";
import type { BrokerSession, SessionEvent } from "../../../protocol/ports/broker.ts";
import type { AccountSnapshot, Platform, Quote, SymbolSpec } from "../../../protocol/trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../../protocol/units.ts";

export type Send = (order: Order) => Promise<Execution>;
/** What becomes of the order that is to be broken. */
export type Fault = (order: Order, send: Send, session: BrokerSession) => Promise<Execution>;

export interface Break {
  readonly follower: string;
  /** Whether it is this order. The first one that is, is broken (1). */
  readonly isMeant: (order: Order) => boolean;
  readonly fault: Fault;
}

/** Breaks one order; `broken` says whether it came. */
export class Breaker {
  readonly #break: Break;
  broken: Order | null = null;

  constructor(broken: Break) {
    this.#break = broken;
  }

  readonly wrap = (session: BrokerSession): BrokerSession => (session.account === this.#break.follower ? new BrokenSession(session, (order, send) => this.#execute(session, order, send)) : session);

  #execute(session: BrokerSession, order: Order, send: Send): Promise<Execution> {
    if (this.broken === null && this.#break.isMeant(order)) this.broken = order;
    else if (this.broken === null || !isSentAgain(this.broken, order)) return send(order);
    return this.#break.fault(order, send, session);
  }
}

/** Invariant 1. */
const isSentAgain = (before: Order, now: Order): boolean => "ticket" in before && "ticket" in now && before.kind === now.kind && before.ticket === now.ticket;

class BrokenSession implements BrokerSession {
  readonly #inner: BrokerSession;
  readonly #execute: (order: Order, send: Send) => Promise<Execution>;

  constructor(inner: BrokerSession, execute: (order: Order, send: Send) => Promise<Execution>) {
    this.#inner = inner;
    this.#execute = execute;
  }

  get account(): AccountId {
    return this.#inner.account;
  }

  get platform(): Platform {
    return this.#inner.platform;
  }

  get waitsForTurn(): boolean {
    return this.#inner.waitsForTurn;
  }

  open(onEvent: (event: SessionEvent) => void): void {
    this.#inner.open(onEvent);
  }

  spec(symbol: SymbolName): SymbolSpec | null {
    return this.#inner.spec(symbol);
  }

  symbols(): readonly SymbolSpec[] {
    return this.#inner.symbols();
  }

  quote(symbol: SymbolName): Quote | null {
    return this.#inner.quote(symbol);
  }

  brokerNowMs(): BrokerMs | null {
    return this.#inner.brokerNowMs();
  }

  snapshot(historyFromMs: BrokerMs): Promise<AccountSnapshot> {
    return this.#inner.snapshot(historyFromMs);
  }

  execute(order: Order, permit: Permit): Promise<Execution> {
    return this.#execute(order, (sent) => this.#inner.execute(sent, permit));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** A ticket that no broker of the demo gives. */
const NOBODYS = 2_000_000_000 as Ticket;

/** It is said to be done, and nothing was sent. */
export const swallowed: Fault = async (order, _send, session) => ({
  kind: "answered",
  answer: { kind: "done", ticket: ticketOf(order), volume: "volume" in order ? order.volume : (0 as VolumeUnits), price: 100_000 as Points, brokerMs: session.brokerNowMs() ?? (0 as BrokerMs) },
  callMadeAtMs: null,
});

function ticketOf(order: Order): Ticket | null {
  switch (order.kind) {
    case "open":
    case "place":
      return NOBODYS;
    case "close":
      return null;
    case "modify":
    case "change":
    case "cancel":
      return order.ticket;
    default:
      return unreachable(order);
  }
}

export const sentTwice: Fault = async (order, send) => {
  const [first] = await Promise.all([send(order), send(order)]);
  return first;
};

/** The broker is said to have refused it for want of money; it was never asked. */
export const refusedUnsent: Fault = async () => ({ kind: "answered", answer: { kind: "refused", refusal: "final", code: 134, text: "not enough money" }, callMadeAtMs: null });

export const altered =
  (change: (order: Order, session: BrokerSession) => Order): Fault =>
  (order, send, session) =>
    send(change(order, session));
