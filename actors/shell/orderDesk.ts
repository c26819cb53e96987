// Owns how one follower's orders are sent and how their answers are taken.
//
// 1. Work on one trade is serial; at most `parallelism` orders are under way at once, the rest
//    waits in order of arrival and is decided anew when its turn comes.
// 2. The gate is asked in the turn of the call. What it refuses, and what is dropped later on the way,
//    is counted and never queued: only reconcile sends it again.
// 3. An order of unknown outcome is not sent again before the broker was asked about it.
// 4. A close that a person asked for is sent once: what comes of it is the person's to know, and to ask again.

import type { Ticket } from "../../protocol/ids.ts";
import type { Answer, Execution, Order, Permit } from "../../protocol/orders.ts";
import { isClosedOnRequest, type Pair } from "../../protocol/pairs.ts";
import { wallNow } from "../../protocol/ports/clock.ts";
import { messageOf, unreachable } from "../../protocol/errors.ts";
import type { TimelineDetail, TimelineEvent } from "../../protocol/timeline.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { afterRefusal } from "../core/retry.ts";
import { afterExecution, leavesNothing, notOnRequest } from "../core/settle.ts";
import type { Answered, FollowerMessage, LooseAnswered, FollowerOptions, TickTimes } from "./followerTypes.ts";
import type { Copy, LinkCopies } from "./linkCopies.ts";
import type { PairLedger } from "./pairLedger.ts";
import type { Reconciler } from "./reconciler.ts";

export interface OrderDeskOptions extends FollowerOptions {
  readonly ledger: PairLedger;
  readonly reconciler: Reconciler;
  readonly tellAnswer: (message: FollowerMessage) => void;
  /** Decides about a trade again. */
  readonly evaluate: (state: LinkCopies, copy: Copy) => void;
}

/** The pause before the broker is asked what became of an order. */
export const LOOK_AFTER_MS = 500;

export class OrderDesk {
  readonly #options: OrderDeskOptions;
  readonly #queue = new Map<Copy, LinkCopies>();
  /** Tickets that are being ended without a row. */
  readonly #loose = new Set<Ticket>();
  #inFlight = 0;
  #unsettledUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: OrderDeskOptions) {
    this.#options = options;
  }

  /** As many orders as may be are under way: the next one would wait. */
  get full(): boolean {
    return this.#inFlight >= this.#options.limits.parallelism;
  }

  get idle(): boolean {
    return this.#inFlight === 0 && this.#queue.size === 0;
  }

  /** Whether this ticket is being ended without a row. */
  isEnding(ticket: Ticket): boolean {
    return this.#loose.has(ticket);
  }

  /** Monotonic: until then an order of ours may be executed whose outcome is not known. In the past: there is none. */
  get unsettledUntilMs(): number {
    const { clock, limits } = this.#options;
    return this.#inFlight > 0 ? clock.monotonicMs() + limits.settleMs : this.#unsettledUntilMs;
  }

  /** Drops what waits and resolves when no call is under way, or when waiting for one longer tells nothing. */
  async drain(): Promise<void> {
    const { clock, limits } = this.#options;
    const untilMs = clock.monotonicMs() + limits.settleMs;
    this.#queue.clear();
    while (this.#inFlight > 0 && clock.monotonicMs() < untilMs) await new Promise<void>((resolve) => void clock.after(10, resolve));
  }

  /** @param pair the row once the order is on its way */
  send(state: LinkCopies, copy: Copy, order: Order, pair: Pair, times: TickTimes | null): void {
    const { gate, ownership, clock, limits, ledger, tellAnswer } = this.#options;
    const { permit } = ownership;
    const levels = levelsOf(order);
    if (levels !== null && copy.refusedLevels === levels) return;
    if (this.#inFlight >= limits.parallelism) return void this.#queue.set(copy, state);
    const verdict = gate.check(permit);
    if (verdict !== "open") return this.#onDropped(state, copy, order, `gate: ${verdict}`);
    const handedAtMs = clock.monotonicMs();
    const call = this.#call(order, permit);
    this.#inFlight++;
    copy.flight = order;
    copy.unsent = false;
    if (opens(order)) ledger.set(copy, pair);
    // On whose word it ends is in the row before the answer, for whoever is the owner then.
    else if (order.kind === "close" && copy.pair !== null && copy.pair.reason !== pair.reason) ledger.set(copy, { ...copy.pair, reason: pair.reason, changedAtMs: wallNow(clock) });
    this.#tell("order", { ...tradeOf(state, copy), ...order, late: copy.opening === "late", decideMs: times === null ? null : handedAtMs - times.readAtMs });
    void call.then((execution) => {
      // Here, since a mailbox that was stopped hands nothing on: the call is over all the same.
      this.#over(execution);
      tellAnswer({ kind: "answered", state, copy, order, sent: pair, execution, handedAtMs, times });
    });
  }

  /** Ends an order at the broker that belongs to no row: it is sent once, and looked for again whatever comes of it. */
  sendLoose(order: Extract<Order, { kind: "close" | "cancel" }>): void {
    const { account, gate, ownership, limits, logger, reconciler, tellAnswer } = this.#options;
    const { permit } = ownership;
    if (this.#loose.has(order.ticket) || this.#inFlight >= limits.parallelism) return reconciler.look("loose order", LOOK_AFTER_MS);
    const verdict = gate.check(permit);
    if (verdict !== "open") return this.#dropped({ order: order.kind, loose: true, ticket: order.ticket, why: `gate: ${verdict}` });
    logger.warn({ follower: account.id, order }, "order of ours that belongs to no trade is ended");
    this.#inFlight++;
    this.#loose.add(order.ticket);
    this.#tell("order", { ...order, loose: true });
    void this.#call(order, permit).then((execution) => {
      this.#over(execution);
      tellAnswer({ kind: "loose_answered", order, execution });
    });
  }

  onLooseAnswered({ order, execution }: LooseAnswered): void {
    const { account, logger, reconciler } = this.#options;
    if ("ticket" in order) this.#loose.delete(order.ticket);
    if (execution.kind === "answered") this.#tell("answer", { order: order.kind, loose: true, ...execution.answer });
    else this.#dropped({ order: order.kind, loose: true, why: `${execution.cause}: ${execution.detail}` });
    logger.info({ follower: account.id, order, execution }, "loose order answered");
    reconciler.look("loose order", LOOK_AFTER_MS);
  }

  onAnswered({ state, copy, order, sent, execution, handedAtMs, times }: Answered): void {
    const { metrics, limits, evaluate } = this.#options;
    copy.flight = null;
    if (execution.kind === "dropped") {
      copy.unsent = copy.pair?.status === "Sending";
      if (order.kind === "close" && copy.pair !== null) this.#options.ledger.set(copy, notOnRequest(copy.pair));
      this.#onDropped(state, copy, order, `${execution.cause}: ${execution.detail}`);
    } else {
      this.#tell("answer", { ...tradeOf(state, copy), order: order.kind, ...execution.answer, tookMs: this.#options.clock.monotonicMs() - handedAtMs });
      if (times !== null && execution.callMadeAtMs !== null) {
        metrics.ownTime({
          signalMs: times.readAtWallMs - times.callbackAtMs,
          decideMs: handedAtMs - times.readAtMs,
          laneMs: execution.callMadeAtMs - handedAtMs,
        });
      }
      this.#onAnswer(state, copy, order, sent, execution.answer);
      evaluate(state, copy);
    }
    for (const [waiting, waitingState] of this.#queue) {
      if (this.#inFlight >= limits.parallelism) break;
      this.#queue.delete(waiting);
      evaluate(waitingState, waiting);
    }
  }

  #onAnswer(state: LinkCopies, copy: Copy, order: Order, sent: Pair, answer: Answer): void {
    const { account, metrics, logger, clock, limits, ledger } = this.#options;
    const pair = copy.pair;
    if (pair === null) return;
    switch (answer.kind) {
      case "done":
      case "done_in_part":
        copy.attempts = 0;
        copy.plain = false;
        copy.refusedLevels = null;
        copy.answeredAtMs = answer.brokerMs;
        ledger.set(copy, afterExecution(pair, order, answer, sent, wallNow(this.#options.clock)));
        // MetaTrader 4 names no new ticket for what a part-close leaves, and it was not found yet.
        if (order.kind === "close" && !leavesNothing(order, answer) && copy.pair?.followerTicket === order.ticket && answer.ticket === null) this.#lookForEffect(copy, order);
        return;
      case "refused":
        metrics.count("orders_refused");
        logger.warn({ follower: account.id, order, code: answer.code, text: answer.text }, "order refused");
        return this.#onRefused(state, copy, order, answer);
      case "not_delivered":
        if (order.kind === "close" && isClosedOnRequest(pair)) return this.#notClosed(copy, pair); // 4
        copy.unsent = pair.status === "Sending";
        copy.opening = null;
        return this.#pauseThenLook(copy, "not delivered");
      case "unknown":
        metrics.count("orders_unknown");
        logger.warn({ follower: account.id, order, detail: answer.detail }, "order of unknown outcome");
        copy.opening = null;
        if (pair.status === "Sending") copy.settlesAtMs = clock.monotonicMs() + limits.settleMs;
        return this.#lookForEffect(copy, order);
      default:
        return unreachable(answer);
    }
  }

  #onRefused(state: LinkCopies, copy: Copy, order: Order, answer: Extract<Answer, { kind: "refused" }>): void {
    const { clock, random, ledger, reconciler, tellAnswer } = this.#options;
    const pair = copy.pair;
    if (pair === null) return;
    if (order.kind === "close" && isClosedOnRequest(pair)) return this.#notClosed(copy, pair); // 4
    if (answer.refusal === "already") return this.#onAlready(copy, order, pair);
    copy.attempts++;
    const retry = afterRefusal(order.kind, answer.refusal, { attempt: copy.attempts, plain: copy.plain }, random.next());
    const unsent = opens(order) && pair.status === "Sending";
    if (retry.kind === "again") {
      copy.unsent = unsent;
      copy.plain ||= retry.plain;
      copy.pause = clock.after(retry.afterMs, () => tellAnswer({ kind: "retry", state, copy }));
    } else if (unsent) {
      ledger.set(copy, { ...pair, status: "Skipped", reason: "refused", detail: { code: answer.code, text: answer.text, attempts: copy.attempts }, changedAtMs: wallNow(this.#options.clock) });
    } else copy.refusedLevels = levelsOf(order);
    // The broker does not know what we want to end, or we do not know what it knows.
    if (answer.refusal === "final" && !opens(order)) reconciler.look("refused", LOOK_AFTER_MS);
  }

  /** Invariant 4; whether it stands at all, the broker is asked. */
  #notClosed(copy: Copy, pair: Pair): void {
    this.#options.ledger.set(copy, notOnRequest(pair));
    this.#options.reconciler.look("not closed on request", LOOK_AFTER_MS);
  }

  /** Levels that stand already are as asked; whatever else is so already, the broker's history says why. */
  #onAlready(copy: Copy, order: Order, pair: Pair): void {
    if (order.kind !== "modify" && order.kind !== "change") return this.#pauseThenLook(copy, "already so");
    this.#options.ledger.set(copy, afterExecution(pair, order, { kind: "done", ticket: order.ticket, volume: pair.volume, price: null, brokerMs: 0 as BrokerMs }, pair, wallNow(this.#options.clock)));
  }

  #onDropped(state: LinkCopies, copy: Copy, order: Order, why: string): void {
    copy.opening = null;
    this.#dropped({ ...tradeOf(state, copy), order: order.kind, why });
  }

  /** Invariant 2. */
  #dropped(detail: TimelineDetail): void {
    const { metrics, reconciler } = this.#options;
    metrics.count("orders_dropped");
    this.#tell("dropped", detail);
    reconciler.look("dropped", LOOK_AFTER_MS);
  }

  /** Handed over in this turn. Never rejects: of a call that failed by itself it is unknown how far it came (3). */
  async #call(order: Order, permit: Permit): Promise<Execution> {
    const { account, session, logger } = this.#options;
    try {
      return await session.execute(order, permit);
    } catch (error) {
      logger.error({ follower: account.id, order, error: messageOf(error), stack: error instanceof Error ? error.stack : null }, "a call failed by itself");
      return { kind: "answered", answer: { kind: "unknown", detail: messageOf(error) }, callMadeAtMs: null };
    }
  }

  /** A call has ended, with or without an answer. */
  #over(execution: Execution): void {
    const { clock, limits } = this.#options;
    this.#inFlight--;
    if (execution.kind === "answered" && execution.answer.kind === "unknown") this.#unsettledUntilMs = clock.monotonicMs() + limits.settleMs;
  }

  #tell(event: TimelineEvent, detail: TimelineDetail): void {
    const { ownership, journal } = this.#options;
    journal.note(ownership.subject, event, detail);
  }

  #lookForEffect(copy: Copy, order: Order): void {
    const { clock, limits } = this.#options;
    // A second part-close would close twice; a second full close, cancel or modify finds nothing to do.
    if (order.kind === "close" && order.part) copy.settlesAtMs = clock.monotonicMs() + limits.settleMs;
    this.#pauseThenLook(copy, "unknown outcome");
  }

  #pauseThenLook(copy: Copy, cause: string): void {
    const { clock, reconciler } = this.#options;
    copy.pause ??= clock.after(LOOK_AFTER_MS, () => {
      copy.pause = null;
      // A look that was merged into an earlier one found the trade paused.
      reconciler.look(cause, 0);
    });
    // A tick may end the pause: the look is wanted all the same.
    reconciler.look(cause, LOOK_AFTER_MS);
  }
}

const tradeOf = (state: LinkCopies, copy: Copy): TimelineDetail => ({ link: state.link.id, master: state.link.master, masterTicket: copy.masterTicket });

const opens = (order: Order): boolean => order.kind === "open" || order.kind === "place";

/** The levels a modify or change asks for, as one comparable text; null for other orders. */
function levelsOf(order: Order): string | null {
  if (order.kind === "modify") return `${order.stopLoss}/${order.takeProfit}`;
  return order.kind === "change" ? `${order.price}/${order.stopLoss}/${order.takeProfit}` : null;
}
