// Owns a node's lease: renewing it, claiming free accounts, and the gate that both open. With one
// node the lease is simply taken; the gate's arithmetic is the whole one already.
//
// 1. The deadline counts from before the renewal was sent: a reply that comes late gives no more.
// 2. One failed renewal changes nothing; a passed deadline trips, whatever reply comes afterwards.
// 3. A node starts fenced. The gate opens with the first renewal and again after a trip, and what
//    it missed is reconciled.
// 4. Nothing delays a renewal: claims are made beside it, one at a time.

import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { HeldAccount, Identity, Registry } from "../../protocol/ports/storage.ts";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Deadline, SharedGate } from "../executor/sharedGate.ts";

export interface LeaseProfile {
  readonly ttlMs: number;
  readonly renewMs: number;
  /** The node stops by itself this long before the database would let others in. */
  readonly marginMs: number;
  readonly retryMs: number;
}

export const STEADY: LeaseProfile = { ttlMs: 60_000, renewMs: 5_000, marginMs: 15_000, retryMs: 2_000 };

export interface LeaseKeeperOptions {
  readonly registry: Registry;
  readonly me: Identity;
  readonly profile: LeaseProfile;
  /** Accounts this node takes at most; fewer than the gate has slots. */
  readonly capacity: number;
  readonly gate: SharedGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly onAcquired: (held: HeldAccount, slot: number) => void;
  readonly onLost: (account: AccountId) => void;
  /** The gate was closed: waiting work is dropped. */
  readonly onTrip: () => void;
  /** The lease itself has run out while the gate was closed: what is still unanswered is given up. */
  readonly onLeaseEnd: () => void;
  /** The gate is open again after a trip. */
  readonly onLift: () => void;
}

interface Slot {
  readonly held: HeldAccount;
  readonly slot: number;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Map<AccountId, Slot>();
  /** A slot is one account's for the life of the process: its epochs never open the gate for another's waiting calls. */
  readonly #slots = new Map<AccountId, number>();
  #renewTimer: Timer | null = null;
  #deadlineTimer: Timer | null = null;
  #endTimer: Timer | null = null;
  #claiming = false;
  #stopped = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  get accounts(): readonly HeldAccount[] {
    return [...this.#held.values()].map(({ held }) => held);
  }

  /**
   * The first renewal and claim; later ones follow by themselves.
   * @throws LockstepError `configuration`: the name belongs to another live process
   */
  async start(): Promise<void> {
    await this.#renew();
    this.#schedule(this.#options.profile.renewMs);
    await this.#claim();
  }

  /** Gives every account back, then the lease. The accounts' actors must have stopped. */
  async stop(): Promise<void> {
    this.abandon();
    const { registry, me } = this.#options;
    for (const { held, slot } of this.#held.values()) {
      this.#options.gate.clearSlot(slot);
      await registry.release(me, held);
    }
    await registry.leave(me);
  }

  /** Ends without a word to the database: as in a process that dies. The lease runs out, or somebody ends it. */
  abandon(): void {
    this.#stopped = true;
    this.#renewTimer?.cancel();
    this.#deadlineTimer?.cancel();
    this.#endTimer?.cancel();
    this.#options.gate.trip();
  }

  /** Gives one account back that this node cannot serve; the next claim may bring it to another. */
  async giveUp(account: AccountId): Promise<void> {
    const slot = this.#held.get(account);
    if (slot === undefined) return;
    this.#options.gate.clearSlot(slot.slot);
    this.#held.delete(account);
    await this.#options.registry.release(this.#options.me, slot.held);
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    this.#renewTimer = this.#options.clock.after(delayMs, () => {
      const { profile, logger } = this.#options;
      this.#renew().then(
        () => {
          if (this.#stopped) return;
          this.#schedule(profile.renewMs);
          this.#claim().catch((error: unknown) => logger.warn({ error: messageOf(error) }, "no accounts claimed")); // 4
        },
        (error: unknown) => {
          // Invariant 2.
          logger.warn({ error: messageOf(error) }, "lease not renewed");
          this.#schedule(profile.retryMs);
        },
      );
    });
  }

  async #claim(): Promise<void> {
    const { registry, me, profile, capacity } = this.#options;
    const room = capacity - this.#held.size;
    if (room === 0 || this.#claiming) return;
    this.#claiming = true;
    try {
      const claimed = await registry.claim(me, { limit: room, freeForMs: 3_000, liveForMs: profile.renewMs + 2 * profile.retryMs, avoid: [] });
      // What was claimed while we stopped is given back with the lease itself.
      if (!this.#stopped) for (const held of claimed) this.#take(held);
    } finally {
      this.#claiming = false;
    }
  }

  async #renew(): Promise<void> {
    const { registry, me, profile, clock, gate, capacity } = this.#options;
    const seen = gate.state();
    // What is claimed while the renewal is under way may not be in its reply.
    const heldBefore = [...this.#held.values()];
    // Invariant 1.
    const reachMs = profile.ttlMs - profile.marginMs;
    const deadline: Deadline = { monotonicMs: clock.monotonicMs() + reachMs, wallMs: clock.wallMs() + reachMs };
    const reply = await registry.renew(me, { ttlMs: profile.ttlMs, timeoutMs: reachMs, report: { accepting: true, logOk: true, capacity, platforms: ["mt4", "mt5"], address: null } });
    if (this.#stopped) return;
    if (!reply.held) throw new LockstepError("configuration", `node name ${me.node} belongs to another live process: give every node a name of its own`);
    if (gate.lifted && !reply.wasLive) this.#trip("the lease had lapsed");
    this.#compare(heldBefore, reply.accounts);
    if (gate.lifted && !gate.extend(deadline)) this.#trip("the renewal came after the deadline");
    // Only on the state seen before the renewal: a trip that came meanwhile waits for the next one.
    if (!gate.lifted && gate.lift(seen, deadline)) this.#options.onLift();
    this.#watch(deadline);
  }

  /** The gate needs no timer to be closed; whoever waits for a call does. */
  #watch(deadline: Deadline): void {
    const { clock, gate } = this.#options;
    if (!gate.lifted) return;
    this.#deadlineTimer?.cancel();
    this.#endTimer?.cancel();
    const leftMs = deadline.monotonicMs - clock.monotonicMs();
    this.#deadlineTimer = clock.after(leftMs, () => this.#trip("the deadline passed"));
    this.#endTimer = clock.after(leftMs + this.#options.profile.marginMs, () => this.#options.onLeaseEnd());
  }

  #trip(why: string): void {
    this.#deadlineTimer?.cancel();
    this.#options.gate.trip();
    this.#options.metrics.count("lease_trips");
    this.#options.logger.error({ node: this.#options.me.node, why }, "fenced: this node cannot prove its lease");
    this.#options.onTrip();
  }

  /** Forgets what the database says is not ours at our epoch, takes what it says is. */
  #compare(heldBefore: readonly Slot[], listed: readonly HeldAccount[]): void {
    const { logger, gate, onLost } = this.#options;
    const mine = new Map(listed.map((held) => [held.account, held]));
    for (const { held, slot } of heldBefore) {
      const { account } = held;
      if (mine.get(account)?.epoch === held.epoch) continue;
      logger.error({ account }, "account no longer owned by this node");
      gate.clearSlot(slot);
      this.#held.delete(account);
      onLost(account);
    }
    for (const held of listed) this.#take(held);
  }

  #take(held: HeldAccount): void {
    if (this.#held.has(held.account)) return;
    const slot = this.#slots.get(held.account) ?? this.#slots.size;
    if (slot >= this.#options.gate.slots) return this.#options.logger.error({ account: held.account }, "no gate slot left: the account is not traded by this process");
    this.#slots.set(held.account, slot);
    this.#held.set(held.account, { held, slot });
    this.#options.gate.setEpoch(slot, held.epoch);
    this.#options.onAcquired(held, slot);
  }
}
