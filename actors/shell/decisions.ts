// Owns how the next step of one trade is decided and handed over: on a tick, on what the broker
// reports, and where a plan says it. What to do is the core's to say.
//
// 1. A trade without a pair is opened by its own opening tick or by a plan, and by nothing else.
// 2. An order whose outcome is unknown bars every other of its trade until reconcile or time has settled it.
// 3. What a tick came to is told after its order was handed over, never before.
// 4. Of a trade that the master has ended, and whose copy a former owner may have sent, nothing is concluded before a look
//    from after the settle time has found no copy: until then, or until the account is given back, it is remembered that the trade is gone.

import type { PairStatus } from "../../protocol/pairs.ts";
import { wallNow } from "../../protocol/ports/clock.ts";
import type { Tick } from "../../protocol/ticks.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { WallMs } from "../../protocol/units.ts";
import { decide, neverCopiedPair, tradeOf, type Decision, type LiveTarget, type Market, type Target } from "../core/decide.ts";
import type { Action } from "../core/reconcile/input.ts";
import type { FollowerMessage, FollowerOptions } from "./followerTypes.ts";
import type { Copy, LinkCopies } from "./linkCopies.ts";
import { marketOf } from "./market.ts";
import type { OrderDesk } from "./orderDesk.ts";
import type { PairLedger } from "./pairLedger.ts";
import type { Reconciler } from "./reconciler.ts";

export interface DecisionsOptions extends Pick<FollowerOptions, "account" | "ownership" | "session" | "clock" | "logger" | "metrics" | "journal"> {
  readonly ledger: PairLedger;
  readonly reconciler: Reconciler;
  readonly desk: OrderDesk;
  readonly tellAnswer: (message: FollowerMessage) => void;
  /** Connected, planned, and not about to stop: decisions are carried out. */
  readonly isTrading: (state: LinkCopies) => boolean;
  /** A former owner may have sent the copy of this trade, and it may not have been seen yet (4). */
  readonly mayStand: (state: LinkCopies, trade: LiveTarget) => boolean;
  /** What has ended is still wanted. */
  readonly keepsEnded: (state: LinkCopies) => boolean;
}

/** The tick that is decided on, and when it was read: monotonic and wall clock. */
export interface Read {
  readonly tick: Tick;
  readonly readAtMs: number;
  readonly readAtWallMs: WallMs;
}

/** How often the market is looked at for levels that it does not allow yet. */
const MARKET_MS = 500;

export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** Decides about one trade and has it carried out; the one place where that happens outside a plan. */
  evaluate(state: LinkCopies, copy: Copy, read: Read | null): void {
    const { session, clock } = this.#options;
    const target = state.target(copy.masterTicket);
    const pair = copy.unsent ? null : copy.pair;
    const bar = this.#bar(state, copy) ?? (pair === null && copy.opening === null && target.kind !== "gone" ? "not an opening" : null); // 1
    if (bar !== null && read === null) return;
    const status = copy.pair?.status ?? null;
    const market = marketOf(session, state.link, target);
    const ageMs = state.ageMs(target, clock.monotonicMs());
    const decision = bar !== null ? null : decide({ link: state.link, target, pair, market, opening: { late: copy.opening === "late", ageMs }, plain: copy.plain, nowMs: wallNow(clock) });
    if (decision !== null) this.#carry(state, copy, decision, read, target);
    if (read !== null) this.#tell(state, copy, read, { target, status, market, ageMs, ...verdict(decision, bar) });
  }

  /** Does what a plan says. */
  carryOut(state: LinkCopies, action: Action): void {
    const { account, clock, logger, metrics, ledger, reconciler, desk } = this.#options;
    if (action.kind === "again") return reconciler.look("settle", action.atMs - clock.monotonicMs());
    if (action.kind === "loose") return desk.sendLoose(action.order);
    const copy = state.copy(action.pair.masterTicket);
    switch (action.kind) {
      case "row":
        copy.unsent = false;
        copy.settlesAtMs = null;
        return ledger.set(copy, action.pair);
      case "order":
        // A refused order's own retry is on its way.
        if (copy.flight !== null || copy.pause !== null) return;
        // The plan has looked for it: what was unknown is known not to have been executed.
        copy.unsent = copy.pair?.status === "Sending";
        copy.settlesAtMs = null;
        copy.opening = "late";
        return desk.send(state, copy, action.order, action.pair, null);
      case "missing":
        metrics.count("copies_missing");
        return logger.error({ follower: account.id, masterTicket: copy.masterTicket, followerTicket: action.pair.followerTicket }, "copy is neither open nor in the history");
      default:
        return unreachable(action);
    }
  }

  /** Of what is remembered as gone: nothing more will be found out here (4). */
  concludeGone(state: LinkCopies): void {
    if (state.targets === null) return;
    for (const copy of state.copies.values()) if (copy.pair === null && state.target(copy.masterTicket).kind === "gone") this.#neverCopied(state, copy);
  }

  #carry(state: LinkCopies, copy: Copy, decision: Decision, read: Read | null, target: Target): void {
    const { clock, ledger, desk, tellAnswer } = this.#options;
    switch (decision.kind) {
      case "nothing":
        if (target.kind === "gone" && copy.pair === null && copy.lastTarget !== null && this.#options.mayStand(state, copy.lastTarget)) return; // 4
        if (target.kind === "gone" && (copy.pair === null || copy.unsent)) this.#neverCopied(state, copy);
        return this.#forgetIfOver(state, copy);
      case "later":
        copy.later ??= clock.after(MARKET_MS, () => tellAnswer({ kind: "market", state, copy }));
        return;
      case "skip":
        // What is there to be read is read first.
        if (isMoved(decision) && read !== null) return clock.soon(() => tellAnswer({ kind: "market", state, copy }));
        copy.unsent = false;
        ledger.set(copy, decision.pair);
        return this.#forgetIfOver(state, copy);
      case "order":
        return desk.send(state, copy, decision.order, decision.pair, read === null ? null : { callbackAtMs: read.tick.callbackAtMs, readAtWallMs: read.readAtWallMs, readAtMs: read.readAtMs });
      default:
        return unreachable(decision);
    }
  }

  /** Why nothing may be decided about it now. */
  #bar(state: LinkCopies, copy: Copy): string | null {
    if (copy.flight !== null) return "an order is under way";
    if (copy.pause !== null) return "a retry is to come";
    if (!this.#options.isTrading(state)) return "no plan was carried out yet";
    return this.#unsettled(copy) ? "an order is not settled" : null;
  }

  /** The master ended a trade before its copy was sent. */
  #neverCopied(state: LinkCopies, copy: Copy): void {
    const { session, clock, ledger } = this.#options;
    const target = copy.lastTarget;
    if (target === null) return;
    copy.unsent = false;
    ledger.set(copy, neverCopiedPair({ link: state.link, market: marketOf(session, state.link, target), nowMs: wallNow(clock) }, target));
  }

  /** Invariant 2. */
  #unsettled(copy: Copy): boolean {
    if (copy.settlesAtMs === null) return false;
    // Only reconcile, which looks at the broker first, may conclude that an open was not executed.
    if (copy.pair?.status === "Sending" || copy.settlesAtMs > this.#options.clock.monotonicMs()) return true;
    copy.settlesAtMs = null;
    return false;
  }

  #forgetIfOver(state: LinkCopies, copy: Copy): void {
    if (!this.#options.keepsEnded(state)) state.forgetIfOver(copy);
  }

  /** Invariant 3: one tick, and what the decision rested on. */
  #tell(state: LinkCopies, copy: Copy, { tick }: Read, on: Grounds): void {
    const { ownership, journal } = this.#options;
    const { target, status, market, ageMs, decision, reason } = on;
    journal.note(ownership.subject, "tick", {
      link: state.link.id,
      master: tick.master,
      masterTicket: copy.masterTicket,
      masterEpoch: tick.epoch,
      seq: tick.seq,
      kind: tick.body.kind,
      decision,
      reason,
      volume: target.kind === "gone" ? 0 : tradeOf(target).volume,
      pair: status,
      followerTicket: copy.pair?.followerTicket ?? null,
      bid: market.quote?.bid ?? null,
      ask: market.quote?.ask ?? null,
      ageMs: Math.round(ageMs),
    });
  }
}

interface Grounds {
  readonly target: Target;
  /** The pair's, before. */
  readonly status: PairStatus | null;
  readonly market: Market;
  readonly ageMs: number;
  readonly decision: string;
  readonly reason: string | null;
}

function verdict(decision: Decision | null, bar: string | null): Pick<Grounds, "decision" | "reason"> {
  if (decision === null) return { decision: "waits", reason: bar };
  if (decision.kind === "order") return { decision: decision.order.kind, reason: null };
  if (decision.kind !== "skip") return { decision: decision.kind, reason: null };
  return isMoved(decision) ? { decision: "looks again", reason: decision.pair.reason } : { decision: "skip", reason: decision.pair.reason };
}

/** A busy loop may read a tick before the quote that came ahead of it. */
const isMoved = (decision: Extract<Decision, { kind: "skip" }>): boolean => decision.pair.reason === "price_moved";
