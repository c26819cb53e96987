// Owns the actors of one node: one for each leased account, made when the account is acquired and
// ended when it is lost, and what changes of the configuration mean for them.
//
// 1. An actor exists only for an account this node holds, at the epoch it holds it. It is made when the one
//    before it has ended, also of an account that was lost and came back: no two sessions of one account.
// 2. An actor that fails is made anew from the broker and the database, a bounded number of times
//    in a row; then its account is given up, which is for somebody else to take. A database that
//    does not answer is no failure of the actor.
// 3. A change of a link reaches the running actor; only another broker address or credentials make a
//    session anew, and only that account's.
// 4. An account that is switched off or parked is let go in order. Of one that was acquired and is
//    configured so, or not at all, as far as is known here, the directory is asked first.
// 5. A refused login is not repeated: the account is parked, however long that takes, and let go.

import type { Account } from "../../protocol/accounts.ts";
import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { Directory, DirectoryState, HeldAccount, PairRow, PairStore } from "../../protocol/ports/storage.ts";
import type { Tick } from "../../protocol/ticks.ts";
import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { ClockReading, MasterFold } from "../core/masterFold.ts";
import { Configured } from "./configured.ts";
import { Counter } from "./counter.ts";
import type { EventSink } from "./eventSink.ts";
import { FollowerActor } from "./followerActor.ts";
import type { FollowerLimits } from "./followerTypes.ts";
import { MasterActor, type MasterLimits } from "./masterActor.ts";
import type { TickReader } from "./tickReader.ts";
import { TickRoutes } from "./tickRoutes.ts";

export interface SupervisorOptions {
  readonly openSession: (account: Account, permit: Permit) => BrokerSession;
  readonly gate: Gate;
  readonly events: EventSink;
  readonly pairs: PairStore;
  readonly park: Directory["park"];
  /** For ticks and books. */
  readonly producer: Producer;
  readonly topics: { readonly ticks: string; readonly books: string };
  readonly partitions: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly followerLimits: FollowerLimits;
  readonly masterLimits: MasterLimits;
  /** An actor of this account keeps failing: the account should be released. */
  readonly onGivenUp: (account: AccountId) => void;
  /** Nobody is to serve this account for now: it should be lost here, and then released. */
  readonly onLetGo: (account: AccountId) => void;
  /** What is configured is not known well enough: it should be read, and told by `configure`. */
  readonly onUnknown: () => void;
}

const RESTARTS = 5;
const RESTART_PAUSE_MS = 1_000;
/** A failure after this long is the first of a new row. */
const HEALTHY_MS = 60_000;

interface Running {
  readonly id: AccountId;
  readonly permit: Permit;
  /** Of ticks or events: it counts on when the actor is made anew. */
  readonly numbers: Counter;
  /** As its actor is made; null while it is not known. */
  account: Account | null;
  actor: FollowerActor | MasterActor | null;
  /** Of the making that counts: what an earlier one comes to is thrown away. */
  round: number;
  letGo: boolean;
  failures: number;
  failedAtMs: number;
}

export interface AccountState {
  readonly account: AccountId;
  /** Null: not configured any more. */
  readonly role: Account["role"] | null;
  readonly epoch: Epoch;
  /** `unsettled`: connected, with orders or plans under way. */
  readonly actor: "starting" | "connecting" | "unsettled" | "settled";
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running = new Map<AccountId, Running>();
  /** Settles when all actors that an account had have ended, also when it was lost meanwhile (1). */
  readonly #ended = new Map<AccountId, Promise<void>>();
  readonly #routes: TickRoutes;
  #configured = new Configured({ accounts: [], links: [], parked: new Map() });

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#routes = new TickRoutes(options.clock);
  }

  /** Where new followers read the masters' state of the moment. */
  attach(reader: TickReader): void {
    this.#routes.attach(reader);
  }

  get followers(): readonly FollowerActor[] {
    return [...this.#running.values()].flatMap(({ actor }) => (actor instanceof FollowerActor ? [actor] : []));
  }

  /** What became of each account that this node holds. */
  states(): readonly AccountState[] {
    return [...this.#running].map(([account, { permit, actor }]) => ({
      account,
      role: this.configured(account)?.role ?? null,
      epoch: permit.epoch,
      actor: actor === null ? "starting" : !actor.connected ? "connecting" : actor instanceof FollowerActor && !actor.settled ? "unsettled" : "settled",
    }));
  }

  /** What is configured now. Said before the first account is acquired, and whenever it may have changed. */
  configure(state: Pick<DirectoryState, "accounts" | "links" | "parked">): void {
    const before = this.#configured;
    this.#configured = new Configured(state);
    for (const running of [...this.#running.values()]) this.#reconfigure(running, before);
  }

  /** As far as is known; also one that this node does not hold. */
  configured(id: AccountId): Account | null {
    return this.#configured.account(id);
  }

  async acquire(held: HeldAccount, slot: number): Promise<void> {
    if (this.#running.has(held.account)) return;
    const permit: Permit = { slot, epoch: held.epoch };
    const running: Running = { id: held.account, permit, numbers: new Counter(), account: null, actor: null, round: 0, letGo: false, failures: 0, failedAtMs: 0 };
    this.#running.set(held.account, running);
    const account = this.#configured.served(held.account);
    if (account === null) return this.#options.onUnknown(); // (4)
    await this.#makeAnew(running, account);
  }

  async lose(id: AccountId, drain = true): Promise<void> {
    const running = this.#running.get(id);
    this.#running.delete(id);
    if (running !== undefined) await this.#end(running, drain);
  }

  /** Without `drain` nobody waits for the orders under way: as in a process that dies. */
  async stop(drain = true): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.lose(id, drain)));
  }

  /** The lease is proven again after a fence: every follower reconciles, every master says how it stands. */
  lift(): void {
    for (const { actor } of this.#running.values()) {
      if (actor instanceof FollowerActor) actor.tellSystem({ kind: "lift" });
      else actor?.lift();
    }
  }

  onTick(tick: Tick, readAtMs: number): void {
    this.#routes.onTick(tick, readAtMs);
  }

  onAlive(master: AccountId, clock: ClockReading): void {
    this.#routes.onAlive(master, clock);
  }

  onBook(master: AccountId, fold: MasterFold): void {
    this.#routes.onBook(master, fold);
  }

  onUnsynced(master: AccountId): void {
    this.#routes.onUnsynced(master);
  }

  #reconfigure(running: Running, before: Configured): void {
    const account = this.#configured.served(running.id);
    if (account === null) return this.#letGo(running); // (4)
    const { account: made, actor } = running;
    if (made === null || made.broker !== account.broker || made.credentialsRef !== account.credentialsRef) return void this.#makeAnew(running, account); // (3)
    // One that is being made takes the links of the moment.
    if (!(actor instanceof FollowerActor)) return;
    const links = this.#configured.linksOf(running.id);
    actor.tellSystem({ kind: "links", links });
    this.#routes.add(actor, links.filter(({ id }) => !before.hasLink(id)).map(({ master }) => master));
  }

  #letGo(running: Running): void {
    if (running.letGo) return;
    running.letGo = true;
    this.#options.logger.info({ account: running.id }, "account let go: it is switched off or parked");
    this.#options.onLetGo(running.id);
  }

  async #makeAnew(running: Running, account: Account): Promise<void> {
    running.account = account;
    const round = ++running.round;
    await this.#end(running);
    await this.#make(running, account, round);
  }

  #counts(running: Running, round: number): boolean {
    return this.#running.get(running.id) === running && running.round === round;
  }

  async #make(running: Running, account: Account, round: number): Promise<void> {
    if (!this.#counts(running, round)) return;
    try {
      const rows = account.role === "follower" ? await this.#options.pairs.rowsOf(account.id) : [];
      if (!this.#counts(running, round)) return;
      const actor = account.role === "master" ? this.#master(account, running, round) : this.#follower(account, running, round, rows);
      running.actor = actor;
      if (actor instanceof FollowerActor) this.#routes.add(actor, this.#configured.linksOf(account.id).map(({ master }) => master));
      actor.start();
    } catch (error) {
      if (isLockstepError(error) && error.retry === "later") this.#later(running, account, round, error);
      else this.#failed(running, account, round, error);
    }
  }

  #later(running: Running, account: Account, round: number, error: unknown): void {
    const { logger, clock } = this.#options;
    logger.warn({ account: account.id, error: messageOf(error) }, "actor not made yet");
    clock.after(RESTART_PAUSE_MS, () => void this.#make(running, account, round));
  }

  #master(account: Account, running: Running, round: number): MasterActor {
    const { openSession, masterLimits } = this.#options;
    return new MasterActor({
      ...this.#options,
      account,
      epoch: running.permit.epoch,
      isOpen: () => this.#options.gate.check(running.permit) === "open",
      seqs: running.numbers,
      session: openSession(account, running.permit),
      limits: masterLimits,
      onFailure: (error) => this.#failed(running, account, round, error),
      onLoginRefused: (reason) => this.#refused(running, account, round, reason),
    });
  }

  #follower(account: Account, running: Running, round: number, rows: readonly PairRow[]): FollowerActor {
    const { openSession, followerLimits } = this.#options;
    return new FollowerActor({
      ...this.#options,
      account,
      permit: running.permit,
      numbers: running.numbers,
      links: this.#configured.linksOf(account.id),
      rows,
      session: openSession(account, running.permit),
      limits: followerLimits,
      onFailure: (error) => this.#failed(running, account, round, error),
      onLoginRefused: (reason) => this.#refused(running, account, round, reason),
    });
  }

  #failed(running: Running, account: Account, round: number, error: unknown): void {
    const { logger, metrics, clock, onGivenUp } = this.#options;
    if (!this.#counts(running, round)) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - running.failedAtMs > HEALTHY_MS) running.failures = 0;
    running.failedAtMs = nowMs;
    running.failures++;
    metrics.count("actor_restarts");
    logger.error({ account: account.id, failures: running.failures, error: messageOf(error), stack: error instanceof Error ? error.stack : null }, "actor failed");
    const next = ++running.round;
    const ended = this.#end(running);
    if (running.failures > RESTARTS) return onGivenUp(account.id);
    clock.after(RESTART_PAUSE_MS * running.failures, () => void ended.then(() => this.#make(running, account, next)));
  }

  /** Invariant 5. */
  #refused(running: Running, account: Account, round: number, reason: string): void {
    if (!this.#counts(running, round)) return;
    this.#options.logger.error({ account: account.id, reason }, "login refused: the account is parked until it is applied again");
    this.#park(running, account, round, reason);
  }

  #park(running: Running, account: Account, round: number, reason: string): void {
    const { park, logger, clock, onUnknown } = this.#options;
    if (!this.#counts(running, round)) return;
    park(account, running.permit.epoch, reason).then(
      (parked) => {
        if (!this.#counts(running, round)) return;
        // Somebody has changed how it is reached meanwhile: that is tried instead.
        if (!parked) running.account = null;
        if (!parked) return onUnknown();
        this.#configured.park(account.id);
        this.#letGo(running);
      },
      (error: unknown) => {
        logger.warn({ account: account.id, error: messageOf(error) }, "account not parked yet");
        clock.after(RESTART_PAUSE_MS, () => this.#park(running, account, round, reason));
      },
    );
  }

  #end(running: Running, drain = true): Promise<void> {
    const { id, actor } = running;
    const before = this.#ended.get(id) ?? Promise.resolve();
    running.actor = null;
    if (actor === null) return before;
    if (actor instanceof FollowerActor) this.#routes.remove(actor);
    const ended = Promise.all([before, this.#stopped(actor, drain)]).then(() => undefined);
    this.#ended.set(id, ended);
    return ended;
  }

  async #stopped(actor: FollowerActor | MasterActor, drain: boolean): Promise<void> {
    try {
      await (actor instanceof FollowerActor ? actor.stop(drain) : actor.stop());
    } catch (error) {
      this.#options.logger.error({ account: actor.account.id, error: messageOf(error) }, "actor did not stop cleanly");
    }
  }
}
