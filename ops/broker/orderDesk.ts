// Owns an order's way from its arrival on a connection to its answer.
//
// 1. An order is executed in the turn of its arrival, unless a fault says later; its changes are on
//    their way to the session before its answer, which waits for the answer delay. Where the account
//    has the quirk `answerFirst` they are held until the answer is sent, or known never to be.
// 2. An account has at most `maxUnanswered` orders that wait for an answer or for their late
//    execution, over all its connections; one more is a flood, and is neither executed nor recorded
//    as a request.
// 3. Every recorded request ends in one `answer` entry: sent, or why not.

import { unreachable } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import { NO_VOLUME, type BrokerMs, type VolumeUnits } from "../../protocol/units.ts";
import type { WireRequest, WireResult } from "../../protocol/wire.ts";
import type { Broker } from "./broker.ts";
import type { Connection } from "./connection.ts";
import { refusedOutcome, type Outcome } from "./engine/orders.ts";
import { DONE_IN_PART, resultCode, type ResultCode } from "./engine/refusals.ts";
import type { Faults, OrderPlan } from "./faults.ts";
import { LateWork } from "./lateWork.ts";
import type { BrokerLog } from "./log.ts";
import type { Pushes } from "./pushes.ts";

export interface OrderDeskOptions {
  readonly broker: Broker;
  readonly faults: Faults;
  readonly pushes: Pushes;
  readonly log: BrokerLog;
  readonly clock: Clock;
  readonly nowMs: () => BrokerMs;
  readonly answerDelayMs: number;
  readonly maxUnanswered: number;
}

type OrderRequest = Extract<WireRequest, { t: "order" }>;
type Result = Omit<WireResult, "t" | "id">;

interface Unanswered {
  readonly account: AccountId;
  readonly requestN: number;
  /** Null where the order was not even looked at. */
  readonly result: Result | null;
  /** Its end is in the log: it only waits for its connection to go. */
  recorded: boolean;
  timer: Timer | null;
  /** Lets the changes go that were held for the answer's sake. */
  readonly release: () => void;
}

const NEVER = "fault: never answered";
const NOTHING_HELD = (): void => {};
const NOT_LOOKED_AT = { code: null, text: "not looked at", ticket: null, volume: NO_VOLUME, price: null } as const;

export class OrderDesk {
  readonly #options: OrderDeskOptions;
  readonly #late: LateWork;
  readonly #unanswered = new Map<Connection, Set<Unanswered>>();
  readonly #count = new Map<AccountId, number>();

  constructor(options: OrderDeskOptions) {
    this.#options = options;
    this.#late = new LateWork(options);
  }

  /** False when the account has too many unanswered orders: nothing was done then. */
  take(connection: Connection, account: AccountId, { id, order, epoch }: OrderRequest): boolean {
    const { broker, faults, log, pushes } = this.#options;
    if ((this.#count.get(account) ?? 0) + this.#late.waiting(account) >= this.#options.maxUnanswered) return false; // 2
    const requestN = broker.receive(account, order, { kind: "connection", connection: connection.number, id }, epoch ?? null);
    const { plan, met } = faults.meet(account, order, this.#options.answerDelayMs);
    for (const fault of met) log.append({ kind: "fault", account, fault, requestN });
    const release = broker.quirks(account).answerFirst ? pushes.hold(account) : NOTHING_HELD;
    const one: Unanswered = { account, requestN, result: this.#execute(account, order, requestN, plan), recorded: false, timer: null, release }; // 1
    if (connection.isEnded) {
      this.#unsent(one, "connection ended"); // its own changes were more than it would read
      return true;
    }
    this.#add(connection, one);
    switch (plan.answer) {
      case "send":
      case "send_twice":
        if (one.result === null) this.#unsent(one, NEVER);
        else this.#sendLater(connection, one, { t: "result", id, ...one.result }, plan);
        return true;
      case "never":
        this.#unsent(one, NEVER);
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
      if (!one.recorded) this.#unsent(one, cause);
      this.#remove(connection, one);
    }
  }

  /** Ends what is still to come of late orders. */
  close(): void {
    this.#late.close();
  }

  /** What there is to answer, if anything. */
  #execute(account: AccountId, order: Order, requestN: number, plan: OrderPlan): Result | null {
    const { broker } = this.#options;
    const { refusal, executeAfterMs } = plan;
    let done: Result | null = null;
    if (executeAfterMs === 0) done = this.#executeNow(account, order, requestN, plan);
    else if (executeAfterMs !== null) this.#late.execute(account, order, requestN, executeAfterMs);
    return refusal === null ? done : this.#result(resultCode(broker.account(account).platform, refusal), refusedOutcome(refusal));
  }

  #executeNow(account: AccountId, order: Order, requestN: number, { part }: OrderPlan): Result {
    const { broker } = this.#options;
    const { platform } = broker.account(account);
    const isPart = part !== null && platform === "mt5" && order.kind === "open" && part.volume < order.volume;
    const outcome = broker.execute(account, isPart ? { ...order, volume: part.volume } : order, requestN);
    const first = outcome.left === null ? undefined : broker.positions(account).get(outcome.left);
    if (!isPart || first === undefined) return this.#result(resultCode(platform, outcome.refusal), outcome);
    if (part.restAfterMs !== null) this.#late.fillRest(account, first, (order.volume - part.volume) as VolumeUnits, requestN, part.restAfterMs);
    return this.#result(DONE_IN_PART, outcome);
  }

  #result(code: ResultCode, { ticket, volume, price }: Outcome): Result {
    return { ...code, ticket, volume, price, brokerMs: this.#options.nowMs() };
  }

  #sendLater(connection: Connection, one: Unanswered, message: WireResult, { answer, delayMs }: OrderPlan): void {
    const send = (): void => {
      this.#remove(connection, one);
      if (connection.isMute) return this.#unsent(one, "fault: half open");
      this.#record(one, null);
      connection.send(message);
      if (answer === "send_twice") connection.send(message);
      one.release();
    };
    if (delayMs === 0) send();
    else one.timer = this.#options.clock.after(delayMs, send);
  }

  #unsent(one: Unanswered, why: string): void {
    this.#record(one, why);
    one.release();
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
