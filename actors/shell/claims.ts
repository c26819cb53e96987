// Owns which accounts come to this node and go from it while its lease is live: claims on a poll of
// their own, surplus handed back gracefully, and accounts that it could not serve.
//
// 1. Nothing here delays a renewal, and nothing is claimed by a node that cannot prove its lease.
// 2. Surplus goes one account at a time, on shares that were read after the one before had gone.
// 3. Handed back means: its actor has drained, the log has what it said, only then is the row free.
// 4. What this node owns without having asked for it, or any more, goes back.
// 5. A claim's answer counts only if the gate was open without a break since it was asked for. What
//    an answer gave that does not count, or was lost, the next renewal lists: it is taken then.

import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { HeldAccount, Identity, NodeReport, OwnedAccount, PlatformShare, Registry } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import { messageOf } from "../../protocol/errors.ts";
import { freeForMs, liveForMs, type LeaseProfile } from "../core/leaseProfile.ts";
import { patienceMs } from "../core/leaseDeadline.ts";
import { grow, surplus, type GrowingPause, type PauseBounds } from "../core/leaseShare.ts";
import type { SharedGate } from "../executor/sharedGate.ts";
import type { HeldAccounts, Holding } from "./heldAccounts.ts";
import type { LeaseClocks } from "./leaseClocks.ts";
import { within } from "../../protocol/waiting.ts";

export interface ClaimsOptions {
  readonly registry: Registry;
  readonly me: Identity;
  readonly profile: LeaseProfile;
  readonly gate: SharedGate;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly journal: Journal;
  /** How long after its sending an order may still be executed. */
  readonly settleMs: number;
  /** What the node says of itself, as long as it runs. */
  readonly report: () => Omit<NodeReport, "accepting">;
  /** Null: not configured here (yet), so it is not handed back as surplus. */
  readonly platformOf: (account: AccountId) => Platform | null;
  /** It came to this node, and the gate is open for it. */
  readonly onAcquired: (owned: OwnedAccount, slot: number) => void;
  /**
   * Ends the account's actor after its orders under way, and resolves when the log has what it said (3), with for how long
   * one of its orders may still be executed: 0 when all are answered. Bounded.
   */
  readonly onHandBack: (account: AccountId) => Promise<number>;
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
  readonly #clocks: LeaseClocks;
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

  constructor(options: ClaimsOptions, held: HeldAccounts, clocks: LeaseClocks) {
    this.#options = options;
    this.#held = held;
    this.#clocks = clocks;
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

  /** By the answer to a claim, or to a take of what a claim gave whose answer was lost. */
  acquired(owned: OwnedAccount): void {
    const { logger, journal, onAcquired } = this.#options;
    const { account, epoch, settleLeftMs } = owned;
    if (this.#stopped) return;
    if (this.#closed && this.#held.get(account) === null) return this.release(owned); // (4)
    const taken = this.#held.take(owned);
    switch (taken.kind) {
      case "taken":
        this.#noteReturn(account);
        journal.note({ account, epoch }, "claimed", { settleLeftMs: Math.round(settleLeftMs) });
        return onAcquired(owned, taken.slot);
      case "known":
        return;
      case "full":
        logger.error({ account }, "every place of the gate is taken: given back, for another process to trade");
        this.#avoid(account);
        this.#held.giveBack(owned, 0);
        return this.release(owned);
    }
  }

  /** Whether an account should be taken that is listed as ours and that nobody told us of. What cannot be served goes back (4). */
  wants(listed: HeldAccount): boolean {
    if (this.#closed || this.#isAvoided(listed.account) || this.#held.isOver(listed)) {
      this.release(listed);
      return false;
    }
    return !this.#claiming; // else it may be what that claim is about to tell
  }

  /** It is being handed back: its actor ends. */
  isLeaving(account: AccountId): boolean {
    return this.#leaving.has(account);
  }

  /** Nobody waits for it: what is not released is listed again. */
  release(held: HeldAccount): void {
    if (!this.#stopped) void this.#release(held);
  }

  /** `sentAtMs`: when the renewal was sent that told the shares. */
  balance(shares: readonly PlatformShare[], sentAtMs: number): void {
    const { clock, platformOf, logger, report } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#closed || this.#surplusUnderWay || this.#isResting(nowMs) || sentAtMs < this.#spreadChangedAtMs || !report().logOk) return;
    const movable = this.#held.holdings.filter(({ account, confirmed }) => confirmed && !this.#leaving.has(account)).map(({ account }) => ({ account, platform: platformOf(account) }));
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
    const holding = this.#held.get(account);
    if (holding === null) return Promise.resolve();
    const leaving = this.#leaving.get(account) ?? this.#leave(holding).finally(() => this.#leaving.delete(account));
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
    const holding = this.#held.get(account);
    if (holding !== null) {
      this.#avoid(account);
      this.#options.journal.note({ account, epoch: holding.epoch }, "given_up", {});
    }
    return this.handBack(account);
  }

  /** For a growing pause; one that is avoided already is avoided for no longer. */
  #avoid(account: AccountId): void {
    const nowMs = this.#options.clock.monotonicMs();
    const old = this.#avoided.get(account);
    if (old === undefined || nowMs >= old.untilMs) this.#avoided.set(account, grow(old, nowMs, AVOIDANCE));
  }

  #isAvoided(account: AccountId): boolean {
    return this.#options.clock.monotonicMs() < (this.#avoided.get(account)?.untilMs ?? -Infinity);
  }

  async #leave(holding: Holding): Promise<void> {
    const { clock } = this.#options;
    const { account } = holding;
    const unsettledMs = await this.#drained(account);
    if (this.#stopped || this.#held.get(account) !== holding) return;
    const held = { account, epoch: holding.epoch }; // a lift meanwhile may have raised it
    this.#held.giveBack(held, clock.monotonicMs() + unsettledMs);
    await this.#release(held);
  }

  /** An end of which nothing is known may have left an order that was just sent. */
  async #drained(account: AccountId): Promise<number> {
    const { onHandBack, logger, settleMs } = this.#options;
    try {
      return await onHandBack(account);
    } catch (error) {
      logger.warn({ account, error: messageOf(error) }, "handed back without everything in the log");
      return settleMs;
    }
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
    const { registry, me, profile, gate, clock, logger, report, settleMs } = this.#options;
    const limit = report().capacity - this.#held.size;
    const [fence, expected] = [gate.state(), this.#clocks.expected];
    if (this.#claiming || this.#closed || expected === null || !gate.isStill(fence) || limit <= 0) return; // (1)
    this.#claiming = true;
    const avoid = [...this.#avoided.keys()].filter((account) => this.#isAvoided(account));
    const terms = { limit, freeForMs: freeForMs(profile), liveForMs: liveForMs(profile), avoid, settleMs, expected, leaveLapsed: this.#clocks.leaveLapsed };
    try {
      const owned = await within(clock, patienceMs(profile, gate.leftMs()), "claim", registry.claim(me, terms));
      if (gate.isStill(fence)) for (const one of owned) this.acquired(one); // (5)
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "no accounts claimed");
    } finally {
      this.#claiming = false;
    }
  }

  async #release({ account, epoch }: HeldAccount): Promise<void> {
    const { registry, me, profile, clock, logger, journal } = this.#options;
    const held = { account, epoch };
    const unsettledMs = this.#held.unsettledMs(account, clock.monotonicMs());
    try {
      const isReleased = await within(clock, profile.queryTimeoutMs, "release", registry.release(me, held, unsettledMs));
      if (isReleased) journal.note(held, "released", { unsettledMs: Math.round(unsettledMs) });
    } catch (error) {
      logger.warn({ account, error: messageOf(error) }, "account not given back yet");
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
