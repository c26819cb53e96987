// Owns which accounts come to this node and go from it while its lease is live: claims on a poll of
// their own, surplus handed back gracefully, and accounts that it could not serve.
//
// 1. Nothing here delays a renewal, and nothing is claimed by a node that cannot prove its lease.
// 2. Surplus goes one account at a time, on shares that were read after the one before had gone.
// 3. Handed back means: its actor has drained, the log has what it said, only then is the row free.
// 4. What this node owns without having asked for it, or any more, goes back.

import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { HeldAccount, Identity, NodeReport, PlatformShare, Registry } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import { messageOf } from "../../protocol/errors.ts";
import { freeForMs, liveForMs, type LeaseProfile } from "../core/leaseProfile.ts";
import { grow, surplus, type GrowingPause, type PauseBounds } from "../core/leaseShare.ts";
import type { SharedGate } from "../executor/sharedGate.ts";
import type { HeldAccounts } from "./heldAccounts.ts";
import { within } from "../../protocol/waiting.ts";

export interface ClaimsOptions {
  readonly registry: Registry;
  readonly me: Identity;
  readonly profile: LeaseProfile;
  readonly gate: SharedGate;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What the node says of itself, as long as it runs. */
  readonly report: () => Omit<NodeReport, "accepting">;
  /** Null: not configured here (yet), so it is not handed back as surplus. */
  readonly platformOf: (account: AccountId) => Platform | null;
  readonly onAcquired: (held: HeldAccount, slot: number) => void;
  /** Ends the account's actor after its orders under way, and resolves when the log has what it said (3). Bounded. */
  readonly onHandBack: (account: AccountId) => Promise<void>;
}

/** Accounts of a node that stops are handed back this many at a time: each waits mostly for its broker. */
const DRAINED_AT_ONCE = 16;
/** Not longer: when every node avoids an account, nobody serves it until then. */
const AVOIDANCE: PauseBounds = { firstMs: 30_000, longestMs: 120_000, forgetMs: 600_000 };
/** What comes back within this was not taken by the node it was meant for. */
const RETURN_MS = 60_000;
const REST: PauseBounds = { firstMs: 30_000, longestMs: 600_000, forgetMs: RETURN_MS };

export class Claims {
  readonly #options: ClaimsOptions;
  readonly #held: HeldAccounts;
  /** Accounts that could not be served here. */
  readonly #avoided = new Map<AccountId, GrowingPause>();
  /** When an account was handed back as surplus. */
  readonly #handedBackAtMs = new Map<AccountId, number>();
  readonly #leaving = new Map<AccountId, Promise<void>>();
  #rest: GrowingPause | undefined;
  #timer: Timer | null = null;
  #claiming = false;
  #closed = false;
  #stopped = false;
  #surplusUnderWay = false;
  /** Shares that were asked for before this say nothing about what is left (2). */
  #spreadChangedAtMs = 0;

  constructor(options: ClaimsOptions, held: HeldAccounts) {
    this.#options = options;
    this.#held = held;
  }

  /** Nothing is taken any more; what is held goes back. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Claims now, and then at each poll; resolves after the first claim. */
  async start(): Promise<void> {
    await this.#claim();
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** As in a process that dies. */
  stop(): void {
    this.close();
    this.#stopped = true;
  }

  /** An account that the database says is ours: from a claim, or from a renewal's list. */
  take(held: HeldAccount): void {
    const { logger, onAcquired } = this.#options;
    if (this.#stopped) return;
    if (this.#closed && this.#held.get(held.account) === null) return void this.#release(held); // (4)
    const taken = this.#held.take(held);
    switch (taken.kind) {
      case "taken":
        this.#noteReturn(held.account);
        return onAcquired(held, taken.slot);
      case "known":
        return;
      case "over":
        return void this.#release(held); // (4) its release was lost
      case "full":
        logger.error({ account: held.account }, "no gate slot left: given back, for another process to trade");
        this.#avoid(held.account);
        this.#held.giveBack(held);
        return void this.#release(held);
    }
  }

  /** `sentAtMs`: when the renewal was sent that told the shares. */
  balance(shares: readonly PlatformShare[], sentAtMs: number): void {
    const { clock, platformOf, logger, report } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#closed || this.#surplusUnderWay || this.#isResting(nowMs) || sentAtMs < this.#spreadChangedAtMs || !report().logOk) return;
    const movable = this.#held.all.filter(({ account }) => !this.#leaving.has(account)).map(({ account }) => ({ account, platform: platformOf(account) }));
    const account = surplus(shares, movable);
    if (account === null) return;
    logger.info({ account }, "handed back: another node has room for it");
    this.#handedBackAtMs.set(account, nowMs);
    this.#surplusUnderWay = true;
    void this.handBack(account).finally(() => {
      this.#surplusUnderWay = false;
      this.#spreadChangedAtMs = clock.monotonicMs();
    });
  }

  /** Gracefully (3). Never rejects: what could not be released is found by the next renewal, or ends with the lease. */
  handBack(account: AccountId): Promise<void> {
    const held = this.#held.get(account);
    if (held === null) return Promise.resolve();
    const leaving = this.#leaving.get(account) ?? this.#leave(held).finally(() => this.#leaving.delete(account));
    this.#leaving.set(account, leaving);
    return leaving;
  }

  async handBackAll(): Promise<void> {
    const waiting = this.#held.all.map(({ account }) => account);
    const worker = async (): Promise<void> => {
      for (let account = waiting.shift(); account !== undefined; account = waiting.shift()) await this.handBack(account);
    };
    await Promise.all(Array.from({ length: DRAINED_AT_ONCE }, worker));
  }

  /** Gives back an account that cannot be served here, gracefully (3), and leaves it to others for a growing pause. Never rejects. */
  giveUp(account: AccountId): Promise<void> {
    if (this.#held.get(account) !== null) this.#avoid(account);
    return this.handBack(account);
  }

  /** For a growing pause; one that is avoided already is avoided for no longer. */
  #avoid(account: AccountId): void {
    const nowMs = this.#options.clock.monotonicMs();
    const old = this.#avoided.get(account);
    if (old === undefined || nowMs >= old.untilMs) this.#avoided.set(account, grow(old, nowMs, AVOIDANCE));
  }

  async #leave(held: HeldAccount): Promise<void> {
    const { onHandBack, logger } = this.#options;
    const { account } = held;
    try {
      await onHandBack(account);
    } catch (error) {
      logger.warn({ account, error: messageOf(error) }, "handed back without everything in the log");
    }
    if (this.#stopped || this.#held.get(account)?.epoch !== held.epoch) return;
    this.#held.giveBack(held);
    await this.#release(held);
  }

  #schedule(): void {
    if (this.#closed) return;
    const { clock, profile } = this.#options;
    this.#timer = clock.after(profile.claimPollMs, () => {
      void this.#claim();
      this.#schedule();
    });
  }

  async #claim(): Promise<void> {
    const { registry, me, profile, gate, clock, logger, report } = this.#options;
    const limit = report().capacity - this.#held.size;
    if (this.#claiming || this.#closed || !gate.lifted || limit <= 0) return; // (1)
    this.#claiming = true;
    const nowMs = clock.monotonicMs();
    const avoid = [...this.#avoided].filter(([, { untilMs }]) => nowMs < untilMs).map(([account]) => account);
    try {
      const claim = registry.claim(me, { limit, freeForMs: freeForMs(profile), liveForMs: liveForMs(profile), avoid });
      // A claim that is answered too late has happened all the same: the next renewal lists what it took.
      for (const held of await within(clock, profile.queryTimeoutMs, "claim", claim)) this.take(held);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "no accounts claimed");
    } finally {
      this.#claiming = false;
    }
  }

  async #release(held: HeldAccount): Promise<void> {
    const { registry, me, profile, clock, logger } = this.#options;
    try {
      await within(clock, profile.queryTimeoutMs, "release", registry.release(me, held));
    } catch (error) {
      logger.warn({ account: held.account, error: messageOf(error) }, "account not given back yet");
    }
  }

  #noteReturn(account: AccountId): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    const atMs = this.#handedBackAtMs.get(account);
    this.#handedBackAtMs.delete(account);
    // Several that come back together, as from a node that left, are one reason.
    if (atMs === undefined || nowMs - atMs > RETURN_MS || this.#isResting(nowMs)) return;
    this.#rest = grow(this.#rest, nowMs, REST);
    logger.warn({ account }, "handed back, and back again: nothing more is handed back for a while");
  }

  #isResting(nowMs: number): boolean {
    return this.#rest !== undefined && nowMs < this.#rest.untilMs;
  }
}
