// Owns the setting of a cell whose nodes are lease keepers alone, on fake time and one in-memory
// database: who comes, goes and dies, what befalls their machines and their network, and who holds what.
//
// 1. At no moment does the gate of two nodes stand open for one account. An account whose gate is open is
//    its node's in the database, at that very epoch.
// 2. No order is sent at a lower epoch than one before it for the same account.
// 3. While a gate is open its node's lease is live, as long as the database's clock is one clock.
// Looked at after every change and every few milliseconds; whatever does not hold ends the run.

import assert from "node:assert/strict";
import { STEADY, type LeaseProfile } from "../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../actors/shell/leaseKeeper.ts";
import { accountId, bootId, cellId, nodeId, type AccountId, type BootId, type Epoch } from "../../protocol/ids.ts";
import type { Account } from "../../protocol/accounts.ts";
import type { HeldAccount, Identity, Registry } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import { pause } from "../../protocol/waiting.ts";
import { MemoryServer, type MemoryCell } from "../../storage/memory/cells.ts";
import { memoryDirectory } from "../../storage/memory/directory.ts";
import { memoryRegistry } from "../../storage/memory/registry.ts";
import { recordingJournal, type RecordingJournal } from "../support/recordingJournal.ts";
import { recordingLogger } from "../support/recordingLogger.ts";
import { CountingMetrics, elapsed } from "./cell.ts";
import { MachineClock } from "./machineClock.ts";
import { FakeScheduler } from "./scheduler.ts";
import { goodLink, tornRegistry, type Link } from "./tornRegistry.ts";

const LOOK_MS = 50;
/** Every account of every node is traded so often. */
const TRADE_MS = 90;
const SETTLE_MS = 30_000;

export interface NodePlan {
  readonly capacity?: number;
  readonly platforms?: readonly Platform[];
  /** How long an account's orders under way keep it. */
  readonly handBackMs?: (account: AccountId) => number;
  /** How fast its monotonic clock goes. */
  readonly rate?: number;
}

export interface KeeperNode {
  readonly name: string;
  readonly keeper: LeaseKeeper;
  readonly fatal: Error[];
  /** Every account that came, with the epoch and when. */
  readonly acquired: { readonly account: AccountId; readonly epoch: Epoch; readonly atMs: number }[];
  readonly released: { readonly account: AccountId; readonly atMs: number }[];
  readonly lost: AccountId[];
  readonly machine: MachineClock;
  readonly link: Link;
  readonly journal: RecordingJournal;
  alive: boolean;
}

interface Member extends KeeperNode {
  readonly me: Identity;
  readonly gate: SharedGate;
  readonly permits: Map<AccountId, { readonly slot: number; readonly epoch: Epoch }>;
}

export class KeeperCell {
  readonly clock: FakeScheduler;
  readonly tables: MemoryCell;
  readonly registry: Registry;
  readonly profile: LeaseProfile;
  readonly members: Member[] = [];
  /** Orders that passed a gate. */
  orders = 0;
  readonly #accounts = new Map<AccountId, Account>();
  readonly #newest = new Map<AccountId, { readonly epoch: Epoch; readonly boot: BootId }>();
  #databaseDown = false;
  #boots = 0;

  constructor(seed: number, profile: LeaseProfile = STEADY) {
    const clock = (this.clock = new FakeScheduler(seed));
    this.tables = {
      name: cellId("keepers"), clock, server: new MemoryServer(clock), partitions: null, version: 0, nodes: new Map(), accounts: new Map(),
      links: new Map(), pairs: new Map(), states: new Map(), rejected: new Map(), uptime: new Map(),
    };
    this.registry = memoryRegistry(this.tables);
    this.profile = profile;
    this.#look();
  }

  get moves(): number {
    return this.members.reduce((sum, member) => sum + member.acquired.length, 0);
  }

  get living(): readonly KeeperNode[] {
    return this.members.filter(({ alive }) => alive);
  }

  set databaseDown(down: boolean) {
    this.#databaseDown = down;
    for (const { link } of this.members) link.down = down;
  }

  async put(mt4: number, mt5 = 0): Promise<void> {
    const account = (id: string, platform: Platform, login: number): Account => ({ id: accountId(id), role: "follower", platform, broker: "model:1", login, credentialsRef: "env:NONE", enabled: true });
    const accounts = [...Array.from({ length: mt4 }, (_, index) => account(`a${index}`, "mt4", index)), ...Array.from({ length: mt5 }, (_, index) => account(`b${index}`, "mt5", 1_000 + index))];
    for (const one of accounts) this.#accounts.set(one.id, one);
    await memoryDirectory(this.tables).put(accounts, []);
  }

  get allHeld(): boolean {
    return this.living.reduce((sum, { keeper }) => sum + keeper.accounts.length, 0) === this.#accounts.size;
  }

  /** A process starts; it goes on by itself. */
  join(name: string, plan: NodePlan = {}): KeeperNode {
    const { profile } = this;
    const machine = new MachineClock(this.clock, plan.rate);
    const gate = SharedGate.create(64, machine);
    const permits: Member["permits"] = new Map();
    const link: Link = { ...goodLink(), down: this.#databaseDown };
    const registry = tornRegistry(this.tables, this.clock, machine, link, (account) => member.released.push({ account, atMs: this.clock.monotonicMs() }));
    const me: Identity = { node: nodeId(name), boot: this.#boot(name) };
    const journal = recordingJournal();
    const member: Member = {
      name, me, gate, permits, machine, link, journal, fatal: [], acquired: [], released: [], lost: [], alive: true,
      keeper: new LeaseKeeper({
        registry, me, profile, gate, clock: machine, logger: recordingLogger(), metrics: new CountingMetrics(), journal,
        settleMs: SETTLE_MS,
        report: () => ({ logOk: true, capacity: plan.capacity ?? 64, platforms: plan.platforms ?? ["mt4", "mt5"], address: null }),
        platformOf: (account) => this.#accounts.get(account)?.platform ?? null,
        onAcquired: ({ account, epoch }, slot) => {
          permits.set(account, { slot, epoch });
          member.acquired.push({ account, epoch, atMs: this.clock.monotonicMs() });
          this.#check();
        },
        onConfirmed: ({ account, epoch }) => {
          permits.set(account, { slot: permits.get(account)?.slot ?? -1, epoch });
          this.#check();
        },
        onLost: (account) => member.lost.push(account),
        onHandBack: async (account) => {
          await pause(machine, plan.handBackMs?.(account) ?? 200 * this.clock.random.next());
          return 0;
        },
        onTrip: () => undefined,
        onLeaseEnd: () => undefined,
        onFatal: (error) => {
          member.fatal.push(error);
          void this.#kill(member);
        },
      }),
    };
    this.members.push(member);
    // A process whose first question finds no database ends; its parent ends the lease that it may have got.
    member.keeper.start().catch(() => this.#kill(member));
    this.#trade(member);
    return member;
  }

  node(name: string): KeeperNode {
    return this.#member(name);
  }

  /** Graceful; resolves when it has left. */
  async leave(name: string): Promise<void> {
    const member = this.#member(name);
    await elapsed(this.clock, member.keeper.drain().catch(() => this.registry.leave(member.me)));
    this.#end(member);
  }

  /** The process dies, and its parent ends its lease; `withParent` false: the whole host is gone. */
  async kill(name: string, withParent = true): Promise<void> {
    const member = this.#member(name);
    if (withParent) await this.#kill(member);
    else this.#end(member);
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

  async #kill(member: Member): Promise<void> {
    this.#end(member);
    await this.registry.leave(member.me);
  }

  #end(member: Member): void {
    member.alive = false;
    member.machine.alive = false;
    member.keeper.abandon();
  }

  #boot(name: string): BootId {
    return bootId(`${name}-${(this.#boots += 1)}`);
  }

  /** As its actors would: whatever passes the gate is an order (2). */
  #trade(member: Member): void {
    const { gate, machine, permits, me } = member;
    for (const [account, permit] of permits) {
      if (gate.check(permit) !== "open") continue;
      const newest = this.#newest.get(account);
      if (newest !== undefined && newest.epoch > permit.epoch) assert.fail(`${account}: an order of ${me.boot} at ${permit.epoch} after one of ${newest.boot} at ${newest.epoch}`);
      this.#newest.set(account, { epoch: permit.epoch, boot: me.boot });
      this.orders += 1;
    }
    machine.after(TRADE_MS, () => this.#trade(member));
  }

  #look(): void {
    this.#check();
    this.clock.after(LOOK_MS, () => this.#look());
  }

  /** Invariants 1 and 3. */
  #check(): void {
    const { server, nodes, accounts } = this.tables;
    const owners = new Map<AccountId, string>();
    for (const { gate, permits, me } of this.members) {
      // Not `check`: it would trip a fence whose deadline has passed, which is for the node to notice.
      if (gate.leftMs() === 0) continue;
      const lease = nodes.get(me.node);
      if (server.timeline === 1 && (lease?.boot !== me.boot || lease.leaseUntilMs <= server.nowMs())) assert.fail(`the gate of ${me.boot} is open, and its lease is not live`);
      for (const [account, permit] of permits) {
        if (gate.check(permit) !== "open") continue;
        const other = owners.get(account);
        if (other !== undefined) assert.fail(`${account} is open at ${other} and at ${me.boot}`);
        owners.set(account, me.boot);
        const row = accounts.get(account);
        if (row?.owner?.boot !== me.boot || row.epoch !== permit.epoch) assert.fail(`${account} is open at ${me.boot} at ${permit.epoch}, and ${row?.owner?.boot ?? "nobody"}'s at ${row?.epoch ?? 0}`);
      }
    }
  }
}

export const namesOf = (held: readonly HeldAccount[]): string[] => held.map(({ account }) => account);
