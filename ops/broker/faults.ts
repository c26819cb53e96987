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
import type { VolumeUnits } from "../../protocol/units.ts";
import type { Refusal } from "./engine/refusals.ts";
import type { HalfOpenFault } from "./halfOpen.ts";

export type OrderFault =
  /** Answered this late instead of after the server's own delay. */
  | { readonly kind: "answer_delay"; readonly delayMs: number }
  /** Executed or not, and never answered; the connection stays. */
  | { readonly kind: "hang"; readonly execute: boolean }
  /** Executed, and the connection is closed in place of the answer. */
  | { readonly kind: "lose_answer" }
  /** Refused with the platform's code for it, and not executed. */
  | { readonly kind: "refuse"; readonly refusal: Refusal }
  /** Answered as timed out (MT4 128, MT5 10012) or never, and executed this much later, if it can be done then. */
  | { readonly kind: "execute_late"; readonly afterMs: number; readonly answer: "time_out" | "none" }
  /** The answer is sent twice. */
  | { readonly kind: "double_answer" }
  /** An open on MT5 (other orders are untouched): `volume` of it is filled now, answered 10010, the rest this much later; null: never. */
  | { readonly kind: "fill_in_part"; readonly volume: VolumeUnits; readonly restAfterMs: number | null };

/** What befalls an account's connections, at once. */
export type ConnectionFault =
  /** The session is told so and ended, as when somebody else logs in. */
  | { readonly kind: "kick"; readonly text: string }
  /** All connections break without a word. */
  | { readonly kind: "cut" }
  /** All connections stay and are silent, those that log in meanwhile from their welcome on: no answers, no pushes, no pongs. */
  | ({ readonly kind: "half_open" } & HalfOpenFault)
  /** Ends `half_open` before its time. */
  | { readonly kind: "heal" }
  /** The next `count` changes are not told to the session, though they happen. */
  | { readonly kind: "miss_changes"; readonly count: number };

export type Fault = OrderFault | ConnectionFault;

/** What becomes of one order, after all its faults. One that has neither an answer of its own nor an outcome is not answered. */
export interface OrderPlan {
  /** Answered whatever the outcome is; null: the outcome. */
  readonly refusal: Refusal | null;
  /** 0: in the turn of its arrival; null: never. */
  readonly executeAfterMs: number | null;
  readonly answer: "send" | "send_twice" | "never" | "cut";
  readonly delayMs: number;
  /** What is filled of an open on arrival, and when the rest; null: all of it on arrival. */
  readonly part: { readonly volume: VolumeUnits; readonly restAfterMs: number | null } | null;
}

function bend(plan: OrderPlan, fault: OrderFault): OrderPlan {
  switch (fault.kind) {
    case "answer_delay":
      return { ...plan, delayMs: fault.delayMs };
    case "hang":
      return { ...plan, executeAfterMs: fault.execute && plan.refusal === null ? 0 : null, answer: "never" };
    case "lose_answer":
      return { ...plan, executeAfterMs: plan.refusal === null ? (plan.executeAfterMs ?? 0) : plan.executeAfterMs, answer: "cut" };
    case "refuse":
      return { ...plan, refusal: fault.refusal, executeAfterMs: null };
    case "execute_late":
      if (fault.answer === "none") return { ...plan, refusal: null, executeAfterMs: fault.afterMs, answer: "never" };
      return { ...plan, refusal: "timed_out", executeAfterMs: fault.afterMs };
    case "double_answer":
      return { ...plan, answer: "send_twice" };
    case "fill_in_part":
      return { ...plan, part: { volume: fault.volume, restAfterMs: fault.restAfterMs } };
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
    const untouched: OrderPlan = { refusal: null, executeAfterMs: 0, answer: "send", delayMs, part: null };
    return { plan: met.reduce((plan, { fault }) => bend(plan, fault), untouched), met: met.map(({ fault }) => fault) }; // 2
  }
}
