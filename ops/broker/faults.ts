// Owns the faults that can be switched on: what they are, when they take hold, and what they make
// of an order. A new one is a variant of `Fault` and a case in `bend`.
//
// 1. A fault concerns orders that come over the network; the trader's hand never meets one.
// 2. All faults that are armed for an account and fit the order take hold together, in the order
//    of their arming; where two contradict, the later one wins.
// 3. A fault is armed for a number of orders and then spent. Armed faults are bounded.

import { LockstepError, unreachable } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Refusal } from "./engine/refusals.ts";

export type OrderFault =
  /** Answered this late instead of after the server's own delay. */
  | { readonly kind: "answer_delay"; readonly delayMs: number }
  /** Executed or not, and never answered; the connection stays. */
  | { readonly kind: "hang"; readonly execute: boolean }
  /** Executed, and the connection is closed in place of the answer. */
  | { readonly kind: "lose_answer" }
  /** Refused with the platform's code for it, and not executed. */
  | { readonly kind: "refuse"; readonly refusal: Refusal };

/** What befalls an account's connections, at once. */
export type ConnectionFault =
  /** The session is told so and ended, as when somebody else logs in. */
  | { readonly kind: "kick"; readonly text: string }
  /** All connections break without a word. */
  | { readonly kind: "cut" };

export type Fault = OrderFault | ConnectionFault;

/** What becomes of one order, after all its faults. One that is neither refused nor executed is not answered either. */
export interface OrderPlan {
  readonly refusal: Refusal | null;
  readonly execute: boolean;
  readonly answer: "send" | "never" | "cut";
  readonly delayMs: number;
}

function bend(plan: OrderPlan, fault: OrderFault): OrderPlan {
  switch (fault.kind) {
    case "answer_delay":
      return { ...plan, delayMs: fault.delayMs };
    case "hang":
      return { ...plan, execute: fault.execute, answer: "never" };
    case "lose_answer":
      return { ...plan, execute: plan.refusal === null, answer: "cut" };
    case "refuse":
      return { ...plan, refusal: fault.refusal, execute: false };
    default:
      return unreachable(fault);
  }
}

export interface Arming {
  /** How many orders it takes hold of; null until `disarm`. */
  readonly times: number | null;
  /** Only orders of these kinds; null for all. */
  readonly only: readonly Order["kind"][] | null;
}

interface Armed extends Arming {
  readonly fault: OrderFault;
  left: number;
}

const ONCE: Arming = { times: 1, only: null };
const MAX_ARMED = 100;

export class Faults {
  readonly #armed = new Map<AccountId, Armed[]>();
  readonly #onConnections: (account: AccountId, fault: ConnectionFault) => void;

  constructor(onConnections: (account: AccountId, fault: ConnectionFault) => void) {
    this.#onConnections = onConnections;
  }

  /**
   * Arms a fault for the account's next orders, by default for one of any kind.
   * @throws LockstepError `full` when too many are armed
   */
  arm(account: AccountId, fault: OrderFault, arming: Partial<Arming> = {}): void {
    const armed = this.#armed.get(account) ?? [];
    if (armed.length >= MAX_ARMED) throw new LockstepError("full", `account ${account}: ${MAX_ARMED} faults are armed already`); // 3
    const { times, only } = { ...ONCE, ...arming };
    this.#armed.set(account, [...armed, { fault, times, only, left: times ?? Infinity }]);
  }

  disarm(account: AccountId): void {
    this.#armed.delete(account);
  }

  /** Strikes the account's connections now. */
  strike(account: AccountId, fault: ConnectionFault): void {
    this.#onConnections(account, fault);
  }

  /** What becomes of an order that just arrived, and the faults that made it so; they are spent by it. */
  meet(account: AccountId, order: Order, delayMs: number): { readonly plan: OrderPlan; readonly met: readonly OrderFault[] } {
    const armed = this.#armed.get(account) ?? [];
    const met = armed.filter(({ only }) => only === null || only.includes(order.kind));
    for (const one of met) one.left -= 1;
    this.#armed.set(account, armed.filter(({ left }) => left > 0)); // 3
    const untouched: OrderPlan = { refusal: null, execute: true, answer: "send", delayMs };
    return { plan: met.reduce((plan, { fault }) => bend(plan, fault), untouched), met: met.map(({ fault }) => fault) }; // 2
  }
}
