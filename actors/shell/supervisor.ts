// Owns the actors of one node: one for each leased account, made when the account is acquired and
// ended when it is lost, and the routing of ticks to the followers of a master.
//
// 1. An actor exists only for an account this node holds, at the epoch it holds it.
// 2. An actor that fails is made anew from the broker and the database, a bounded number of times
//    in a row; then its account is given up, which is for somebody else to take. A database that
//    does not answer is no failure of the actor.
// 3. A tick that finds a follower's mailbox full is a gap for that follower.

import type { Account, Link } from "../../protocol/accounts.ts";
import type { AccountId, Ticket } from "../../protocol/ids.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Gate } from "../../protocol/ports/gate.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { HeldAccount, PairStore } from "../../protocol/ports/storage.ts";
import type { Tick } from "../../protocol/ticks.ts";
import { isLockstepError, messageOf } from "../../protocol/errors.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { ClockReading, MasterFold } from "../core/masterFold.ts";
import { Counter } from "./counter.ts";
import type { EventSink } from "./eventSink.ts";
import { FollowerActor } from "./followerActor.ts";
import type { FollowerLimits } from "./followerTypes.ts";
import type { LiveTarget } from "../core/decide.ts";
import { MasterActor, type MasterLimits } from "./masterActor.ts";
import type { TickReader } from "./tickReader.ts";

export interface SupervisorOptions {
  readonly accounts: ReadonlyMap<AccountId, Account>;
  readonly links: readonly Link[];
  readonly openSession: (account: Account, permit: Permit) => BrokerSession;
  readonly gate: Gate;
  readonly events: EventSink;
  readonly pairs: PairStore;
  /** For ticks and books. */
  readonly producer: Producer;
  readonly topics: { readonly ticks: string; readonly books: string };
  readonly partitions: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly followerLimits: FollowerLimits;
  readonly masterLimits: MasterLimits;
  /** An actor of this account keeps failing: the account should be released. */
  readonly onGivenUp: (account: AccountId) => void;
}

const RESTARTS = 5;
const RESTART_PAUSE_MS = 1_000;
/** A failure after this long is the first of a new row. */
const HEALTHY_MS = 60_000;

interface Running {
  readonly permit: Permit;
  /** Of ticks or events: it counts on when the actor is made anew. */
  readonly numbers: Counter;
  actor: FollowerActor | MasterActor | null;
  failures: number;
  failedAtMs: number;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #running = new Map<AccountId, Running>();
  readonly #followersOf = new Map<AccountId, Set<FollowerActor>>();
  #reader: TickReader | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Where new followers read the masters' state of the moment. */
  attach(reader: TickReader): void {
    this.#reader = reader;
  }

  get followers(): readonly FollowerActor[] {
    return [...this.#running.values()].flatMap(({ actor }) => (actor instanceof FollowerActor ? [actor] : []));
  }

  async acquire(held: HeldAccount, slot: number): Promise<void> {
    const account = this.#options.accounts.get(held.account);
    if (account === undefined || this.#running.has(held.account)) return;
    const running: Running = { permit: { slot, epoch: held.epoch }, numbers: new Counter(), actor: null, failures: 0, failedAtMs: 0 };
    this.#running.set(account.id, running);
    await this.#make(account, running);
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

  /** The lease is proven again after a fence: every follower reconciles. */
  lift(): void {
    for (const follower of this.followers) follower.tellSystem({ kind: "lift" });
  }

  onTick(tick: Tick, readAtMs: number): void {
    const readAtWallMs = this.#options.clock.wallMs() as WallMs;
    for (const follower of this.#followersOf.get(tick.master) ?? []) {
      if (follower.tell({ kind: "tick", tick, readAtMs, readAtWallMs }) !== "full") continue;
      follower.tellSystem({ kind: "master_unsynced", master: tick.master });
      const fold = this.#reader?.foldOf(tick.master) ?? null;
      if (fold !== null) this.#tellBook(follower, tick.master, fold);
    }
  }

  onAlive(master: AccountId, clock: ClockReading): void {
    for (const follower of this.#followersOf.get(master) ?? []) follower.tellSystem({ kind: "alive", master, clock });
  }

  onBook(master: AccountId, fold: MasterFold): void {
    for (const follower of this.#followersOf.get(master) ?? []) this.#tellBook(follower, master, fold);
  }

  onUnsynced(master: AccountId): void {
    for (const follower of this.#followersOf.get(master) ?? []) follower.tellSystem({ kind: "master_unsynced", master });
  }

  async #make(account: Account, running: Running): Promise<void> {
    try {
      const actor = account.role === "master" ? this.#master(account, running) : await this.#follower(account, running);
      if (this.#running.get(account.id) !== running) return void (await actor.stop());
      running.actor = actor;
      if (actor instanceof FollowerActor) this.#subscribe(actor);
      actor.start();
    } catch (error) {
      if (isLockstepError(error) && error.retry === "later") this.#later(account, running, error);
      else this.#failed(account, running, error);
    }
  }

  #later(account: Account, running: Running, error: unknown): void {
    const { logger, clock } = this.#options;
    logger.warn({ account: account.id, error: messageOf(error) }, "actor not made yet");
    clock.after(RESTART_PAUSE_MS, () => {
      if (this.#running.get(account.id) === running) void this.#make(account, running);
    });
  }

  #master(account: Account, running: Running): MasterActor {
    const { openSession, producer, topics, partitions, clock, logger, masterLimits } = this.#options;
    return new MasterActor({
      account,
      epoch: running.permit.epoch,
      seqs: running.numbers,
      session: openSession(account, running.permit),
      producer,
      topics,
      partitions,
      clock,
      logger,
      limits: masterLimits,
      onFailure: (error) => this.#failed(account, running, error),
    });
  }

  async #follower(account: Account, running: Running): Promise<FollowerActor> {
    const { openSession, followerLimits, links, pairs } = this.#options;
    const rows = await pairs.rowsOf(account.id);
    return new FollowerActor({
      ...this.#options,
      account,
      permit: running.permit,
      numbers: running.numbers,
      links: links.filter((link) => link.follower === account.id),
      rows,
      session: openSession(account, running.permit),
      limits: followerLimits,
      onFailure: (error) => this.#failed(account, running, error),
    });
  }

  #subscribe(follower: FollowerActor): void {
    for (const link of this.#options.links) {
      if (link.follower !== follower.account.id) continue;
      const followers = this.#followersOf.get(link.master) ?? new Set();
      this.#followersOf.set(link.master, followers.add(follower));
      const fold = this.#reader?.foldOf(link.master) ?? null;
      if (fold !== null) this.#tellBook(follower, link.master, fold);
    }
  }

  #tellBook(follower: FollowerActor, master: AccountId, fold: MasterFold): void {
    const targets = new Map<Ticket, LiveTarget>();
    for (const [masterTicket, position] of fold.positions) targets.set(masterTicket, { kind: "position", position });
    for (const [masterTicket, pending] of fold.pendings) targets.set(masterTicket, { kind: "pending", pending });
    follower.tellSystem({ kind: "book", master, targets, version: { epoch: fold.epoch, seq: fold.seq }, clock: fold.clock });
  }

  #failed(account: Account, running: Running, error: unknown): void {
    const { logger, metrics, clock, onGivenUp } = this.#options;
    if (this.#running.get(account.id) !== running) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - running.failedAtMs > HEALTHY_MS) running.failures = 0;
    running.failedAtMs = nowMs;
    running.failures++;
    metrics.count("actor_restarts");
    logger.error({ account: account.id, failures: running.failures, error: messageOf(error), stack: error instanceof Error ? error.stack : null }, "actor failed");
    const ended = this.#end(running);
    if (running.failures > RESTARTS) return onGivenUp(account.id);
    clock.after(RESTART_PAUSE_MS * running.failures, () => {
      if (this.#running.get(account.id) === running) void ended.then(() => this.#make(account, running));
    });
  }

  async #end(running: Running, drain = true): Promise<void> {
    const actor = running.actor;
    running.actor = null;
    if (actor === null) return;
    if (actor instanceof FollowerActor) for (const followers of this.#followersOf.values()) followers.delete(actor);
    try {
      await (actor instanceof FollowerActor ? actor.stop(drain) : actor.stop());
    } catch (error) {
      this.#options.logger.error({ account: actor.account.id, error: messageOf(error) }, "actor did not stop cleanly");
    }
  }
}
