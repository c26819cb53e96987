// Owns the confirming of accounts by Take, beside the renew loop: all of them before the gate is opened, and
// afterwards one by one those that could not be confirmed then or that nobody told us of.
//
// 1. A round rests on one renewal: the accounts its list gives to us are each taken at the listed epoch, and the gate is
//    lifted on the fence that this renewal saw before it was sent, until that renewal's deadline. Whoever judged
//    our lease before it was live again, and has an account, raised its epoch: our take fails. Whoever comes after
//    our take fails on the epoch that we raised.
//    A later renewal that found the lease live lends the round its own deadline, as it would an open gate.
// 2. A renewal that found the lease lapsed begins a round of its own, and nothing that is still under way of
//    the one before counts any more. An answer of a take that was not heard in time never does: a later list
//    shows what it did.
// 3. What was not taken stays fenced alone, and is tried again after each renewal. A round in which the
//    database answered nothing at all opens nothing. So does one whose actor could not be told: it would go on at its old epoch.
// 4. While the gate is open an answer counts only if it was open without a break since the question.
// 5. At most so many accounts are asked for at once, and nothing is waited for that comes too late to count.

import type { AccountId } from "../../protocol/ids.ts";
import type { HeldAccount, OwnedAccount } from "../../protocol/ports/storage.ts";
import { messageOf } from "../../protocol/errors.ts";
import { within } from "../../protocol/waiting.ts";
import { leftMs, patienceMs, type Moment } from "../core/leaseDeadline.ts";
import type { FenceState } from "../executor/sharedGate.ts";
import type { Claims, ClaimsOptions } from "./claims.ts";
import type { HeldAccounts } from "./heldAccounts.ts";
import type { LeaseClocks } from "./leaseClocks.ts";

/** What a renewal proved: the fence as it was before it was sent, and until when its answer is good. */
export interface Proof {
  readonly fence: FenceState;
  readonly deadline: Moment;
}

export interface ConfirmationsOptions extends ClaimsOptions {
  /** The gate is open for this account at its new epoch: after a lift, or later for one that was fenced alone. Its actor goes on at it. */
  readonly onConfirmed: (held: HeldAccount) => void;
}

export interface Rounds {
  /** The gate has just been opened; the accounts are told next. */
  readonly onLifted: (proof: Proof) => void;
  readonly onNotLifted: (why: string) => void;
}

interface Round extends Proof {
  deadline: Moment;
}

/** Accounts of one statement (5). */
const TAKEN_AT_ONCE = 100;

export class Confirmations {
  readonly #options: ConfirmationsOptions & Rounds;
  readonly #held: HeldAccounts;
  readonly #claims: Claims;
  readonly #clocks: LeaseClocks;
  #round: Round | null = null;
  #catchingUp = false;

  constructor(options: ConfirmationsOptions & Rounds, held: HeldAccounts, claims: Claims, clocks: LeaseClocks) {
    this.#options = options;
    this.#held = held;
    this.#claims = claims;
    this.#clocks = clocks;
  }

  /** After a renewal that found the lease live. True: a round is under way that can still open this fence, and has as long now as this renewal gives. */
  goesOn({ fence, deadline }: Proof): boolean {
    const round = this.#round;
    if (round?.fence !== fence || leftMs(round.deadline, this.#clocks.now) === 0) return false;
    round.deadline = deadline;
    return true;
  }

  /** What is under way counts no more. */
  stop(): void {
    this.#round = null;
  }

  /** Invariants 1 to 3. Without any account the gate is lifted in this turn. Never rejects. */
  async lift(proof: Proof, unknown: readonly HeldAccount[]): Promise<void> {
    const round = (this.#round = { ...proof }); // (2)
    this.#held.unconfirmAll();
    const all = this.#held.holdings.map(({ account }) => account);
    let isAnswered = all.length === 0;
    for (const batch of batches(all)) {
      const taken = await this.#take(this.#asHeld(batch), leftMs(round.deadline, this.#clocks.now));
      if (this.#round !== round) return; // (2)
      isAnswered ||= taken !== null;
      for (const owned of taken ?? []) this.#isHeldOn(owned);
    }
    this.#round = null;
    if (!isAnswered) return this.#options.onNotLifted("no account could be confirmed"); // (3)
    this.#open(round);
    if (unknown.length > 0) await this.catchUp(unknown);
  }

  /** After a renewal while the gate is open: what is not confirmed, and what is listed and not known (4). Never rejects. */
  async catchUp(unknown: readonly HeldAccount[]): Promise<void> {
    const { gate, logger } = this.#options;
    if (this.#catchingUp || !gate.lifted) return;
    const fence = gate.state();
    const wanted = unknown.filter((listed) => this.#claims.wants(listed));
    const all = [...this.#held.holdings.filter(({ confirmed }) => !confirmed), ...wanted].map(({ account }) => account);
    this.#catchingUp = true;
    try {
      for (const batch of batches(all)) {
        const asked = [...this.#asHeld(batch), ...wanted.filter(({ account }) => batch.includes(account) && this.#held.get(account) === null)];
        const taken = await this.#take(asked, gate.leftMs());
        if (!gate.isStill(fence)) break; // (4)
        for (const owned of taken ?? []) {
          if (wanted.some(({ account }) => account === owned.account) && this.#held.get(owned.account) === null) this.#claims.acquired(owned);
          else if (this.#isHeldOn(owned)) {
            logger.info({ account: owned.account }, "account confirmed: it is traded again");
            this.#goesOnAt(owned);
          }
        }
      }
    } catch (error) {
      logger.error({ accounts: all.length, error: messageOf(error) }, "accounts not confirmed: tried again after the next renewal");
    } finally {
      this.#catchingUp = false;
    }
  }

  #open({ fence, deadline }: Proof): void {
    const { gate, onLifted, onNotLifted, logger, journal } = this.#options;
    const remainingMs = leftMs(deadline, this.#clocks.now);
    if (remainingMs === 0) return onNotLifted("its window closed while accounts were confirmed");
    if (!gate.lift(fence, deadline)) return onNotLifted("the fence was tripped meanwhile");
    const holdings = this.#held.holdings;
    const confirmed = holdings.filter((holding) => holding.confirmed && !this.#claims.isLeaving(holding.account));
    const alone = holdings.filter((holding) => !holding.confirmed && !this.#claims.isLeaving(holding.account));
    journal.note(null, "lifted", { accounts: confirmed.length, alone: alone.length, leftMs: Math.round(remainingMs) });
    for (const { account } of alone) logger.error({ account }, "account fenced alone: it could not be confirmed");
    onLifted({ fence, deadline });
    if (!gate.lifted) return;
    for (const holding of confirmed) this.#goesOnAt(holding);
  }

  /** Invariant 3: the trouble of one is not the others'. */
  #goesOnAt({ account, epoch }: HeldAccount): void {
    const { onConfirmed, logger } = this.#options;
    try {
      onConfirmed({ account, epoch });
    } catch (error) {
      this.#held.unconfirm({ account, epoch });
      logger.error({ account, error: messageOf(error) }, "account fenced alone: its actor could not be told that it goes on");
    }
  }

  /** Those that are still to be confirmed, as they are now: a list that came meanwhile may know better. */
  #asHeld(accounts: readonly AccountId[]): HeldAccount[] {
    return accounts.flatMap((account) => {
      const holding = this.#held.get(account);
      return holding === null || holding.confirmed || this.#claims.isLeaving(account) ? [] : [{ account, epoch: holding.epoch }];
    });
  }

  /** Whether it is confirmed now. One that was given back while its take was under way goes back at its new epoch. */
  #isHeldOn({ account, epoch }: OwnedAccount): boolean {
    const before = this.#held.get(account)?.epoch ?? null;
    const isConfirmed = this.#held.confirm({ account, epoch });
    if (isConfirmed) this.#options.journal.note({ account, epoch }, "confirmed", { from: before });
    else this.#claims.release({ account, epoch });
    return isConfirmed;
  }

  /** Null: it was not answered in time to count (5). */
  async #take(asked: readonly HeldAccount[], worthForMs: number): Promise<readonly OwnedAccount[] | null> {
    const { registry, me, profile, settleMs, clock, logger } = this.#options;
    const [timeoutMs, expected] = [patienceMs(profile, worthForMs), this.#clocks.expected];
    if (asked.length === 0) return [];
    if (timeoutMs <= 0 || expected === null) return null;
    try {
      return await within(clock, timeoutMs, "take", registry.take(me, asked, { settleMs, expected, timeoutMs }));
    } catch (error) {
      logger.warn({ accounts: asked.length, error: messageOf(error) }, "accounts not confirmed yet");
      return null;
    }
  }
}

function batches(accounts: readonly AccountId[]): AccountId[][] {
  return Array.from({ length: Math.ceil(accounts.length / TAKEN_AT_ONCE) }, (_, index) => accounts.slice(index * TAKEN_AT_ONCE, (index + 1) * TAKEN_AT_ONCE));
}
