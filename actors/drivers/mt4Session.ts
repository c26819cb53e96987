// Owns an MT4-like session: events, snapshots and quotes come through the asynchronous session
// channel, orders go through blocking call channels on the executor's lanes.
//
// 1. What was not written is `not_delivered` or dropped; what was written and not answered is unknown.
// 2. MT4 names no new ticket after a part-close: the session looks again, in the changes it was
//    sent and then in a snapshot, for the position that is `from` the old ticket.
// 3. The call channel that is opened ahead of the first order waits for its turn at the broker, as the
//    session did; one that an order needs is opened at once.

import { LockstepError, unreachable } from "../../protocol/errors.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Execution, Order, Permit } from "../../protocol/orders.ts";
import type { Timer } from "../../protocol/ports/clock.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { chainFrom } from "../../protocol/tags.ts";
import type { AccountChange, Position } from "../../protocol/trades.ts";
import { CallChannels, type CallMaker, type ChannelOutcome } from "./callChannels.ts";
import { mt4Answer } from "./mt4Codes.ts";
import type { WireConnection } from "./wireConnection.ts";
import { answered, WireSession, type WireSessionOptions } from "./wireSession.ts";

export interface Mt4SessionOptions extends WireSessionOptions {
  readonly executor: CallMaker;
  /** Calls under way at once, each on a socket of its own. 0 for an account that is only listened to. */
  readonly parallelism: number;
}

export class Mt4Session extends WireSession {
  readonly platform = "mt4";
  readonly #channels: CallChannels;
  readonly #trades: boolean;
  #warmUp: Timer | null = null;
  /** Tickets that are being part-closed, and what their rest is called as soon as it is known. */
  readonly #rests = new Map<Ticket, Ticket | null>();

  constructor(options: Mt4SessionOptions) {
    super(options);
    this.#trades = options.parallelism > 0;
    this.#channels = new CallChannels({ ...options, onLoginRefused: (detail) => this.refuse(detail) });
  }

  async execute(order: Order, permit: Permit): Promise<Execution> {
    if (this.liveConnection === null) return this.notNow();
    if (order.kind !== "close" || !order.part) return this.#call(order, permit);
    this.#rests.set(order.ticket, null); // before the call: the change may come before the answer (2)
    try {
      const execution = await this.#call(order, permit);
      if (execution.kind !== "answered" || execution.answer.kind !== "done") return execution;
      return { ...execution, answer: { ...execution.answer, ticket: await this.#restOf(order.ticket) } };
    } finally {
      this.#rests.delete(order.ticket);
    }
  }

  /** At the lease's end: calls without an answer become unknown by the reset of their sockets. */
  resetUnanswered(): void {
    this.#channels.reset();
  }

  protected override onUp(connection: WireConnection): void {
    this.#channels.start(connection.remote);
    if (!this.#trades) return;
    const waitMs = this.loginTurn(); // (3)
    if (waitMs === null) this.#notWarm("too many logins wait at this broker");
    else this.#warmUp = this.options.clock.after(waitMs, () => void this.#warm(connection));
  }

  protected override onDown(): void {
    this.#warmUp?.cancel();
    this.#channels.stop();
    if (this.closed) this.#channels.reset();
  }

  protected override onChange(change: AccountChange): void {
    if (change.kind !== "position_opened") return;
    const from = chainFrom(change.position.comment);
    if (from !== null && this.#rests.has(from)) this.#rests.set(from, change.position.ticket);
  }

  async #warm(connection: WireConnection): Promise<void> {
    const failure = await this.#channels.warm();
    if (failure !== null && this.liveConnection === connection) this.#notWarm(failure);
  }

  #notWarm(detail: string): void {
    this.options.log.warn({ account: this.account, detail }, "no call channel ahead of the first order");
  }

  async #call(order: Order, permit: Permit): Promise<Execution> {
    const acquired = await this.#channels.acquire();
    switch (acquired.kind) {
      case "acquired":
        break;
      case "failed":
        return answered({ kind: "not_delivered", detail: acquired.detail }, null);
      case "dropped":
        return acquired.cause === "cancelled" ? this.notNow() : acquired;
      default:
        return unreachable(acquired);
    }
    const outcome = await this.#channels.call(acquired.channel, { t: "order", order, epoch: permit.epoch }, permit, this.options.limits.brokerTimeoutMs);
    this.#channels.release(acquired.channel);
    return this.#execution(order, outcome);
  }

  #execution(order: Order, outcome: ChannelOutcome): Execution {
    switch (outcome.kind) {
      case "answered":
        return this.executed(order, outcome.message, mt4Answer, outcome.callMadeAtMs);
      case "unknown":
        return answered({ kind: "unknown", detail: outcome.detail }, outcome.callMadeAtMs);
      case "not_delivered":
        return answered({ kind: "not_delivered", detail: outcome.detail }, null);
      case "dropped":
        // Only the session's own end cancels a call.
        return outcome.cause === "cancelled" ? this.notNow() : outcome;
      default:
        return unreachable(outcome);
    }
  }

  async #restOf(ticket: Ticket): Promise<Ticket | null> {
    const pushed = this.#rests.get(ticket) ?? null;
    if (pushed !== null) return pushed;
    try {
      const snapshot = await this.snapshot((this.brokerNowMs() ?? 0) as BrokerMs);
      const isRest = (position: Position): boolean => chainFrom(position.comment) === ticket;
      return this.#rests.get(ticket) ?? snapshot.positions.find(isRest)?.ticket ?? null;
    } catch (error) {
      if (error instanceof LockstepError) return null;
      throw error;
    }
  }
}
