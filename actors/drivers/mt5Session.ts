// Owns an MT5-like session: orders are requests on the one asynchronous connection that also brings
// events, snapshots and quotes. It needs no lane.
//
// 1. Gate 2 and the write are one turn; a frame that does not fit waits and passes the gate again.
// 2. What was not written is `not_delivered` or dropped; what was written and not answered is unknown.

import { unreachable } from "../../protocol/errors.ts";
import type { Execution, Order, Permit } from "../../protocol/orders.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import { mt5Answer } from "./mt5Codes.ts";
import { answered, dropped, WireSession, type WireSessionOptions } from "./wireSession.ts";

export interface Mt5SessionOptions extends WireSessionOptions {
  readonly gate: Gate;
}

export class Mt5Session extends WireSession {
  readonly platform = "mt5";
  readonly #gate: Gate;

  constructor(options: Mt5SessionOptions) {
    super(options);
    this.#gate = options.gate;
  }

  async execute(order: Order, permit: Permit): Promise<Execution> {
    const connection = this.liveConnection;
    if (connection === null) return this.notNow();
    const reply = await connection.guardedRequest({ t: "order", order, epoch: permit.epoch }, this.options.limits.brokerTimeoutMs, () => this.#gate.check(permit));
    switch (reply.kind) {
      case "answered":
        return this.executed(order, reply.response, mt5Answer, reply.writtenAtMs);
      case "refused":
        return dropped("gate", `gate 2: ${reply.verdict}`);
      case "full":
        return dropped("queue_full", `${this.options.limits.maxInFlight} requests are in flight on this account`);
      case "not_written":
        return answered({ kind: "not_delivered", detail: reply.detail }, null);
      case "no_answer":
        return answered({ kind: "unknown", detail: reply.detail }, reply.writtenAtMs);
      default:
        return unreachable(reply);
    }
  }

  /** At the lease's end: a connection with unanswered orders is reset, and they become unknown. */
  resetUnanswered(): void {
    this.liveConnection?.resetUnanswered();
  }

  protected override onUp(): void {}
  protected override onDown(): void {}
  protected override onChange(): void {}
}
