// Owns the setting of a cell whose nodes are lease keepers alone, on fake time and one in-memory
// database: who comes, goes and dies, and who holds what.
//
// 1. At no moment does the gate of two nodes stand open for one account: it is looked at after
//    every change and every few milliseconds.

import { STEADY, type LeaseProfile } from "../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../actors/shell/leaseKeeper.ts";
import { LockstepError } from "../../protocol/errors.ts";
import { accountId, bootId, cellId, nodeId, type AccountId, type BootId, type Epoch } from "../../protocol/ids.ts";
import type { Account } from "../../protocol/accounts.ts";
import type { HeldAccount, Identity, Registry } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import type { Storage } from "../../storage/storage.ts";
import { pause } from "../../protocol/waiting.ts";
import { recordingJournal } from "../support/recordingJournal.ts";
import { recordingLogger } from "../support/recordingLogger.ts";
import { CountingMetrics, elapsed } from "./cell.ts";
import { FakeScheduler } from "./scheduler.ts";

const LOOK_MS = 50;
const SETTLE_MS = 30_000;
/** A call to the database takes up to twice this. */
const HOP_MS = 4;

export interface NodePlan {
  readonly capacity?: number;
  readonly platforms?: readonly Platform[];
  /** How long an account's orders under way keep it. */
  readonly handBackMs?: (account: AccountId) => number;
}

export interface KeeperNode {
  readonly name: string;
  readonly keeper: LeaseKeeper;
  readonly fatal: Error[];
  /** Every account that came, with the epoch and when. */
  readonly acquired: { readonly account: AccountId; readonly epoch: Epoch; readonly atMs: number }[];
  readonly released: { readonly account: AccountId; readonly atMs: number }[];
  readonly lost: AccountId[];
  alive: boolean;
}

interface Member extends KeeperNode {
  readonly me: Identity;
  readonly gate: SharedGate;
  readonly permits: Map<AccountId, { readonly slot: number; readonly epoch: Epoch }>;
}

export class KeeperCell {
  readonly clock: FakeScheduler;
  readonly storage: Storage;
  readonly profile: LeaseProfile;
  readonly members: Member[] = [];
  /** What the nodes' calls find. */
  databaseDown = false;
  readonly #accounts = new Map<AccountId, Account>();
  #boots = 0;

  constructor(seed: number, profile: LeaseProfile = STEADY) {
    this.clock = new FakeScheduler(seed);
    this.storage = new MemoryDatabase(this.clock).storage(cellId("keepers"));
    this.profile = profile;
    this.#look();
  }

  get moves(): number {
    return this.members.reduce((sum, member) => sum + member.acquired.length, 0);
  }

  get living(): readonly KeeperNode[] {
    return this.members.filter(({ alive }) => alive);
  }

  async put(mt4: number, mt5 = 0): Promise<void> {
    const account = (id: string, platform: Platform, login: number): Account => ({ id: accountId(id), role: "follower", platform, broker: "model:1", login, credentialsRef: "env:NONE", enabled: true });
    const accounts = [...Array.from({ length: mt4 }, (_, index) => account(`a${index}`, "mt4", index)), ...Array.from({ length: mt5 }, (_, index) => account(`b${index}`, "mt5", 1_000 + index))];
    for (const one of accounts) this.#accounts.set(one.id, one);
    await this.storage.directory.put(accounts, []);
  }

  get allHeld(): boolean {
    return this.living.reduce((sum, { keeper }) => sum + keeper.accounts.length, 0) === this.#accounts.size;
  }

  /** A process starts; it goes on by itself. */
  join(name: string, plan: NodePlan = {}): KeeperNode {
    const { clock, profile } = this;
    const gate = SharedGate.create(64, clock);
    const permits: Member["permits"] = new Map();
    const registry = this.#registry((account) => member.released.push({ account, atMs: clock.monotonicMs() }));
    const me: Identity = { node: nodeId(name), boot: this.#boot(name) };
    const member: Member = {
      name, me, gate, permits, fatal: [], acquired: [], released: [], lost: [], alive: true,
      keeper: new LeaseKeeper({
        registry, me, profile, gate, clock, logger: recordingLogger(), metrics: new CountingMetrics(), journal: recordingJournal(),
        settleMs: SETTLE_MS,
        report: () => ({ logOk: true, capacity: plan.capacity ?? 64, platforms: plan.platforms ?? ["mt4", "mt5"], address: null }),
        platformOf: (account) => this.#accounts.get(account)?.platform ?? null,
        onAcquired: ({ account, epoch }, slot) => {
          permits.set(account, { slot, epoch });
          member.acquired.push({ account, epoch, atMs: clock.monotonicMs() });
          this.#checkOwners();
        },
        onLost: (account) => member.lost.push(account),
        onHandBack: async (account) => {
          await pause(clock, plan.handBackMs?.(account) ?? 200 * clock.random.next());
          return 0;
        },
        onTrip: () => undefined,
        onLeaseEnd: () => undefined,
        onConfirmed: ({ account, epoch }) => {
          permits.set(account, { slot: permits.get(account)?.slot ?? -1, epoch });
          this.#checkOwners();
        },
        onFatal: (error) => member.fatal.push(error),
      }),
    };
    this.members.push(member);
    // A process whose first question finds no database ends; its parent has nothing to end.
    member.keeper.start().catch(() => this.#end(member));
    return member;
  }

  node(name: string): KeeperNode {
    return this.#member(name);
  }

  /** Graceful; resolves when it has left. */
  async leave(name: string): Promise<void> {
    const member = this.#member(name);
    await elapsed(this.clock, member.keeper.drain().catch(() => this.storage.registry.leave(member.me)));
    this.#end(member);
  }

  /** The process dies, and its parent ends its lease; `withParent` false: the whole host is gone. */
  async kill(name: string, withParent = true): Promise<void> {
    const member = this.#member(name);
    this.#end(member);
    if (withParent) await this.storage.registry.leave(member.me);
  }

  /** How many accounts of a platform each living node holds, most first. */
  counts(platform: Platform): number[] {
    const of = ({ keeper }: KeeperNode): number => keeper.accounts.filter(({ account }) => this.#accounts.get(account)?.platform === platform).length;
    return this.living.map(of).sort((a, b) => b - a);
  }

  #member(name: string): Member {
    const member = this.members.findLast((one) => one.name === name && one.alive);
    if (member === undefined) throw new Error(`no node ${name}`);
    return member;
  }

  #end(member: Member): void {
    member.alive = false;
    member.keeper.abandon();
  }

  #boot(name: string): BootId {
    return bootId(`${name}-${(this.#boots += 1)}`);
  }

  /** The database as a process reaches it: some way there, some way back, and nothing while it is down. */
  #registry(onReleased: (account: AccountId) => void): Registry {
    const { registry } = this.storage;
    const hop = (): Promise<void> =>
      new Promise((resolve, reject) => this.clock.after(HOP_MS * this.clock.random.next(), () => (this.databaseDown ? reject(new LockstepError("database_busy", "down")) : resolve())));
    const asked = async <T>(work: () => Promise<T>): Promise<T> => {
      await hop();
      const result = await work();
      await hop();
      return result;
    };
    return {
      renew: (me, terms) => asked(() => registry.renew(me, terms)),
      claim: (me, terms) => asked(() => registry.claim(me, terms)),
      take: (me, accounts, terms) => asked(() => registry.take(me, accounts, terms)),
      release: (me, held, unsettledMs) =>
        asked(async () => {
          const isReleased = await registry.release(me, held, unsettledMs);
          if (isReleased) onReleased(held.account);
          return isReleased;
        }),
      leave: (me) => asked(() => registry.leave(me)),
      sweep: (deadForMs) => asked(() => registry.sweep(deadForMs)),
    };
  }

  #look(): void {
    this.#checkOwners();
    this.clock.after(LOOK_MS, () => this.#look());
  }

  /** Invariant 1. */
  #checkOwners(): void {
    const owners = new Map<AccountId, string>();
    for (const { gate, permits, me } of this.members) {
      for (const [account, permit] of permits) {
        // Not `check`: it would trip a fence whose deadline has passed, which is for the node to notice.
        if (gate.leftMs() === 0 || gate.check(permit) !== "open") continue;
        const other = owners.get(account);
        if (other !== undefined) throw new Error(`${account} is open at ${other} and at ${me.boot}`);
        owners.set(account, me.boot);
      }
    }
  }
}

export const namesOf = (held: readonly HeldAccount[]): string[] => held.map(({ account }) => account);
