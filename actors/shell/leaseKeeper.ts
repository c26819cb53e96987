// Owns a node's lease: renewing it, and the gate that it opens. What it holds under it is claims.ts's, and
// confirming that it still does is confirmations.ts's.
//
// 1. The deadline counts from before the renewal was sent: a reply that comes late gives no more.
// 2. One failed renewal changes nothing; a passed deadline trips, whatever reply comes afterwards. A
//    renewal is given up when its answer is worth nothing any more: at the latest at the deadline.
// 3. A node starts fenced. The gate opens once every account that a renewal lists as ours has been asked for
//    at its epoch, again after each trip, and what it missed is reconciled.
// 4. Nothing delays a renewal: all else is done beside it.
// 5. A second process under the name of a live one waits fenced, since the first may be about to
//    end; after a ttl it is a mistake in somebody's configuration.
// 6. A lease that was not live when it was renewed always fences, whatever we think: another may have taken
//    what was ours. So does another database clock or timeline, which says that nothing is known of that.
// 7. What a list gives to another is forgotten at once, whatever becomes of the rest.
// 8. A node that stays fenced for a ttl although its renewals are answered ends: its parent then frees its accounts.

import type { AccountId } from "../../protocol/ids.ts";
import type { Timer } from "../../protocol/ports/clock.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { HeldAccount, RenewReply } from "../../protocol/ports/storage.ts";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { deadlineOf, leftMs, patienceMs, type Moment } from "../core/leaseDeadline.ts";
import { compareOwned } from "../core/ownedList.ts";
import { Claims } from "./claims.ts";
import { Confirmations, type ConfirmationsOptions, type Proof } from "./confirmations.ts";
import { HeldAccounts } from "./heldAccounts.ts";
import { LeaseClocks } from "./leaseClocks.ts";
import type { OthersWord } from "./logWatch.ts";
import { NodeSweep } from "./nodeSweep.ts";
import { within } from "../../protocol/waiting.ts";

export interface LeaseKeeperOptions extends ConfirmationsOptions {
  readonly metrics: Metrics;
  /** It is another node's already, or nobody's: its actor ends at once. */
  readonly onLost: (account: AccountId) => void;
  /** The gate was closed: waiting work is dropped. */
  readonly onTrip: () => void;
  /** The lease itself has run out while the gate was closed: what is still unanswered is given up. */
  readonly onLeaseEnd: () => void;
  /** The process should end: (5), (8). */
  readonly onFatal: (error: Error) => void;
}

/** What a renewal was sent on: judged by when its reply comes. */
interface Sent extends Proof {
  readonly at: Moment;
  readonly held: readonly HeldAccount[];
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held: HeldAccounts;
  readonly #clocks: LeaseClocks;
  readonly #claims: Claims;
  readonly #confirmations: Confirmations;
  readonly #sweep: NodeSweep;
  #renewTimer: Timer | null = null;
  #deadlineTimer: Timer | null = null;
  #endTimer: Timer | null = null;
  #renewing = false;
  /** Monotonic: when the next renewal is due. */
  #dueAtMs = Infinity;
  /** Something new is to be said: the next renewal follows at once. */
  #hasNews = false;
  /** We opened the gate and have not noticed that it closed; a host closes it by itself. */
  #isOpen = false;
  #refusedSinceMs: number | null = null;
  /** When the first of the renewals was answered since when each was, and the gate is closed all the same (8). */
  #stuckSinceMs: number | null = null;
  /** When the first of the renewals was sent that were all answered up to now; null: the newest was not. */
  #answeredSinceMs: number | null = null;
  #others: OthersWord | null = null;
  #drained: Promise<void> | null = null;
  #stopped = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#held = new HeldAccounts(options.gate);
    this.#clocks = new LeaseClocks(options);
    this.#claims = new Claims(options, this.#held, this.#clocks);
    this.#sweep = new NodeSweep(options);
    const rounds = { onLifted: (proof: Proof) => this.#lifted(proof), onNotLifted: (why: string) => this.#notLifted(why) };
    this.#confirmations = new Confirmations({ ...options, ...rounds }, this.#held, this.#claims, this.#clocks);
  }

  get accounts(): readonly HeldAccount[] {
    return this.#held.all;
  }

  /** What the database said, when the lease was last renewed, of the other live nodes and the log. */
  get others(): OthersWord | null {
    return this.#others;
  }

  /** Told to end: it claims nothing more and gives back what it holds. */
  get draining(): boolean {
    return this.#claims.closed;
  }

  /**
   * The renewal that opens the gate, and the first claim; later ones follow by themselves.
   * @throws LockstepError when the database cannot be asked at all
   */
  async start(): Promise<void> {
    this.#schedule(await this.#renew());
    this.#sweep.start();
    await this.#claims.start();
  }

  /**
   * Ends gracefully: nothing more is claimed, the others are told, every account is handed back as
   * soon as its own orders are answered, and the lease is ended when none is left.
   */
  drain(): Promise<void> {
    return (this.#drained ??= this.#stopped ? Promise.resolve() : this.#drain());
  }

  /** Ends without a word to the database: as in a process that dies. The lease runs out, or somebody ends it. */
  abandon(): void {
    this.#stopped = true;
    this.#isOpen = false;
    this.#claims.stop();
    this.#confirmations.stop();
    this.#sweep.stop();
    for (const timer of [this.#renewTimer, this.#deadlineTimer, this.#endTimer]) timer?.cancel();
    this.#options.gate.trip();
  }

  /** Gives one account back that this node cannot serve, gracefully, and leaves it to others for a while. Never rejects. */
  giveUp(account: AccountId): Promise<void> {
    return this.#claims.giveUp(account);
  }

  /** Gives one account back that nobody is to serve for now: gracefully. Never rejects. */
  handBack(account: AccountId): Promise<void> {
    return this.#claims.handBack(account);
  }

  async #drain(): Promise<void> {
    this.#claims.close();
    this.#hasNews = true;
    if (!this.#renewing) this.#schedule(0);
    await this.#claims.handBackAll();
    if (this.#stopped) return;
    this.abandon();
    const { registry, me, profile, clock } = this.#options;
    await within(clock, profile.queryTimeoutMs, "leaving", registry.leave(me));
  }

  /** What this node says of itself may have changed meanwhile: the others should not wait for it. */
  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const pauseMs = this.#hasNews ? 0 : delayMs;
    this.#renewTimer?.cancel();
    this.#dueAtMs = clock.monotonicMs() + pauseMs;
    this.#renewTimer = clock.after(pauseMs, () => void this.#renewOrRetry().then((nextMs) => this.#schedule(nextMs)));
  }

  /** Invariant 2. Never rejects. */
  async #renewOrRetry(): Promise<number> {
    const { logger, journal, profile } = this.#options;
    try {
      return await this.#renew();
    } catch (error) {
      this.#answeredSinceMs = null;
      this.#stuckSinceMs = null;
      logger.warn({ error: messageOf(error) }, "lease not renewed");
      journal.note(null, "renew_failed", { error: messageOf(error), leftMs: Math.round(this.#options.gate.leftMs()) });
      return profile.retryMs;
    }
  }

  /** Resolves with the pause until the next. */
  async #renew(): Promise<number> {
    const { registry, me, profile, clock, gate, report } = this.#options;
    const at = this.#clocks.now;
    this.#clocks.look(at);
    this.#notice();
    // What is claimed while the renewal is under way may not be in its reply: it is compared with what was held before.
    const sent: Sent = { at, fence: gate.state(), held: this.#held.all, deadline: deadlineOf(at, profile) }; // (1)
    const timeoutMs = patienceMs(profile, this.#isOpen ? gate.leftMs() : leftMs(sent.deadline, at)); // (2)
    this.#renewing = true;
    this.#hasNews = false;
    try {
      const terms = { ttlMs: profile.ttlMs, timeoutMs, report: { ...report(), accepting: !this.#claims.closed } };
      const reply = await within(clock, timeoutMs, "renewal", registry.renew(me, terms));
      if (this.#stopped) return 0;
      return reply.held ? this.#renewed(sent, reply) : this.#refused(sent, reply);
    } finally {
      this.#renewing = false;
    }
  }

  #renewed(sent: Sent, reply: RenewReply): number {
    const { clock, gate, profile, journal } = this.#options;
    const tookMs = clock.monotonicMs() - sent.at.monotonicMs;
    this.#refusedSinceMs = null;
    this.#answeredSinceMs ??= sent.at.monotonicMs;
    this.#others = { reachLog: reply.othersLogOk, askedAtMs: sent.at.monotonicMs, answeredSinceMs: this.#answeredSinceMs };
    const isAnother = this.#clocks.heard(reply.clock, sent.at.monotonicMs);
    const wasLive = reply.wasLive && !isAnother; // (6)
    journal.note(null, "renewed", { tookMs: Math.round(tookMs), wasLive, accounts: reply.accounts.length });
    if (this.#isOpen && !wasLive) this.#trip(isAnother ? "the database is another one" : "the lease had lapsed");
    const unknown = this.#compare(sent.held, reply.accounts);
    this.#notice();
    if (this.#isOpen && !gate.extend(sent.deadline)) this.#trip("the renewal came after the deadline");
    if (this.#isOpen) {
      this.#watch(sent.deadline);
      void this.#confirmations.catchUp(unknown);
      this.#claims.balance(reply.shares, sent.at.monotonicMs);
    } else if (gate.state() !== sent.fence) {
      return 0; // It was tripped since: only a renewal that saw it so can open it (3).
    } else {
      this.#endIfStuck();
      if (!this.#stopped && !(wasLive && this.#confirmations.goesOn(sent))) void this.#confirmations.lift(sent, unknown);
    }
    return Math.max(0, profile.renewMs - tookMs);
  }

  #lifted({ deadline }: Proof): void {
    this.#isOpen = true;
    this.#stuckSinceMs = null;
    this.#watch(deadline);
    this.#notice(); // time may have gone on while we were about it
  }

  #notLifted(why: string): void {
    const { logger, me, profile, clock } = this.#options;
    logger.warn({ node: me.node, why }, "still fenced");
    if (!this.#renewing && this.#dueAtMs > clock.monotonicMs() + profile.retryMs) this.#schedule(profile.retryMs);
  }

  /** Invariant 8. */
  #endIfStuck(): void {
    const { clock, profile, onFatal } = this.#options;
    this.#stuckSinceMs ??= clock.monotonicMs();
    if (clock.monotonicMs() - this.#stuckSinceMs < profile.ttlMs) return;
    this.abandon();
    onFatal(new LockstepError("unreachable", `the lease is renewed, and the gate has stayed closed for ${Math.round(profile.ttlMs / 1_000)} s`));
  }

  /** The name is another live process's, or our lease was ended for us (5). */
  #refused(sent: Sent, reply: RenewReply): number {
    const { me, profile, clock, logger, journal, onFatal } = this.#options;
    journal.note(null, "renew_failed", { error: "refused", leftMs: 0 });
    if (this.#isOpen) this.#trip("the node's name belongs to another process");
    this.#confirmations.stop();
    this.#compare(sent.held, reply.accounts);
    this.#stuckSinceMs = null;
    this.#refusedSinceMs ??= clock.monotonicMs();
    logger.warn({ node: me.node }, "another live process has this node's name: waiting, fenced");
    if (clock.monotonicMs() - this.#refusedSinceMs >= profile.ttlMs) {
      this.abandon();
      onFatal(new LockstepError("configuration", `node name ${me.node} belongs to another live process: give every node a name of its own`));
    }
    return profile.retryMs;
  }

  /** The gate needs no timer to be closed; whoever waits for a call does. */
  #watch(deadline: Moment): void {
    const { clock, profile, journal, onLeaseEnd } = this.#options;
    this.#deadlineTimer?.cancel();
    this.#endTimer?.cancel();
    const remainingMs = deadline.monotonicMs - clock.monotonicMs();
    this.#deadlineTimer = clock.after(remainingMs, () => this.#trip("the deadline passed"));
    this.#endTimer = clock.after(remainingMs + profile.marginMs, () => {
      journal.note(null, "lease_end", {});
      onLeaseEnd();
    });
  }

  /** Whoever uses the gate closes it by a comparison of clocks; so does the time that passes. */
  #notice(): void {
    if (this.#isOpen && this.#options.gate.leftMs() === 0) this.#trip("a clock passed the deadline");
  }

  #trip(why: string): void {
    const { gate, metrics, logger, journal, me, onTrip } = this.#options;
    this.#isOpen = false;
    this.#deadlineTimer?.cancel();
    gate.trip();
    metrics.count("lease_trips");
    logger.error({ node: me.node, why }, "fenced: this node cannot prove its lease");
    journal.note(null, "fenced", { why, accounts: this.#held.size });
    onTrip();
  }

  /** Forgets what the database says is not ours (7), and fences alone what is at another epoch. Resolves with what is ours and was never told us. */
  #compare(heldThen: readonly HeldAccount[], listed: readonly HeldAccount[]): readonly HeldAccount[] {
    const { logger, journal, onLost } = this.#options;
    const { lost, moved, unknown } = compareOwned(heldThen, this.#held.all, listed);
    for (const held of lost) {
      this.#held.forget(held.account);
      logger.error({ account: held.account }, "account no longer owned by this node");
      journal.note(held, "forgotten", {});
      onLost(held.account);
    }
    for (const held of moved) this.#held.unconfirm(held);
    return unknown;
  }
}
