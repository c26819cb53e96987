// Owns an order's way from its arrival on a connection to its answer.
//
// 1. An order is executed in the turn of its arrival; its changes are on their way to the session
//    before its answer, which waits for the answer delay.
// 2. An account has at most `maxUnanswered` orders that wait for an answer, over all its
//    connections; one more is a flood, and is neither executed nor recorded as a request.
// 3. Every recorded request ends in one `answer` entry: sent, or why not.

import { unreachable } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import { NO_VOLUME, type BrokerMs } from "../../protocol/units.ts";
import type { WireResult } from "../../protocol/wire.ts";
import type { Broker } from "./broker.ts";
import type { Connection } from "./connection.ts";
import { refusedOutcome } from "./engine/orders.ts";
import { resultCode } from "./engine/refusals.ts";
import type { Faults, OrderPlan } from "./faults.ts";
import type { BrokerLog } from "./log.ts";

export interface OrderDeskOptions {
  readonly broker: Broker;
  readonly faults: Faults;
  readonly log: BrokerLog;
  readonly clock: Clock;
  readonly nowMs: () => BrokerMs;
  readonly answerDelayMs: number;
  readonly maxUnanswered: number;
}

type Result = Omit<WireResult, "t" | "id">;

interface Unanswered {
  readonly account: AccountId;
  readonly requestN: number;
  /** Null where the order was not even looked at. */
  readonly result: Result | null;
  /** Its end is in the log: it only waits for its connection to go. */
  recorded: boolean;
  timer: Timer | null;
}

const NOT_LOOKED_AT = { code: null, text: "not looked at", ticket: null, volume: NO_VOLUME, price: null } as const;

export class OrderDesk {
  readonly #options: OrderDeskOptions;
  readonly #unanswered = new Map<Connection, Set<Unanswered>>();
  readonly #count = new Map<AccountId, number>();

  constructor(options: OrderDeskOptions) {
    this.#options = options;
  }

  /** False when the account has too many unanswered orders: nothing was done then. */
  take(connection: Connection, account: AccountId, id: number, order: Order): boolean {
    const { broker, faults, log } = this.#options;
    if ((this.#count.get(account) ?? 0) >= this.#options.maxUnanswered) return false; // 2
    const requestN = broker.receive(account, order, { kind: "connection", connection: connection.number, id });
    const { plan, met } = faults.meet(account, order, this.#options.answerDelayMs);
    for (const fault of met) log.append({ kind: "fault", account, fault, requestN });
    const one: Unanswered = { account, requestN, result: this.#execute(account, order, requestN, plan), recorded: false, timer: null }; // 1
    if (connection.isEnded) {
      this.#record(one, "connection ended"); // its own changes were more than it would read
      return true;
    }
    this.#add(connection, one);
    switch (plan.answer) {
      case "send":
        // Whoever leaves an order unlooked at also leaves it unanswered (faults.ts), so there is a result.
        if (one.result !== null) this.#sendLater(connection, one, { t: "result", id, ...one.result }, plan.delayMs);
        return true;
      case "never":
        this.#record(one, "fault: never answered");
        return true;
      case "cut":
        connection.cut("fault: answer lost"); // recorded as it ends
        return true;
      default:
        return unreachable(plan.answer);
    }
  }

  /** The connection ended: whatever it still waits for is never sent. */
  abandon(connection: Connection, cause: string): void {
    for (const one of this.#unanswered.get(connection) ?? []) {
      one.timer?.cancel();
      if (!one.recorded) this.#record(one, cause);
      this.#remove(connection, one);
    }
  }

  #execute(account: AccountId, order: Order, requestN: number, plan: OrderPlan): Result | null {
    const { broker, nowMs } = this.#options;
    if (plan.refusal === null && !plan.execute) return null;
    const { refusal, ticket, volume, price } = plan.refusal === null ? broker.execute(account, order, requestN) : refusedOutcome(plan.refusal);
    return { ...resultCode(broker.account(account).platform, refusal), ticket, volume, price, brokerMs: nowMs() };
  }

  #sendLater(connection: Connection, one: Unanswered, message: WireResult, delayMs: number): void {
    const send = (): void => {
      this.#remove(connection, one);
      this.#record(one, null);
      connection.send(message);
    };
    if (delayMs === 0) send();
    else one.timer = this.#options.clock.after(delayMs, send);
  }

  /** `notSent`: why nobody got the answer; null when it is handed to the socket now. */
  #record(one: Unanswered, notSent: string | null): void {
    const { account, requestN } = one;
    const { code, text, ticket, volume, price } = one.result ?? NOT_LOOKED_AT;
    this.#options.log.append({ kind: "answer", account, requestN, code, text, ticket, volume, price, notSent });
    one.recorded = true; // 3
  }

  #add(connection: Connection, one: Unanswered): void {
    const waiting = this.#unanswered.get(connection) ?? new Set();
    this.#unanswered.set(connection, waiting.add(one));
    this.#count.set(one.account, (this.#count.get(one.account) ?? 0) + 1);
  }

  #remove(connection: Connection, one: Unanswered): void {
    const waiting = this.#unanswered.get(connection);
    waiting?.delete(one);
    if (waiting?.size === 0) this.#unanswered.delete(connection);
    this.#count.set(one.account, (this.#count.get(one.account) ?? 1) - 1);
  }
}
