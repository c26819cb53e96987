// Owns one leased follower: its mailbox and its broker session, and the order in which decisions
// are carried out. What to do is decided by the core (decide, plan, settle, retry).
//
// 1. One message at a time; nothing here awaits. Answers of calls come back as messages.
// 2. Between a tick and its order call stand neither the log nor the database: the order carries
//    its own tag, its row is published afterwards.
// 3. New ticks are traded only after a plan was carried out on a synced book and snapshot; one that a former
//    owner may have obeyed is the plan's.

import type { Account } from "../../protocol/accounts.ts";
import type { AccountId, Epoch } from "../../protocol/ids.ts";
import { isLive } from "../../protocol/pairs.ts";
import type { SessionEvent } from "../../protocol/ports/broker.ts";
import { wallNow } from "../../protocol/ports/clock.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import type { TimelineDetail, TimelineEvent } from "../../protocol/timeline.ts";
import type { AccountChange } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import { opensTrade, type LiveTarget, type Target } from "../core/decide.ts";
import { samePair } from "../core/pairRow.ts";
import { isOlderThanUs } from "../core/reconcile/rules.ts";
import { afterChange, concerns, ownEnding, showsEffect, standingOrder } from "../core/settle.ts";
import { Decisions } from "./decisions.ts";
import type { FollowerMessage, FollowerOptions } from "./followerTypes.ts";
import type { LinkCopies } from "./linkCopies.ts";
import { LinkStates } from "./linkStates.ts";
import { Mailbox, type TellResult } from "./mailbox.ts";
import { ManualClose } from "./manualClose.ts";
import { marketOf } from "./market.ts";
import { LOOK_AFTER_MS, OrderDesk } from "./orderDesk.ts";
import { PairLedger } from "./pairLedger.ts";
import { Reconciler, type SnapshotMessage } from "./reconciler.ts";
import { Takeover } from "./takeover.ts";

export class FollowerActor {
  readonly account: Account;
  /** What persons ask of it. */
  readonly manual: ManualClose;
  readonly #options: FollowerOptions;
  readonly #mailbox: Mailbox<FollowerMessage>;
  readonly #links: LinkStates;
  readonly #ledger: PairLedger;
  readonly #reconciler: Reconciler;
  readonly #desk: OrderDesk;
  readonly #decisions: Decisions;
  readonly #takeover: Takeover;
  #connected = false;
  #stopping = false;

  constructor(options: FollowerOptions) {
    const { account, ownership, clock, limits, session } = options;
    this.#options = options;
    this.account = account;
    this.#mailbox = new Mailbox({ capacity: limits.mailboxCapacity, handle: (message) => this.#handle(message), onFailure: options.onFailure });
    const tellAnswer = (message: FollowerMessage): void => this.#mailbox.tellAnswer(message);
    this.#ledger = new PairLedger(options, () => this.#reconciler.look("event not published", LOOK_AFTER_MS));
    this.#reconciler = new Reconciler({ ...options, barrier: () => this.#takeover.barrier, ask: tellAnswer, changes: () => this.#ledger.changes });
    const parts = { ...options, ledger: this.#ledger, reconciler: this.#reconciler, tellAnswer };
    this.#desk = new OrderDesk({ ...parts, evaluate: (state, copy) => this.#decisions.evaluate(state, copy, null) });
    this.#decisions = new Decisions({
      ...parts,
      desk: this.#desk,
      isTrading: (state) => this.#isTrading(state),
      mayStand: (state, trade) => this.#mayStand(state, trade),
      // A snapshot that is awaited may show it standing, a row that is awaited may not know its end, and a first look would tell of it again.
      keepsEnded: (state) => this.#reconciler.asking || !this.#takeover.passed || this.#isUnsettled(state.shownAtMs),
    });
    this.#links = new LinkStates(options.links);
    this.manual = new ManualClose({ ...options, links: this.#links, desk: this.#desk, mailbox: this.#mailbox, isConnected: () => this.#connected });
    this.#takeover = new Takeover({
      ...options,
      ownership,
      ledger: this.#ledger,
      clock,
      onMarked: () => session.open((event) => this.#onSession(event)),
      onRows: (rows) => tellAnswer({ kind: "rows", rows }),
      look: (cause) => this.#reconciler.look(cause, 0),
    });
    for (const row of options.rows) this.#links.remember(row, options.settledAtMs);
  }

  get epoch(): Epoch {
    return this.#options.ownership.epoch;
  }

  /** Publishes the marker of this ownership, and connects once the log has it. */
  start(): void {
    this.#takeover.start();
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

  /**
   * Ends the session, after the orders under way unless `drain` is false. Queued work is dropped. Resolves with the moment, on the
   * monotonic clock, until which an order that it sent may still be executed; it is past when every order was answered.
   */
  async stop(drain = true): Promise<number> {
    this.#stopping = true;
    this.#takeover.stop();
    this.#reconciler.stop();
    this.#links.cancelTimers();
    if (drain) await this.#desk.drain();
    // Nobody after us hears of them; should a copy stand after all, its next owner's word takes the place of ours.
    if (drain && this.#takeover.passed) for (const state of this.#links.all) this.#decisions.concludeGone(state);
    this.#mailbox.stop();
    this.manual.stop();
    const { unsettledUntilMs } = this.#desk;
    await this.#options.session.close();
    return unsettledUntilMs;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Nothing is known against its broker yet: others log in first. */
  get waitsForTurn(): boolean {
    return this.#options.session.waitsForTurn;
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
        return this.#decisions.evaluate(message.state, message.copy, null);
      case "market":
        message.copy.later = null;
        return this.#decisions.evaluate(message.state, message.copy, null);
      case "lift":
        this.#takeover.confirmed();
        return this.#reconciler.look("lease_restored", 0);
      case "rows":
        return this.#onRows(message.rows);
      case "links":
        if (this.#links.change(message.links)) this.#reconciler.look("links changed", 0);
        return;
      default:
        return unreachable(message);
    }
  }

  #tell(event: TimelineEvent, detail: TimelineDetail): void {
    this.#options.journal.note(this.#options.ownership.subject, event, detail);
  }

  #forMaster(master: AccountId, fn: (state: LinkCopies) => void): void {
    for (const state of this.#links.of(master)) fn(state);
  }

  #onTick({ tick, readAtMs, readAtWallMs }: Extract<FollowerMessage, { kind: "tick" }>): void {
    const { clock } = this.#options;
    this.#forMaster(tick.master, (state) => {
      state.readMasterClock(tick.brokerNowMs, readAtMs);
      if (state.targets === null) return;
      const masterTicket = state.fold(tick);
      if (masterTicket === null) return;
      const copy = state.copy(masterTicket);
      // Invariant 3: before the plan, the plan decides.
      if (copy.pair === null && opensTrade(tick.body) && this.#isTrading(state)) {
        if (this.#isUnsettled(clock.monotonicMs()) && this.#isOlderThanUs(state, state.target(masterTicket))) this.#reconciler.look("tick from before", 0);
        else copy.opening = "fresh";
      }
      copy.pause?.cancel();
      copy.pause = null;
      this.#decisions.evaluate(state, copy, { tick, readAtMs, readAtWallMs });
    });
  }

  /** A trade that is gone, whose copy a former owner may have sent: neither the last snapshot nor its rows can prove yet that there is none. */
  #mayStand(state: LinkCopies, trade: LiveTarget): boolean {
    const isUnsettled = this.#isUnsettled(state.shownAtMs);
    if ((!isUnsettled && this.#takeover.barrier === "open") || !this.#isOlderThanUs(state, trade)) return false;
    // Whoever passes the barrier looks by itself.
    if (isUnsettled) this.#reconciler.look("settle", Math.max(0, this.#options.settledAtMs - this.#options.clock.monotonicMs()));
    return true;
  }

  /** Whether at this monotonic time an order of a former owner could still be executed. */
  #isUnsettled(atMs: number): boolean {
    return atMs < this.#options.settledAtMs;
  }

  /** Whether the master may have opened it before us, as far as clocks can tell: a former owner may have sent its copy. */
  #isOlderThanUs(state: LinkCopies, target: Target): boolean {
    const { clock, sinceMs } = this.#options;
    const monotonicMs = clock.monotonicMs();
    return state.masterNowMs(monotonicMs) === null || isOlderThanUs(state.ageMs(target, monotonicMs), { monotonicMs, sinceMs });
  }

  /** The barrier has passed: rows tell of trades that we knew nothing of. */
  #onRows(rows: readonly PairRow[]): void {
    const news = rows.filter((row) => !this.#links.knows(row));
    for (const row of news) this.#links.remember(row, this.#options.settledAtMs);
    this.#takeover.pass(rows.length, news.length);
  }

  #onBook({ master, targets, version, clock, heardAtMs }: Extract<FollowerMessage, { kind: "book" }>): void {
    this.#forMaster(master, (state) => {
      if (clock !== null) state.readMasterClock(clock.brokerMs, clock.atMs);
      if (heardAtMs !== null) state.hear(heardAtMs);
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
        this.#tell("session_open", { synced: event.snapshot.synced, positions: event.snapshot.positions.length, pendings: event.snapshot.pendings.length });
        this.#reconciler.forgetSession();
        return this.#reconciler.look("session_connected", 0);
      case "disconnected":
        this.#connected = false;
        for (const state of this.#links.all) state.planned = false;
        return this.#tell("session_lost", { detail: event.detail });
      case "refused":
        return this.#options.onLoginRefused(event.detail);
      case "changed":
        return this.#onChange(event.change);
      default:
        return unreachable(event);
    }
  }

  /** What the follower's broker reports: of our own doing, or of its own, or of somebody's hand. What stands against what we know is looked at. */
  #onChange(change: AccountChange): void {
    let isEnded = false;
    for (const state of this.#links.all) {
      const copy = state.candidate(change);
      if (copy === null || copy.pair === null || !concerns(copy.pair, change, state.link.magic)) continue;
      isEnded = !isLive(copy.pair.status);
      if (isEnded) break;
      const ours = ownEnding(copy.flight, state.targets === null ? null : state.target(copy.masterTicket));
      const pair = afterChange(copy.pair, change, ours, wallNow(this.#options.clock));
      if (samePair(pair, copy.pair)) return;
      // Reports and answers come on ways of their own: one that was overtaken could undo what the answer said.
      if (change.brokerMs < copy.answeredAtMs && isLive(pair.status)) return this.#reconciler.look("older report", LOOK_AFTER_MS);
      if (showsEffect(copy.pair, pair)) copy.settlesAtMs = null;
      copy.unsent = false;
      this.#ledger.set(copy, pair);
      return this.#decisions.evaluate(state, copy, null);
    }
    // Executed after its trade was decided, or by a former owner, or more of it was filled: the plan adopts or ends it.
    const order = standingOrder(change);
    if (order !== null && (isEnded || this.#links.all.some((state) => state.carriesTag(order)))) this.#reconciler.look("order without a live pair", LOOK_AFTER_MS);
  }

  #onSnapshot(message: SnapshotMessage): void {
    if (!this.#connected) return;
    for (const state of this.#links.all) {
      if (state.targets === null) continue;
      const actions = this.#reconciler.plan(state, message, (target) => marketOf(this.#options.session, state.link, target));
      if (actions === null) continue;
      state.planned = true;
      state.shownAtMs = message.askedAtMs;
      for (const action of actions) this.#decisions.carryOut(state, action);
      this.#ledger.publishAgain(state.copies.values());
      // What came in since the snapshot was asked for.
      for (const copy of [...state.copies.values()]) this.#decisions.evaluate(state, copy, null);
    }
  }

  /** Connected, planned, and not about to stop: decisions are carried out. */
  #isTrading(state: LinkCopies): boolean {
    return this.#connected && state.planned && !this.#stopping;
  }
}
