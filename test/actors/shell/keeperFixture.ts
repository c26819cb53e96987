// Owns the setting of the lease keeper's cases: one keeper on fake time, and a registry by script.

import { STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../../actors/shell/leaseKeeper.ts";
import { isLockstepError, LockstepError } from "../../../protocol/errors.ts";
import { accountId, bootId, nodeId, type AccountId, type Epoch } from "../../../protocol/ids.ts";
import type { Journal } from "../../../protocol/ports/journal.ts";
import type { ClaimTerms, HeldAccount, Identity, OwnedAccount, Registry, RenewReply, RenewTerms, TakeTerms } from "../../../protocol/ports/storage.ts";
import { CountingMetrics } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingJournal } from "../../support/recordingJournal.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const ME: Identity = { node: nodeId("node1"), boot: bootId("boot1") };
/** How long a renewal keeps the gate open. */
export const REACH_MS = STEADY.ttlMs - STEADY.marginMs;
export const SETTLE_MS = 30_000;
export const held = (id: string, epoch: number): HeldAccount => ({ account: accountId(id), epoch: epoch as Epoch });
export const owned = (id: string, epoch: number, settleLeftMs = 0): OwnedAccount => ({ ...held(id, epoch), settleLeftMs });

type Call = "renew" | "claim" | "take" | "release";

/** A registry by script, with one free account and a delay. A lease once given stays live unless the script says otherwise. */
export class ScriptedRegistry implements Registry {
  readonly clock: FakeScheduler;
  owned: HeldAccount[] = [];
  free: HeldAccount[] = [held("a", 1)];
  reply: Partial<RenewReply> = {};
  down = false;
  /** Calls that are never carried out, and calls that are and whose answer is never heard. */
  readonly loseRequests = new Set<Call>();
  readonly loseReplies = new Set<Call>();
  /** Rows that another session has locked. */
  readonly locked = new Set<AccountId>();
  /** Of the database's clock against ours. */
  clockOffsetMs = 1_000_000;
  timeline: number | null = 1;
  answerAfterMs = 10;
  readonly renewals: RenewTerms[] = [];
  readonly claims: ClaimTerms[] = [];
  readonly takes: { readonly accounts: readonly HeldAccount[]; readonly terms: TakeTerms }[] = [];
  readonly released: AccountId[] = [];
  readonly releasedUnsettledMs: number[] = [];
  readonly sweeps: number[] = [];
  left = 0;
  #isLeased = false;

  constructor(clock: FakeScheduler) {
    this.clock = clock;
  }

  /** What a renewal says now. */
  answer(more: Partial<RenewReply> = {}): RenewReply {
    const clock = { nowMs: this.clock.monotonicMs() + this.clockOffsetMs, timeline: this.timeline };
    return { held: true, wasLive: true, accounts: [...this.owned], othersLogOk: false, shares: [], clock, ...this.reply, ...more };
  }

  renew(_: Identity, terms: RenewTerms): Promise<RenewReply> {
    this.renewals.push(terms);
    return this.#asked("renew", () => {
      const wasLive = this.#isLeased;
      this.#isLeased = true;
      return this.answer({ wasLive, ...this.reply });
    });
  }

  claim(_: Identity, terms: ClaimTerms): Promise<readonly OwnedAccount[]> {
    this.claims.push(terms);
    return this.#asked("claim", () => {
      const taken = this.free.splice(0, terms.limit);
      this.owned.push(...taken);
      return taken.map((one) => ({ ...one, settleLeftMs: 0 }));
    });
  }

  take(_: Identity, accounts: readonly HeldAccount[], terms: TakeTerms): Promise<readonly OwnedAccount[]> {
    this.takes.push({ accounts, terms });
    return this.#asked("take", () => {
      const isTaken = ({ account, epoch }: HeldAccount): boolean => !this.locked.has(account) && accounts.some((one) => one.account === account && one.epoch === epoch);
      const taken = this.owned.filter(isTaken).map(({ account, epoch }) => owned(account, epoch + 1));
      this.owned = this.owned.map((one) => taken.find(({ account }) => account === one.account) ?? one).map(({ account, epoch }) => ({ account, epoch }));
      return taken;
    });
  }

  release(_: Identity, { account }: HeldAccount, unsettledMs: number): Promise<boolean> {
    this.released.push(account);
    this.releasedUnsettledMs.push(unsettledMs);
    this.owned = this.owned.filter((one) => one.account !== account);
    return Promise.resolve(true);
  }

  async leave(): Promise<void> {
    this.left += 1;
    return Promise.resolve();
  }

  sweep(deadForMs: number): Promise<number> {
    return Promise.resolve(this.sweeps.push(deadForMs));
  }

  #asked<T>(call: Call, work: () => T): Promise<T> {
    if (this.loseRequests.has(call)) return new Promise(() => undefined);
    const isHeard = !this.loseReplies.has(call);
    return new Promise((resolve, reject) =>
      this.clock.after(this.answerAfterMs, () => {
        if (this.down) return reject(new LockstepError("database_busy", "no connection"));
        const result = work();
        if (isHeard) resolve(result);
      }),
    );
  }
}

interface Setting {
  readonly capacity?: number;
  /** Of the gate. */
  readonly places?: number;
  readonly profile?: LeaseProfile;
  readonly handBackMs?: number;
  readonly unsettledMs?: number;
  readonly flush?: () => Promise<void>;
  /** Before an account is told that it goes on. */
  readonly onConfirmed?: (account: AccountId) => void;
}

export function keeping({ capacity = 4, places = capacity, profile = STEADY, handBackMs = 100, unsettledMs = 0, flush = () => Promise.resolve(), onConfirmed = () => undefined }: Setting = {}) {
  const clock = new FakeScheduler(1);
  const registry = new ScriptedRegistry(clock);
  const gate = SharedGate.create(places, clock);
  const told: string[] = [];
  const metrics = new CountingMetrics();
  const logger = recordingLogger();
  const notes = recordingJournal();
  const journal: Journal = {
    note(subject, event, detail) {
      notes.note(subject, event, detail);
      if (event === "lifted") told.push("lift");
    },
  };
  const keeper = new LeaseKeeper({
    registry, me: ME, profile, gate, clock, logger, metrics, journal,
    settleMs: SETTLE_MS,
    report: () => ({ logOk: true, capacity, platforms: ["mt4", "mt5"], address: null }),
    platformOf: () => "mt4",
    onHandBack: async (account) => {
      told.push(`draining ${account}`);
      await new Promise<void>((resolve) => void clock.after(handBackMs, resolve));
      await flush();
      return unsettledMs;
    },
    onFatal: (error) => told.push(`fatal ${isLockstepError(error) ? error.code : "other"}`),
    onAcquired: ({ account, epoch }, slot) => told.push(`acquired ${account} at ${epoch} in ${slot}`),
    onConfirmed: ({ account, epoch }) => {
      onConfirmed(account);
      told.push(`confirmed ${account} at ${epoch}`);
    },
    onLost: (account) => told.push(`lost ${account}`),
    onTrip: () => told.push("trip"),
    onLeaseEnd: () => told.push("lease end"),
  });
  const check = (epoch = 1, slot = 0) => gate.check({ slot, epoch: epoch as Epoch });
  return { clock, registry, gate, told, metrics, logger, notes, keeper, check };
}
