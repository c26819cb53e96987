// Owns the closes that persons ask for: one follower's, through its mailbox and its order desk like
// every other order, and what is told to whoever asked.
//
// 1. One close of a ticket at a time: who asks for it meanwhile is told the outcome of the one under way.
// 2. It is carried out and written down whether or not anybody still waits for the outcome.
// 3. Work on one trade is serial: it waits for the order under way, for a bounded time, and is then
//    not sent at all. Nothing of it is kept for later: neither over a fence nor over a lost session.
// 4. Only copies are closed: of a trade that is known, or of one that the broker shows under a link's magic.
//    A copy that a person closed is never opened again, since its row has ended.

import type { Account } from "../../protocol/accounts.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Execution, Order, RefusalClass } from "../../protocol/orders.ts";
import { isLive } from "../../protocol/pairs.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { ReasonCode } from "../../protocol/reasons.ts";
import { chainTo } from "../../protocol/tags.ts";
import type { AccountSnapshot } from "../../protocol/trades.ts";
import { messageOf, unreachable } from "../../protocol/errors.ts";
import type { Points, VolumeUnits } from "../../protocol/units.ts";
import type { Copy, LinkCopies } from "./linkCopies.ts";
import type { LinkStates } from "./linkStates.ts";
import type { Mailbox } from "./mailbox.ts";
import type { FollowerMessage } from "./followerTypes.ts";
import type { OrderDesk } from "./orderDesk.ts";
import type { Ownership } from "./ownership.ts";
import { historyFrom } from "./reconciler.ts";

export type CloseOutcome =
  /** `volume`: what was closed; the rest of a `done_in_part` stands. */
  | { readonly kind: "done" | "done_in_part"; readonly volume: VolumeUnits; readonly price: Points | null }
  | { readonly kind: "refused"; readonly refusal: RefusalClass; readonly code: number; readonly text: string }
  /** It may have been closed: the broker is asked, and the row shows it. */
  | { readonly kind: "unknown"; readonly detail: string }
  /** `rest`: the ticket of what a part-close left. */
  | { readonly kind: "already_closed"; readonly reason: ReasonCode | null; readonly rest: Ticket | null }
  /** Nothing was sent, and nothing will be: */
  | { readonly kind: "no_such_copy"; readonly why: string }
  | { readonly kind: "busy"; readonly why: string }
  | { readonly kind: "not_sent"; readonly why: string }
  | { readonly kind: "fenced" };

export interface CloseByHand {
  readonly kind: "close_by_hand";
  readonly ticket: Ticket;
  /** Null: the broker was not asked yet. */
  readonly seen: AccountSnapshot | null;
}

export interface ManualCloseOptions {
  readonly account: Account;
  readonly session: BrokerSession;
  readonly links: LinkStates;
  readonly desk: OrderDesk;
  readonly mailbox: Pick<Mailbox<FollowerMessage>, "tell" | "tellAnswer">;
  readonly gate: Gate;
  readonly ownership: Ownership;
  readonly isConnected: () => boolean;
  readonly clock: Clock;
  readonly journal: Journal;
}

interface Asked {
  readonly outcome: Promise<CloseOutcome>;
  readonly settle: (outcome: CloseOutcome) => void;
  readonly bound: Timer;
  isLate: boolean;
  /** `sent`: the order's answer is awaited. */
  at: "waiting" | "looking" | "sent";
}

/** How long it waits for other orders. */
const WAIT_MS = 3_000;
const MOST_ASKED = 64;

export class ManualClose {
  readonly #options: ManualCloseOptions;
  readonly #asked = new Map<Ticket, Asked>();
  #stopped = false;

  constructor(options: ManualCloseOptions) {
    this.#options = options;
  }

  /** Whether the gate is open for the account, now. */
  get mayAct(): boolean {
    return this.#options.gate.check(this.#options.ownership.permit) === "open";
  }

  /** A position's close. Never rejects; ends within the broker's time-out and a few seconds. */
  ask(ticket: Ticket): Promise<CloseOutcome> {
    const { clock, mailbox } = this.#options;
    const underWay = this.#asked.get(ticket);
    if (underWay !== undefined) return underWay.outcome; // 1
    if (this.#stopped) return Promise.resolve({ kind: "not_sent", why: "the account is leaving this node" });
    if (this.#asked.size >= MOST_ASKED) return Promise.resolve({ kind: "not_sent", why: "too many closes are under way" });
    let settle: Asked["settle"] = () => undefined;
    const outcome = new Promise<CloseOutcome>((resolve) => (settle = resolve));
    this.#asked.set(ticket, { outcome, settle, at: "waiting", isLate: false, bound: clock.after(WAIT_MS, () => this.#late(ticket)) });
    const told = mailbox.tell({ kind: "close_by_hand", ticket, seen: null });
    if (told !== "accepted") this.#settle(ticket, { kind: "not_sent", why: told === "full" ? "too much waits for this account" : "the account is leaving this node" });
    return outcome;
  }

  onAsked({ ticket, seen }: CloseByHand): void {
    const asked = this.#asked.get(ticket);
    if (asked === undefined) return;
    asked.at = "waiting";
    this.#try(ticket, asked, seen);
  }

  /** An order of this follower has ended: ours, or one that ours waits for. */
  onAnswered({ order, execution }: { readonly order: Order; readonly execution: Execution }): void {
    if (order.kind === "close" && this.#asked.get(order.ticket)?.at === "sent") this.#settle(order.ticket, this.#outcomeOf(execution));
    for (const [ticket, asked] of [...this.#asked]) if (asked.at === "waiting") this.#try(ticket, asked, null);
  }

  /** The actor has ended: no answer comes to it any more. */
  stop(): void {
    this.#stopped = true;
    for (const [ticket, { at }] of [...this.#asked]) {
      this.#settle(ticket, at === "sent" ? { kind: "unknown", detail: "the account left this node while the order was under way" } : { kind: "not_sent", why: "the account is leaving this node" });
    }
  }

  #try(ticket: Ticket, asked: Asked, seen: AccountSnapshot | null): void {
    const { isConnected, desk } = this.#options;
    if (!this.mayAct) return this.#settle(ticket, { kind: "fenced" });
    if (!isConnected()) return this.#settle(ticket, { kind: "not_sent", why: "there is no session with the broker" });
    const known = this.#copyOf(ticket);
    if (known !== null) return this.#closeCopy(ticket, asked, known);
    if (seen === null) return this.#look(ticket, asked);
    if (desk.full) return this.#wait(ticket, asked);
    this.#closeSeen(ticket, asked, seen);
  }

  #closeCopy(ticket: Ticket, asked: Asked, { state, copy }: KnownCopy): void {
    const { desk, clock } = this.#options;
    const { pair } = copy;
    if (pair === null) return;
    if (!isLive(pair.status)) return this.#settle(ticket, { kind: "already_closed", reason: pair.reason, rest: null });
    if (pair.holds === "pending") return this.#settle(ticket, { kind: "no_such_copy", why: "it is a pending order: only positions are closed" });
    if (isBusy(copy, clock.monotonicMs()) || desk.full) return this.#wait(ticket, asked);
    const order: Order = { kind: "close", ticket, symbol: pair.symbol, volume: pair.volume, part: false };
    desk.send(state, copy, order, { ...pair, reason: "closed_on_request" }, null);
    if (copy.flight === order) asked.at = "sent";
    else this.#settle(ticket, { kind: "fenced" });
  }

  /** No trade of ours is known by this ticket: the broker may. */
  #look(ticket: Ticket, asked: Asked): void {
    const { session, mailbox } = this.#options;
    asked.at = "looking";
    session.snapshot(historyFrom(session)).then(
      (seen) => mailbox.tellAnswer({ kind: "close_by_hand", ticket, seen }),
      (error: unknown) => this.#settle(ticket, { kind: "not_sent", why: `the broker does not say what is open: ${messageOf(error)}` }),
    );
  }

  /** Invariant 4. */
  #closeSeen(ticket: Ticket, asked: Asked, { synced, positions, pendings, closed }: AccountSnapshot): void {
    const { desk, links } = this.#options;
    if (!synced) return this.#settle(ticket, { kind: "not_sent", why: "the broker has not loaded the account yet" });
    const isOurs = ({ ticket: shown, magic }: { readonly ticket: Ticket; readonly magic: number }): boolean => shown === ticket && links.all.some(({ link }) => link.magic === magic);
    const position = positions.find(isOurs);
    if (position !== undefined) {
      desk.sendLoose({ kind: "close", ticket, symbol: position.symbol, volume: position.volume, part: false });
      if (desk.isEnding(ticket)) asked.at = "sent";
      else this.#settle(ticket, { kind: "fenced" });
      return;
    }
    const ended = closed.find(({ position: shown }) => isOurs(shown));
    if (ended !== undefined) return this.#settle(ticket, { kind: "already_closed", reason: ended.reason, rest: chainTo(ended.position.comment) });
    this.#settle(ticket, { kind: "no_such_copy", why: pendings.some(isOurs) ? "it is a pending order: only positions are closed" : "no copy of ours has this ticket" });
  }

  #copyOf(ticket: Ticket): KnownCopy | null {
    for (const state of this.#options.links.all) for (const copy of state.copies.values()) if (copy.pair?.followerTicket === ticket) return { state, copy };
    return null;
  }

  #outcomeOf(execution: Execution): CloseOutcome {
    if (execution.kind === "dropped") return execution.cause === "gate" || !this.mayAct ? { kind: "fenced" } : { kind: "not_sent", why: execution.detail };
    const { answer } = execution;
    switch (answer.kind) {
      case "done":
      case "done_in_part":
        return { kind: answer.kind, volume: answer.volume, price: answer.price };
      case "refused":
      case "unknown":
        return answer;
      case "not_delivered":
        return { kind: "not_sent", why: answer.detail };
      default:
        return unreachable(answer);
    }
  }

  /** Invariant 3: the next answer of an order tries again. */
  #wait(ticket: Ticket, { isLate }: Asked): void {
    if (isLate) this.#settle(ticket, { kind: "busy", why: "another order of it is under way or unsettled" });
  }

  #late(ticket: Ticket): void {
    const asked = this.#asked.get(ticket);
    if (asked === undefined) return;
    asked.isLate = true;
    if (asked.at === "waiting") this.#wait(ticket, asked);
  }

  #settle(ticket: Ticket, outcome: CloseOutcome): void {
    const asked = this.#asked.get(ticket);
    if (asked === undefined) return;
    this.#asked.delete(ticket);
    asked.bound.cancel();
    const { ownership, journal } = this.#options;
    const { kind, ...more } = outcome;
    journal.note(ownership.subject, "asked", { ticket, outcome: kind, ...more }); // 2
    asked.settle(outcome);
  }
}

interface KnownCopy {
  readonly state: LinkCopies;
  readonly copy: Copy;
}

const isBusy = (copy: Copy, monotonicMs: number): boolean => copy.flight !== null || (copy.settlesAtMs !== null && copy.settlesAtMs > monotonicMs);
