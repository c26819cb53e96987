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
// 5. An ownership that is confirmed goes on at its new epoch in the same actor; what was never lost needs no settle time.
// 6. An account that has no session within a bound is given up too.
// 7. A refused login is not repeated: the account is parked, however long that takes, and let go.

import type { Account } from "../../protocol/accounts.ts";
import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { Directory, DirectoryState, HeldAccount, OwnedAccount, PairStore } from "../../protocol/ports/storage.ts";
import type { Tick } from "../../protocol/ticks.ts";
import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { ClockReading, MasterFold } from "../core/masterFold.ts";
import { Configured } from "./configured.ts";
import { Counter } from "./counter.ts";
import { FollowerActor } from "./followerActor.ts";
import type { MasterActor } from "./masterActor.ts";
import { Ownership } from "./ownership.ts";
import { makeFollower, makeMaster, type ActorOptions, type Running } from "./running.ts";
import { SessionBound } from "./sessionBound.ts";
import type { TickReader } from "./tickReader.ts";
import { TickRoutes } from "./tickRoutes.ts";

export interface SupervisorOptions extends ActorOptions {
  readonly pairs: PairStore;
  readonly park: Directory["park"];
  /** An account without a session is kept for so long; see sessionBound.ts. */
  readonly noSessionMs: number;
  /** Whether the log is reached, as far as is known. */
  readonly logOk: () => boolean;
  /** This node cannot serve the account, and why: it should be left to others for a while. */
  readonly onGivenUp: (account: AccountId, why: string) => void;
  /** Nobody is to serve this account for now: it should be lost here, and then released. */
  readonly onLetGo: (account: AccountId) => void;
  /** What is configured is not known well enough: it should be read, and told by `configure`. */
  readonly onUnknown: () => void;
}

const RESTARTS = 5;
const RESTART_PAUSE_MS = 1_000;
/** A failure after this long is the first of a new row. */
const HEALTHY_MS = 60_000;

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
    return [...this.#running].map(([account, { ownership, actor }]) => ({
      account,
      role: this.configured(account)?.role ?? null,
      epoch: ownership.epoch,
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

  /** Under which an account is held here; null where it is not. */
  permitOf(id: AccountId): Permit | null {
    return this.#running.get(id)?.ownership.permit ?? null;
  }

  async acquire({ account: id, epoch, settleLeftMs }: OwnedAccount, slot: number): Promise<void> {
    if (this.#running.has(id)) return;
    const { clock } = this.#options;
    const ownership = new Ownership(id, { slot, epoch });
    const nowMs = clock.monotonicMs();
    const running: Running = {
      ownership, bound: this.#bound(id, ownership), acquiredAtMs: nowMs, settledAtMs: nowMs + settleLeftMs, unsettledUntilMs: nowMs, numbers: new Counter(), states: new Counter(),
      account: null, actor: null, round: 0, letGo: false, failures: 0, failedAtMs: 0,
    };
    this.#running.set(id, running);
    const account = this.#configured.served(id);
    if (account === null) return this.#options.onUnknown(); // (4)
    await this.#makeAnew(running, account);
  }

  /** The gate is open for an account that was held all along, at this epoch: its follower reconciles, its master says how it stands. */
  confirm({ account, epoch }: HeldAccount): void {
    const running = this.#running.get(account);
    if (running === undefined || !running.ownership.raise(epoch)) return;
    const { actor } = running;
    if (actor instanceof FollowerActor) actor.tellSystem({ kind: "lift" });
    else actor?.lift();
  }

  /**
   * Ends its actor, after its orders under way unless `drain` is false. Resolves with the time for which an order of ours may still
   * be executed: 0 when every order was answered.
   */
  async lose(id: AccountId, drain = true): Promise<number> {
    const running = this.#running.get(id);
    if (running === undefined) return 0;
    this.#running.delete(id);
    running.bound.stop();
    await this.#end(running, drain);
    return Math.max(0, running.unsettledUntilMs - this.#options.clock.monotonicMs());
  }

  /** Without `drain` nobody waits for the orders under way: as in a process that dies. */
  async stop(drain = true): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.lose(id, drain)));
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
    const account = this.#configured.served(running.ownership.account);
    if (account === null) return this.#letGo(running); // (4)
    const { account: made, actor } = running;
    if (made === null || made.broker !== account.broker || made.credentialsRef !== account.credentialsRef) return void this.#makeAnew(running, account); // (3)
    // One that is being made takes the links of the moment.
    if (!(actor instanceof FollowerActor)) return;
    const links = this.#configured.linksOf(running.ownership.account);
    actor.tellSystem({ kind: "links", links });
    this.#routes.add(actor, links.filter(({ id }) => !before.hasLink(id)).map(({ master }) => master));
  }

  #letGo(running: Running): void {
    if (running.letGo) return;
    running.letGo = true;
    this.#options.logger.info({ account: running.ownership.account }, "account let go: it is switched off or parked");
    this.#options.onLetGo(running.ownership.account);
  }

  async #makeAnew(running: Running, account: Account): Promise<void> {
    running.account = account;
    const round = ++running.round;
    await this.#end(running);
    await this.#make(running, account, round);
  }

  #counts(running: Running, round: number): boolean {
    return this.#running.get(running.ownership.account) === running && running.round === round;
  }

  async #make(running: Running, account: Account, round: number): Promise<void> {
    if (!this.#counts(running, round)) return;
    try {
      const rows = account.role === "follower" ? await this.#options.pairs.rowsOf(account.id) : [];
      if (!this.#counts(running, round)) return;
      const calls = { onFailure: (error: unknown) => this.#failed(running, account, round, error), onLoginRefused: (reason: string) => this.#refused(running, account, round, reason) };
      const actor = account.role === "master" ? makeMaster(this.#options, running, account, calls) : makeFollower(this.#options, running, account, this.#configured.linksOf(account.id), rows, calls);
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
    if (running.failures > RESTARTS) return onGivenUp(account.id, "its actor keeps failing");
    clock.after(RESTART_PAUSE_MS * running.failures, () => void ended.then(() => this.#make(running, account, next)));
  }

  /** Invariant 7. */
  #refused(running: Running, account: Account, round: number, reason: string): void {
    if (!this.#counts(running, round)) return;
    this.#options.logger.error({ account: account.id, reason }, "login refused: the account is parked until it is applied again");
    this.#park(running, account, round, reason);
  }

  #park(running: Running, account: Account, round: number, reason: string): void {
    const { park, logger, clock, onUnknown } = this.#options;
    if (!this.#counts(running, round)) return;
    park(account, running.ownership.epoch, reason).then(
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

  /** Invariant 6. */
  #bound(id: AccountId, ownership: Ownership): SessionBound {
    const { clock, gate, noSessionMs: limitMs, logOk, onGivenUp } = this.#options;
    const actor = (): Running["actor"] => this.#running.get(id)?.actor ?? null;
    return new SessionBound({
      clock,
      limitMs,
      isServed: () => actor()?.connected === true,
      counts: () => gate.check(ownership.permit) === "open" && logOk() && actor()?.waitsForTurn !== true,
      onOver: () => onGivenUp(id, `no session within ${limitMs} ms`),
    });
  }

  #end(running: Running, drain = true): Promise<void> {
    const { actor, ownership: { account: id } } = running;
    const before = this.#ended.get(id) ?? Promise.resolve();
    running.actor = null;
    if (actor === null) return before;
    if (actor instanceof FollowerActor) this.#routes.remove(actor);
    const ended = Promise.all([before, this.#stopped(running, actor, drain)]).then(() => undefined);
    this.#ended.set(id, ended);
    return ended;
  }

  async #stopped(running: Running, actor: FollowerActor | MasterActor, drain: boolean): Promise<void> {
    try {
      if (actor instanceof FollowerActor) running.unsettledUntilMs = Math.max(running.unsettledUntilMs, await actor.stop(drain));
      else await actor.stop();
    } catch (error) {
      this.#options.logger.error({ account: actor.account.id, error: messageOf(error) }, "actor did not stop cleanly");
    }
  }
}
