// Owns the setting of the lease keeper's cases: one keeper on fake time, and a registry by script.

import { STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../../actors/shell/leaseKeeper.ts";
import { isLockstepError, LockstepError } from "../../../protocol/errors.ts";
import { accountId, bootId, nodeId, type AccountId, type Epoch } from "../../../protocol/ids.ts";
import type { ClaimTerms, HeldAccount, Identity, Registry, RenewReply, RenewTerms } from "../../../protocol/ports/storage.ts";
import { CountingMetrics } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const ME: Identity = { node: nodeId("node1"), boot: bootId("boot1") };
/** How long a renewal keeps the gate open. */
export const REACH_MS = STEADY.ttlMs - STEADY.marginMs;
export const held = (id: string, epoch: number): HeldAccount => ({ account: accountId(id), epoch: epoch as Epoch });

/** A registry by script, with one free account and a delay. A lease once given stays live unless the script says otherwise. */
export class ScriptedRegistry implements Registry {
  readonly clock: FakeScheduler;
  owned: HeldAccount[] = [];
  free: HeldAccount[] = [held("a", 1)];
  reply: Partial<RenewReply> = {};
  down = false;
  answerAfterMs = 10;
  readonly renewals: RenewTerms[] = [];
  readonly released: AccountId[] = [];
  left = 0;
  #isLeased = false;

  constructor(clock: FakeScheduler) {
    this.clock = clock;
  }

  async renew(_: Identity, terms: RenewTerms): Promise<RenewReply> {
    this.renewals.push(terms);
    await this.#time();
    const wasLive = this.#isLeased;
    this.#isLeased = true;
    return { held: true, wasLive, accounts: [...this.owned], othersLogOk: false, shares: [], ...this.reply };
  }

  async claim(_: Identity, { limit }: ClaimTerms): Promise<readonly HeldAccount[]> {
    await this.#time();
    const taken = this.free.splice(0, limit);
    this.owned.push(...taken);
    return taken;
  }

  async release(_: Identity, { account }: HeldAccount): Promise<boolean> {
    this.released.push(account);
    this.owned = this.owned.filter((one) => one.account !== account);
    return Promise.resolve(true);
  }

  async leave(): Promise<void> {
    this.left += 1;
    return Promise.resolve();
  }

  #time(): Promise<void> {
    return new Promise((resolve, reject) => this.clock.after(this.answerAfterMs, () => (this.down ? reject(new LockstepError("database_busy", "no connection")) : resolve())));
  }
}

export function keeping({ capacity = 4, profile = STEADY, handBackMs = 100, flush = () => Promise.resolve() }: { readonly capacity?: number; readonly profile?: LeaseProfile; readonly handBackMs?: number; readonly flush?: () => Promise<void> } = {}) {
  const clock = new FakeScheduler(1);
  const registry = new ScriptedRegistry(clock);
  const gate = SharedGate.create(capacity, clock);
  const told: string[] = [];
  const metrics = new CountingMetrics();
  const logger = recordingLogger();
  const keeper = new LeaseKeeper({
    registry, me: ME, profile, gate, clock, logger, metrics,
    report: () => ({ logOk: true, capacity, platforms: ["mt4", "mt5"], address: null }),
    platformOf: () => "mt4",
    onHandBack: async (account) => {
      told.push(`draining ${account}`);
      await new Promise<void>((resolve) => void clock.after(handBackMs, resolve));
      await flush();
    },
    onFatal: (error) => told.push(`fatal ${isLockstepError(error) ? error.code : "other"}`),
    onAcquired: ({ account, epoch }, slot) => told.push(`acquired ${account} at ${epoch} in ${slot}`),
    onLost: (account) => told.push(`lost ${account}`),
    onTrip: () => told.push("trip"),
    onLeaseEnd: () => told.push("lease end"), onLift: () => told.push("lift"),
  });
  const check = (epoch = 1, slot = 0) => gate.check({ slot, epoch: epoch as Epoch });
  return { clock, registry, gate, told, metrics, logger, keeper, check };
}
