// Owns one leased follower: its mailbox and its broker session, and the order in which decisions
// are carried out. What to do is decided by the core (decide, plan, settle, retry).
//
// 1. One message at a time; nothing here awaits. Answers of calls come back as messages.
// 2. Between a tick and its order call stand neither the log nor the database: the order carries
//    its own tag, its row is published afterwards.
// 3. New ticks are traded only after a plan was carried out on a synced book and snapshot.
// 4. A trade without a pair is opened by its own opening tick or by a plan, and by nothing else.

import type { Account } from "../../protocol/accounts.ts";
import type { AccountId, Epoch } from "../../protocol/ids.ts";
import { isLive } from "../../protocol/pairs.ts";
import type { SessionEvent } from "../../protocol/ports/broker.ts";
import { wallNow } from "../../protocol/ports/clock.ts";
import type { AccountChange } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import { decide, neverCopiedPair, opensTrade } from "../core/decide.ts";
import { samePair } from "../core/pairRow.ts";
import type { Action } from "../core/reconcile/input.ts";
import { afterChange, concerns, ownEnding, showsEffect } from "../core/settle.ts";
import type { FollowerMessage, FollowerOptions, TickTimes } from "./followerTypes.ts";
import type { Copy, LinkCopies } from "./linkCopies.ts";
import { LinkStates } from "./linkStates.ts";
import { Mailbox, type TellResult } from "./mailbox.ts";
import { ManualClose } from "./manualClose.ts";
import { marketOf } from "./market.ts";
import { LOOK_AFTER_MS, OrderDesk } from "./orderDesk.ts";
import { PairLedger } from "./pairLedger.ts";
import { Reconciler, type SnapshotMessage } from "./reconciler.ts";

/** How often the market is looked at for levels that it does not allow yet. */
const MARKET_MS = 500;

export class FollowerActor {
  readonly account: Account;
  readonly epoch: Epoch;
  /** What persons ask of it. */
  readonly manual: ManualClose;
  readonly #options: FollowerOptions;
  readonly #mailbox: Mailbox<FollowerMessage>;
  readonly #links: LinkStates;
  readonly #ledger: PairLedger;
  readonly #reconciler: Reconciler;
  readonly #desk: OrderDesk;
  #connected = false;
  #stopping = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.account = options.account;
    this.epoch = options.permit.epoch;
    this.#mailbox = new Mailbox({ capacity: options.limits.mailboxCapacity, handle: (message) => this.#handle(message), onFailure: options.onFailure });
    this.#ledger = new PairLedger(this.account.id, this.epoch, options.events, options.numbers, () => this.#reconciler.look("event not published", LOOK_AFTER_MS));
    this.#reconciler = new Reconciler({ ...options, ask: (message) => this.#mailbox.tellAnswer(message), changes: () => this.#ledger.changes });
    this.#desk = new OrderDesk({
      ...options,
      ledger: this.#ledger,
      reconciler: this.#reconciler,
      tellAnswer: (message) => this.#mailbox.tellAnswer(message),
      evaluate: (state, copy) => this.#evaluate(state, copy, null),
    });
    this.#links = new LinkStates(options.links);
    this.manual = new ManualClose({ ...options, links: this.#links, desk: this.#desk, mailbox: this.#mailbox, isConnected: () => this.#connected });
    for (const row of options.rows) this.#links.remember(row, options.clock.monotonicMs() + options.limits.settleMs);
  }

  /** Publishes the marker of this ownership, and connects once the log has it. */
  start(): void {
    const { account, session, logger } = this.#options;
    this.#ledger.adopt((error) => {
      if (error !== null) logger.warn({ follower: account.id, error: error.message }, "marker not acknowledged by the log");
      if (!this.#stopping) session.open((event) => this.#onSession(event));
    });
    this.#reconciler.everyMinute();
  }

  tell(message: FollowerMessage): TellResult {
    const result = this.#mailbox.tell(message);
    if (result === "full") this.#options.metrics.count("mailbox_full");
    return result;
  }

  tellSystem(message: FollowerMessage): void {
    this.#mailbox.tellSystem(message);
  }

  /** Ends the session, after the orders under way unless `drain` is false. Queued work is dropped. */
  async stop(drain = true): Promise<void> {
    this.#stopping = true;
    this.#reconciler.stop();
    this.#links.cancelTimers();
    if (drain) await this.#desk.drain();
    this.#mailbox.stop();
    this.manual.stop();
    await this.#options.session.close();
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Nothing is under way, waiting, paused, unsettled or to be looked at again, and every link has carried out a plan. */
  get settled(): boolean {
    return !this.#reconciler.due && this.#desk.idle && this.#mailbox.waiting === 0 && this.#links.all.every((state) => state.planned && state.settled);
  }

  #handle(message: FollowerMessage): void {
    switch (message.kind) {
      case "tick":
        return this.#onTick(message);
      case "answered":
        this.#desk.onAnswered(message);
        return this.manual.onAnswered(message);
      case "loose_answered":
        this.#desk.onLooseAnswered(message);
        return this.manual.onAnswered(message);
      case "close_by_hand":
        return this.manual.onAsked(message);
      case "alive":
        return this.#forMaster(message.master, (state) => state.readMasterClock(message.clock.brokerMs, message.clock.atMs));
      case "session":
        return this.#onSessionEvent(message.event);
      case "book":
        return this.#onBook(message);
      case "master_unsynced":
        return this.#forMaster(message.master, (state) => state.forgetMaster());
      case "snapshot":
        return this.#onSnapshot(message);
      case "retry":
        message.copy.pause = null;
        return this.#evaluate(message.state, message.copy, null);
      case "market":
        message.copy.later = null;
        return this.#evaluate(message.state, message.copy, null);
      case "lift":
        return this.#reconciler.look("lease_restored", 0);
      case "links":
        if (this.#links.change(message.links)) this.#reconciler.look("links changed", 0);
        return;
      default:
        return unreachable(message);
    }
  }

  #forMaster(master: AccountId, fn: (state: LinkCopies) => void): void {
    for (const state of this.#links.of(master)) fn(state);
  }

  #onTick({ tick, readAtMs, readAtWallMs }: Extract<FollowerMessage, { kind: "tick" }>): void {
    this.#forMaster(tick.master, (state) => {
      state.readMasterClock(tick.brokerNowMs, readAtMs);
      if (state.targets === null) return;
      const masterTicket = state.fold(tick);
      if (masterTicket === null) return;
      const copy = state.copy(masterTicket);
      // Invariant 3: before the plan, the plan decides.
      if (copy.pair === null && opensTrade(tick.body) && this.#isTrading(state)) copy.opening = "fresh";
      copy.pause?.cancel();
      copy.pause = null;
      this.#evaluate(state, copy, { callbackAtMs: tick.callbackAtMs, readAtWallMs, readAtMs });
    });
  }

  #onBook({ master, targets, version, clock }: Extract<FollowerMessage, { kind: "book" }>): void {
    this.#forMaster(master, (state) => {
      if (clock !== null) state.readMasterClock(clock.brokerMs, clock.atMs);
      state.replaceTargets(targets, version);
    });
    if (this.#connected) this.#reconciler.look("book", 0);
  }

  #onSession(event: SessionEvent): void {
    // Both in one lane, so that the last of them is true.
    if (event.kind !== "changed") this.#mailbox.tellSystem({ kind: "session", event });
    else if (this.#mailbox.tell({ kind: "session", event }) === "full") {
      // A change that found no room is seen in the next snapshot.
      this.#options.metrics.count("mailbox_full");
      this.#reconciler.look("mailbox full", LOOK_AFTER_MS);
    }
  }

  #onSessionEvent(event: SessionEvent): void {
    switch (event.kind) {
      case "connected":
        this.#connected = true;
        this.#reconciler.forgetSession();
        return this.#reconciler.look("session_connected", 0);
      case "disconnected":
        this.#connected = false;
        for (const state of this.#links.all) state.planned = false;
        return this.#options.logger.warn({ follower: this.account.id, detail: event.detail }, "broker session lost");
      case "refused":
        return this.#options.onLoginRefused(event.detail);
      case "changed":
        return this.#onChange(event.change);
      default:
        return unreachable(event);
    }
  }

  /** What the follower's broker reports: of our own doing, or of its own, or of somebody's hand. */
  #onChange(change: AccountChange): void {
    for (const state of this.#links.all) {
      const copy = state.candidate(change);
      if (copy === null || copy.pair === null || !concerns(copy.pair, change, state.link.magic)) continue;
      const ours = ownEnding(copy.flight, state.targets === null ? null : state.target(copy.masterTicket));
      const pair = afterChange(copy.pair, change, ours, wallNow(this.#options.clock));
      if (samePair(pair, copy.pair)) return;
      // Reports and answers come on ways of their own: one that was overtaken could undo what the answer said.
      if (change.brokerMs < copy.answeredAtMs && isLive(pair.status)) return this.#reconciler.look("older report", LOOK_AFTER_MS);
      if (showsEffect(copy.pair, pair)) copy.settlesAtMs = null;
      copy.unsent = false;
      this.#ledger.set(copy, pair);
      return this.#evaluate(state, copy, null);
    }
    if (change.kind === "position_opened" && this.#links.all.some((state) => state.carriesTag(change.position))) this.#reconciler.look("tagged order without a pair", LOOK_AFTER_MS);
  }

  /** Decides about one trade and has it carried out; the one place where that happens outside a plan. */
  #evaluate(state: LinkCopies, copy: Copy, times: TickTimes | null): void {
    if (copy.flight !== null || copy.pause !== null || !this.#isTrading(state) || this.#unsettled(copy)) return;
    const target = state.target(copy.masterTicket);
    const pair = copy.unsent ? null : copy.pair;
    // Invariant 4.
    if (pair === null && copy.opening === null && target.kind !== "gone") return;
    const decision = decide({
      link: state.link,
      target,
      pair,
      market: marketOf(this.#options.session, state.link, target),
      opening: { late: copy.opening === "late", ageMs: state.ageMs(target, this.#options.clock.monotonicMs()) },
      plain: copy.plain,
      nowMs: wallNow(this.#options.clock),
    });
    switch (decision.kind) {
      case "nothing":
        if (target.kind === "gone" && pair === null) this.#neverCopied(state, copy);
        return this.#forgetIfOver(state, copy);
      case "later":
        copy.later ??= this.#options.clock.after(MARKET_MS, () => this.#mailbox.tellAnswer({ kind: "market", state, copy }));
        return;
      case "skip":
        // A busy loop may read the tick before the quote that came ahead of it: what is there to be read is read first.
        if (decision.pair.reason === "price_moved" && times !== null) return this.#options.clock.soon(() => this.#mailbox.tellAnswer({ kind: "market", state, copy }));
        copy.unsent = false;
        this.#ledger.set(copy, decision.pair);
        return this.#forgetIfOver(state, copy);
      case "order":
        return this.#desk.send(state, copy, decision.order, decision.pair, times);
      default:
        return unreachable(decision);
    }
  }

  #onSnapshot(message: SnapshotMessage): void {
    if (!this.#connected) return;
    for (const state of this.#links.all) {
      if (state.targets === null) continue;
      const actions = this.#reconciler.plan(state, message, (target) => marketOf(this.#options.session, state.link, target));
      if (actions === null) continue;
      state.planned = true;
      for (const action of actions) this.#carryOut(state, action);
      this.#ledger.publishAgain(state.copies.values());
      // What came in since the snapshot was asked for.
      for (const copy of [...state.copies.values()]) this.#evaluate(state, copy, null);
    }
  }

  #carryOut(state: LinkCopies, action: Action): void {
    if (action.kind === "again") return this.#reconciler.look("settle", action.atMs - this.#options.clock.monotonicMs());
    if (action.kind === "loose") return this.#desk.sendLoose(action.order);
    const copy = state.copy(action.pair.masterTicket);
    switch (action.kind) {
      case "row":
        copy.unsent = false;
        copy.settlesAtMs = null;
        return this.#ledger.set(copy, action.pair);
      case "order":
        // A refused order's own retry is on its way.
        if (copy.flight !== null || copy.pause !== null) return;
        // The plan has looked for it: what was unknown is known not to have been executed.
        copy.unsent = copy.pair?.status === "Sending";
        copy.settlesAtMs = null;
        copy.opening = "late";
        return this.#desk.send(state, copy, action.order, action.pair, null);
      case "missing":
        this.#options.metrics.count("copies_missing");
        return this.#options.logger.error({ follower: this.account.id, masterTicket: copy.masterTicket, followerTicket: action.pair.followerTicket }, "copy is neither open nor in the history");
      default:
        return unreachable(action);
    }
  }

  /** The master ended a trade before its copy was sent. */
  #neverCopied(state: LinkCopies, copy: Copy): void {
    const target = copy.lastTarget;
    if (target === null || (copy.pair !== null && !copy.unsent)) return;
    copy.unsent = false;
    this.#ledger.set(copy, neverCopiedPair({ link: state.link, market: marketOf(this.#options.session, state.link, target), nowMs: wallNow(this.#options.clock) }, target));
  }

  /** An order whose outcome is unknown bars every other of its trade until reconcile or time has settled it. */
  #unsettled(copy: Copy): boolean {
    if (copy.settlesAtMs === null) return false;
    // Only reconcile, which looks at the broker first, may conclude that an open was not executed.
    if (copy.pair?.status === "Sending" || copy.settlesAtMs > this.#options.clock.monotonicMs()) return true;
    copy.settlesAtMs = null;
    return false;
  }

  /** Connected, planned, and not about to stop: decisions are carried out. */
  #isTrading(state: LinkCopies): boolean {
    return this.#connected && state.planned && !this.#stopping;
  }

  /** What has ended is still wanted while a snapshot is awaited that may show it standing. */
  #forgetIfOver(state: LinkCopies, copy: Copy): void {
    if (!this.#reconciler.asking) state.forgetIfOver(copy);
  }
}
