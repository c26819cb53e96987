// Owns a node's lease: renewing it, and the gate that it opens. What it holds under it is claims.ts's.
//
// 1. The deadline counts from before the renewal was sent: a reply that comes late gives no more.
// 2. One failed renewal changes nothing; a passed deadline trips, whatever reply comes afterwards. A
//    renewal is given up when its answer is worth nothing any more: at the latest at the deadline.
// 3. A node starts fenced. The gate opens once the lease is proven (6), again after each trip, and what
//    it missed is reconciled.
// 4. Nothing delays a renewal: all else is done beside it.
// 5. A second process under the name of a live one waits fenced, since the first may be about to
//    end; after a ttl it is a mistake in somebody's configuration.
// 6. Only a renewal that found our lease live, and was sent after the answer to the one before it, opens
//    the gate. Its list of accounts was read while the lease was live, so a claim that began since then left us
//    alone. A reply to a lapsed lease may list what another node took while the renewal waited for its
//    row; one after a renewal that nobody answered may have been read before that one took effect.
//    Neither opens anything, and the next renewal follows at once.
//
// What remains open: a claim that judged our lease before it was live again, and commits after the list
// of (6) was read. Until the next renewal shows it two nodes have the account. Only confirming the
// accounts one by one, each at its epoch, closes that.

import type { AccountId } from "../../protocol/ids.ts";
import type { Timer } from "../../protocol/ports/clock.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { HeldAccount, RenewReply } from "../../protocol/ports/storage.ts";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Deadline, FenceState } from "../executor/sharedGate.ts";
import { Claims, type ClaimsOptions } from "./claims.ts";
import { HeldAccounts } from "./heldAccounts.ts";
import type { OthersWord } from "./logWatch.ts";
import { within } from "../../protocol/waiting.ts";

export interface LeaseKeeperOptions extends ClaimsOptions {
  readonly metrics: Metrics;
  /** It is another node's already, or nobody's: its actor ends at once. */
  readonly onLost: (account: AccountId) => void;
  /** The gate was closed: waiting work is dropped. */
  readonly onTrip: () => void;
  /** The lease itself has run out while the gate was closed: what is still unanswered is given up. */
  readonly onLeaseEnd: () => void;
  /** The gate is open again after a trip. */
  readonly onLift: () => void;
  /** The process should end: (5). */
  readonly onFatal: (error: Error) => void;
}

/** What a renewal was sent on: judged by when its reply comes. */
interface Sent {
  readonly atMs: number;
  readonly fence: FenceState;
  readonly held: readonly HeldAccount[];
  readonly deadline: Deadline;
  readonly before: Came;
}

/** What a renewal came to: no answer that gives us the lease, or one that left the gate closed or open. */
type Came = "to nothing" | "closed" | "open";

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held: HeldAccounts;
  readonly #claims: Claims;
  #renewTimer: Timer | null = null;
  #deadlineTimer: Timer | null = null;
  #endTimer: Timer | null = null;
  #renewing = false;
  /** Something new is to be said: the next renewal follows at once. */
  #hasNews = false;
  #refusedSinceMs: number | null = null;
  /** The newest renewal: (6). */
  #came: Came = "to nothing";
  /** When the first of the renewals was sent that were all answered up to now; null: the newest was not. */
  #answeredSinceMs: number | null = null;
  #others: OthersWord | null = null;
  #drained: Promise<void> | null = null;
  #stopped = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#held = new HeldAccounts(options.gate);
    this.#claims = new Claims(options, this.#held);
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
   * The renewals that open the gate, and the first claim; later ones follow by themselves.
   * @throws LockstepError when the database cannot be asked at all
   */
  async start(): Promise<void> {
    const nextMs = await this.#renew();
    // The first lease of a boot was never live before: (6).
    this.#schedule(nextMs === 0 ? await this.#renewOrRetry() : nextMs);
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
    this.#claims.stop();
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
    this.#tellNews();
    await this.#claims.handBackAll();
    if (this.#stopped) return;
    this.abandon();
    const { registry, me, profile, clock } = this.#options;
    await within(clock, profile.queryTimeoutMs, "leaving", registry.leave(me));
  }

  /** What this node says of itself has changed: the others should not wait for the next renewal. */
  #tellNews(): void {
    this.#hasNews = true;
    if (!this.#renewing) this.#schedule(0);
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#renewTimer?.cancel();
    this.#renewTimer = this.#options.clock.after(this.#hasNews ? 0 : delayMs, () => void this.#renewOrRetry().then((nextMs) => this.#schedule(nextMs)));
  }

  /** Invariant 2. Never rejects. */
  async #renewOrRetry(): Promise<number> {
    try {
      return await this.#renew();
    } catch (error) {
      this.#answeredSinceMs = null;
      this.#options.logger.warn({ error: messageOf(error) }, "lease not renewed");
      return this.#options.profile.retryMs;
    }
  }

  /** Resolves with the pause until the next. */
  async #renew(): Promise<number> {
    const { registry, me, profile, clock, gate, report } = this.#options;
    const leftMs = gate.leftMs();
    if (gate.lifted && leftMs === 0) this.#trip("the deadline passed");
    // What is claimed while the renewal is under way may not be in its reply: it is compared with what was held before.
    const atMs = clock.monotonicMs();
    const reachMs = profile.ttlMs - profile.marginMs;
    const sent: Sent = { atMs, fence: gate.state(), held: this.#held.all, deadline: { monotonicMs: atMs + reachMs, wallMs: clock.wallMs() + reachMs }, before: this.#came }; // (1)
    this.#came = "to nothing";
    const timeoutMs = gate.lifted ? Math.min(profile.queryTimeoutMs, leftMs) : profile.queryTimeoutMs;
    this.#renewing = true;
    this.#hasNews = false;
    try {
      const terms = { ttlMs: profile.ttlMs, timeoutMs, report: { ...report(), accepting: !this.#claims.closed } };
      const reply = await within(clock, timeoutMs, "renewal", registry.renew(me, terms));
      if (this.#stopped) return 0;
      if (!reply.held) return this.#refused(sent, reply);
      this.#renewed(sent, reply);
      this.#came = gate.lifted ? "open" : "closed";
      if (gate.lifted) return Math.max(0, profile.renewMs - (clock.monotonicMs() - atMs));
      return sent.before === "closed" ? profile.retryMs : 0; // (6): at once, but not without end
    } finally {
      this.#renewing = false;
    }
  }

  #renewed(sent: Sent, reply: RenewReply): void {
    const { gate, onLift } = this.#options;
    this.#refusedSinceMs = null;
    this.#answeredSinceMs ??= sent.atMs;
    this.#others = { reachLog: reply.othersLogOk, askedAtMs: sent.atMs, answeredSinceMs: this.#answeredSinceMs };
    if (gate.lifted && !reply.wasLive) this.#trip("the lease had lapsed");
    this.#compare(sent.held, reply.accounts);
    if (gate.lifted && !gate.extend(sent.deadline)) this.#trip("the renewal came after the deadline");
    const isProven = reply.wasLive && sent.before !== "to nothing"; // (6)
    // Only on the state seen before the renewal: a trip that came meanwhile waits for the next one.
    if (!gate.lifted && isProven && gate.lift(sent.fence, sent.deadline)) onLift();
    this.#watch(sent.deadline);
    if (gate.lifted) this.#claims.balance(reply.shares, sent.atMs);
  }

  /** The name is another live process's, or our lease was ended for us (5). */
  #refused(sent: Sent, reply: RenewReply): number {
    const { me, profile, clock, gate, logger, onFatal } = this.#options;
    if (gate.lifted) this.#trip("the node's name belongs to another process");
    this.#compare(sent.held, reply.accounts);
    this.#refusedSinceMs ??= clock.monotonicMs();
    logger.warn({ node: me.node }, "another live process has this node's name: waiting, fenced");
    if (clock.monotonicMs() - this.#refusedSinceMs >= profile.ttlMs) {
      this.abandon();
      onFatal(new LockstepError("configuration", `node name ${me.node} belongs to another live process: give every node a name of its own`));
    }
    return profile.retryMs;
  }

  /** The gate needs no timer to be closed; whoever waits for a call does. */
  #watch(deadline: Deadline): void {
    const { clock, gate, profile, onLeaseEnd } = this.#options;
    if (!gate.lifted) return;
    this.#deadlineTimer?.cancel();
    this.#endTimer?.cancel();
    const leftMs = deadline.monotonicMs - clock.monotonicMs();
    this.#deadlineTimer = clock.after(leftMs, () => this.#trip("the deadline passed"));
    this.#endTimer = clock.after(leftMs + profile.marginMs, () => onLeaseEnd());
  }

  #trip(why: string): void {
    const { gate, metrics, logger, me, onTrip } = this.#options;
    this.#deadlineTimer?.cancel();
    gate.trip();
    metrics.count("lease_trips");
    logger.error({ node: me.node, why }, "fenced: this node cannot prove its lease");
    onTrip();
  }

  /** Forgets what the database says is not ours at our epoch, takes what it says is. */
  #compare(heldBefore: readonly HeldAccount[], listed: readonly HeldAccount[]): void {
    const { logger, onLost } = this.#options;
    const mine = new Map(listed.map((held) => [held.account, held.epoch]));
    for (const held of heldBefore) {
      if (mine.get(held.account) === held.epoch || !this.#held.forget(held)) continue;
      logger.error({ account: held.account }, "account no longer owned by this node");
      onLost(held.account);
    }
    for (const held of listed) this.#claims.take(held);
  }
}
