// Owns one leased master: its broker session, and the ticks and books that come of what its broker
// reports. How a change becomes a tick is the core's (masterState).
//
// 1. What is said of it, and when, is masterLog.ts's: ticks without a hole, a book after them and after
//    every sync of the session.
// 2. While the master's state is known, `alive` repeats the last seq, so a lost last tick shows.
// 3. A snapshot that is not synced, that shows nothing at all, or whose history is too short for a
//    chain in it says nothing: until a better one is in, or it has been empty for a while, no tick is made of what the broker reports; the next book contains it.

import type { Account } from "../../protocol/accounts.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import type { Timer } from "../../protocol/ports/clock.ts";
import type { TimelineDetail, TimelineEvent } from "../../protocol/timeline.ts";
import type { AccountChange, AccountSnapshot } from "../../protocol/trades.ts";
import { messageOf, unreachable } from "../../protocol/errors.ts";
import type { BrokerMs, WallMs } from "../../protocol/units.ts";
import { emptySince, isEmptinessBelieved } from "../core/emptiness.ts";
import { EMPTY_MASTER, foldChange, hasUnknownChain, stateOfSnapshot, type MasterState } from "../core/masterState.ts";
import { Mailbox } from "./mailbox.ts";
import { MasterLog, type MasterLogOptions } from "./masterLog.ts";

export interface MasterOptions extends Omit<MasterLogOptions, "brokerNowMs" | "state" | "bookDelayMs"> {
  readonly account: Account;
  readonly session: BrokerSession;
  readonly limits: MasterLimits;
  readonly onFailure: (error: unknown) => void;
  /** The broker refused the login: the session tries no more. */
  readonly onLoginRefused: (reason: string) => void;
}

export interface MasterLimits {
  readonly mailboxCapacity: number;
  readonly heartbeatMs: number;
  readonly bookDelayMs: number;
}

/** The answer to our own asking, with the whole history. */
type MasterMessage = Exclude<SessionEvent, { kind: "refused" }> | { readonly kind: "snapshot"; readonly snapshot: AccountSnapshot };

const ASK_AGAIN_MS = 1_000;

export class MasterActor {
  readonly account: Account;
  readonly #options: MasterOptions;
  readonly #log: MasterLog;
  readonly #mailbox: Mailbox<MasterMessage>;
  #state: MasterState = EMPTY_MASTER;
  /** While the state is not known (invariant 3): the changes that a snapshot on its way may not contain. */
  #unknown: AccountChange[] | null = [];
  /** Monotonic: since when every snapshot of this session has shown nothing. */
  #emptySinceMs: number | null = null;
  #connected = false;
  #askTimer: Timer | null = null;
  #heartbeat: Timer | null = null;
  #stopped = false;

  constructor(options: MasterOptions) {
    this.account = options.account;
    this.#options = options;
    const { session, limits } = options;
    this.#log = new MasterLog({ ...options, brokerNowMs: () => session.brokerNowMs(), state: () => this.#state, bookDelayMs: limits.bookDelayMs });
    this.#mailbox = new Mailbox({ capacity: options.limits.mailboxCapacity, handle: (message) => this.#handle(message), onFailure: options.onFailure });
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Nothing is known against its broker yet: others log in first. */
  get waitsForTurn(): boolean {
    return this.#options.session.waitsForTurn;
  }

  start(): void {
    this.#options.session.open((event) => this.#onSession(event));
    this.#beat();
  }

  /** The ownership goes on at a higher epoch after a fence: what was not said meanwhile is in one book, the new epoch's first word. */
  lift(): void {
    if (!this.#stopped && this.#unknown === null) this.#log.bookOfNews();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#mailbox.stop();
    this.#log.stop();
    for (const timer of [this.#heartbeat, this.#askTimer]) timer?.cancel();
    await this.#options.session.close();
  }

  #onSession(event: SessionEvent): void {
    // Nothing comes after it.
    if (event.kind === "refused") return this.#options.onLoginRefused(event.detail);
    if (this.#mailbox.tell(event) !== "full") return;
    // An event is lost to us, so no tick may follow it: the whole state is read anew, after what waits.
    this.#options.logger.error({ master: this.account.id }, "mailbox full: the master is read anew");
    this.#unknown = [];
    this.#askAfter(this.#options.limits.bookDelayMs);
  }

  #handle(message: MasterMessage): void {
    switch (message.kind) {
      case "connected":
        this.#connected = true;
        this.#tell("session_open", { synced: message.snapshot.synced, positions: message.snapshot.positions.length, pendings: message.snapshot.pendings.length });
        return this.#take(message.snapshot, hasUnknownChain(this.#state, message.snapshot));
      case "snapshot":
        return this.#take(message.snapshot, false);
      case "disconnected":
        this.#connected = false;
        this.#emptySinceMs = null;
        this.#unknown = [];
        return this.#tell("session_lost", { detail: message.detail });
      case "changed":
        return this.#onChange(message.change, message.callbackAtMs as WallMs);
      default:
        return unreachable(message);
    }
  }

  #tell(event: TimelineEvent, detail: TimelineDetail): void {
    this.#options.journal.note(this.#options.ownership.subject, event, detail);
  }

  #onChange(change: AccountChange, callbackAtMs: WallMs): void {
    if (this.#unknown !== null) {
      // One more than the bound: then the snapshot cannot be completed.
      if (this.#unknown.length <= this.#options.limits.mailboxCapacity) this.#unknown.push(change);
      return;
    }
    const step = foldChange(this.#state, change);
    this.#state = step.state;
    if (step.tick !== null) this.#log.tick(step.tick, change.brokerMs, callbackAtMs);
  }

  #take(snapshot: AccountSnapshot, isShort: boolean): void {
    const since = this.#unknown ?? [];
    const isDoubtful = !snapshot.synced || this.#isDoubtfullyEmpty(snapshot);
    if (isDoubtful || isShort || since.length > this.#options.limits.mailboxCapacity) {
      this.#unknown ??= [];
      return this.#askAfter(isDoubtful ? this.#options.limits.bookDelayMs : 0);
    }
    this.#state = since.reduce((state, change) => foldChange(state, change).state, stateOfSnapshot(snapshot, this.#state));
    this.#unknown = null;
    this.#log.bookOfNews();
  }

  /** Invariant 3. */
  #isDoubtfullyEmpty(snapshot: AccountSnapshot): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#emptySinceMs = emptySince(this.#emptySinceMs, snapshot, nowMs);
    return this.#emptySinceMs !== null && !isEmptinessBelieved(this.#emptySinceMs, nowMs);
  }

  #askAfter(delayMs: number): void {
    this.#askTimer?.cancel();
    this.#askTimer = this.#options.clock.after(delayMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const { session, logger } = this.#options;
    // The answer contains what came before the question.
    this.#unknown = [];
    try {
      const snapshot = await session.snapshot(0 as BrokerMs);
      this.#mailbox.tellSystem({ kind: "snapshot", snapshot });
    } catch (error) {
      // Without a connection the next `connected` brings a snapshot by itself.
      if (this.#connected && !this.#stopped) this.#askAfter(ASK_AGAIN_MS);
      logger.warn({ master: this.account.id, error: messageOf(error) }, "no snapshot of the master");
    }
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.after(this.#options.limits.heartbeatMs, () => {
      const { session, clock, seqs } = this.#options;
      const nowMs = session.brokerNowMs();
      if (this.#connected && this.#unknown === null && seqs.last > 0 && nowMs !== null) this.#log.tick({ kind: "alive" }, nowMs, clock.wallMs() as WallMs);
      this.#beat();
    });
  }
}
