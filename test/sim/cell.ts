// Owns the setting of the shell's scenarios: one node with one master and some followers on fake time,
// joined as the composition root joins them, with the in-memory log and storage and model brokers.

import { STEADY, type LeaseProfile } from "../../actors/core/leaseProfile.ts";
import type { FollowerActor } from "../../actors/shell/followerActor.ts";
import type { FollowerLimits } from "../../actors/shell/followerTypes.ts";
import { DirectoryWatch } from "../../actors/shell/directoryWatch.ts";
import { EventSink } from "../../actors/shell/eventSink.ts";
import { LeaseKeeper } from "../../actors/shell/leaseKeeper.ts";
import { Supervisor } from "../../actors/shell/supervisor.ts";
import { TickReader } from "../../actors/shell/tickReader.ts";
import { WriterActor } from "../../actors/shell/writerActor.ts";
import { SharedGate } from "../../actors/executor/sharedGate.ts";
import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { DEFAULT_LINK_SETTINGS, type Account, type Link, type LinkSettings } from "../../protocol/accounts.ts";
import { accountId, bootId, cellId, linkId, magic, nodeId, type AccountId, type SymbolName } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { CounterName, Metrics, OwnTime } from "../../protocol/ports/metrics.ts";
import type { Directory, Identity, PairStore, Registry } from "../../protocol/ports/storage.ts";
import type { Platform, SymbolSpec } from "../../protocol/trades.ts";
import { topicName, topicSpecs, tickGroup, writersGroup } from "../../protocol/topics.ts";
import { LOT, type VolumeUnits } from "../../protocol/units.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import type { Storage } from "../../storage/storage.ts";
import { recordingJournal, type RecordingJournal } from "../support/recordingJournal.ts";
import { recordingLogger, type RecordingLogger } from "../support/recordingLogger.ts";
import { ModelBroker } from "./modelBroker.ts";
import { ModelSession } from "./modelSession.ts";
import { FakeScheduler } from "./scheduler.ts";

export const CELL = cellId("sim");
export const MASTER = accountId("master");
export const EURUSD = "EURUSD" as SymbolName;
const PARTITIONS = 2;
const HOUR_MS = 3_600_000;

export const lots = (count: number): VolumeUnits => Math.round(count * LOT) as VolumeUnits;

export const spec = (symbol: SymbolName, more: Partial<SymbolSpec> = {}): SymbolSpec => ({ symbol, digits: 5, volumeMin: lots(0.01), volumeStep: lots(0.01), volumeMax: lots(100), stopLevelPoints: 0, ...more });

export interface FollowerPlan {
  readonly platform?: Platform;
  readonly settings?: Partial<LinkSettings>;
}

export interface CellOptions {
  readonly seed: number;
  readonly masterPlatform?: Platform;
  readonly followers?: readonly FollowerPlan[];
  readonly limits?: Partial<FollowerLimits>;
  readonly lease?: LeaseProfile;
  readonly wrapPairs?: (pairs: PairStore) => PairStore;
  readonly wrapDirectory?: (directory: Directory) => Directory;
  readonly wrapRegistry?: (registry: Registry) => Registry;
  readonly wrapProducer?: (producer: Producer) => Producer;
  /** What it cannot serve goes back; else that is only noted. */
  readonly givesUp?: boolean;
  /** Accepted and unsettled records of each producer, and events that wait for it. */
  readonly buffered?: number;
}

/** What outlives a node: brokers, the log, the database. */
export interface Outside {
  readonly clock: FakeScheduler;
  readonly log: MemoryLog;
  readonly storage: Storage;
  readonly master: ModelBroker;
  readonly followers: readonly ModelBroker[];
  readonly links: readonly Link[];
  readonly accounts: ReadonlyMap<AccountId, Account>;
}

export class CountingMetrics implements Metrics {
  readonly counts = new Map<CounterName, number>();
  readonly ownTimes: OwnTime[] = [];
  readonly factAges: number[] = [];

  count(name: CounterName, by = 1): void {
    this.counts.set(name, this.of(name) + by);
  }

  of(name: CounterName): number {
    return this.counts.get(name) ?? 0;
  }

  ownTime(sample: OwnTime): void {
    this.ownTimes.push(sample);
  }

  factsWritten(agesMs: readonly number[]): void {
    this.factAges.push(...agesMs);
  }
}

export async function outside(options: CellOptions): Promise<Outside> {
  const clock = new FakeScheduler(options.seed);
  const log = new MemoryLog({ clock, random: clock.random, limits: MEMORY_LOG_LIMITS });
  await elapsed(clock, log.ensureTopics(topicSpecs(CELL, PARTITIONS)));
  const storage = new MemoryDatabase(clock).storage(CELL);
  const plans = options.followers ?? [{}];
  const account = (id: AccountId, role: Account["role"], platform: Platform, login: number): Account => ({ id, role, platform, broker: "model:1", login, credentialsRef: "env:NONE", enabled: true });
  const accounts = [account(MASTER, "master", options.masterPlatform ?? "mt4", 1), ...plans.map((plan, index) => account(accountId(`follower${index + 1}`), "follower", plan.platform ?? "mt4", index + 2))];
  const links = plans.map((plan, index): Link => ({
    id: linkId(`link${index + 1}`),
    master: MASTER,
    follower: accountId(`follower${index + 1}`),
    magic: magic(700 + index),
    enabled: true,
    settings: { ...DEFAULT_LINK_SETTINGS, lateOpenMs: 60_000, ...plan.settings },
  }));
  await storage.directory.put(accounts, links);
  const brokers = accounts.map(({ id, platform }, index) => {
    const broker = new ModelBroker({ account: id, platform, clock, symbols: [spec(EURUSD)], offsetMs: (index - 1) * HOUR_MS }, 1_000 * (index + 1));
    broker.setQuote(EURUSD, 110_000);
    return broker;
  });
  const [master, ...followers] = brokers;
  if (master === undefined) throw new Error("a cell has a master");
  return { clock, log, storage, master, followers, links, accounts: new Map(accounts.map((entry) => [entry.id, entry])) };
}

/** The clock of one process: its wall clock is its machine's own, and when it dies, none of its timers runs any more. */
class ProcessClock implements Clock {
  alive = true;
  /** From the right time: tests step it. */
  wallOffsetMs = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  after(delayMs: number, fn: () => void): Timer {
    return this.#clock.after(delayMs, () => (this.alive ? fn() : undefined));
  }

  soon(fn: () => void): void {
    this.after(0, fn);
  }
}

/** Everything of one boot of the node. */
export class Node {
  readonly outside: Outside;
  readonly gate: SharedGate;
  readonly metrics = new CountingMetrics();
  readonly journal: RecordingJournal;
  readonly logger: RecordingLogger = recordingLogger();
  /** The newest of each account, and all that were ever made. */
  readonly sessions = new Map<AccountId, ModelSession>();
  readonly allSessions: ModelSession[] = [];
  readonly supervisor: Supervisor;
  readonly reader: TickReader;
  readonly writer: WriterActor;
  readonly keeper: LeaseKeeper;
  readonly watch: DirectoryWatch;
  readonly log: MemoryLog;
  readonly givenUp: AccountId[] = [];
  readonly crashes: Error[] = [];
  /** Stopped, or dead. */
  ended = false;
  /** What the node thinks of its log. */
  logOk = true;
  readonly me: Identity;
  readonly clock: ProcessClock;
  /** Every session that is made passes it. */
  onSession: (session: ModelSession) => void = () => undefined;

  constructor(world: Outside, options: CellOptions, boot: string, name = "node1") {
    const { storage } = world;
    const { logger, metrics } = this;
    const { random } = world.clock;
    const clock = (this.clock = new ProcessClock(world.clock));
    const me = (this.me = { node: nodeId(name), boot: bootId(boot) });
    this.outside = world;
    this.journal = recordingJournal({ ...me, clock });
    this.log = new MemoryLog({ clock, random, limits: MEMORY_LOG_LIMITS }, world.log.store);
    this.gate = SharedGate.create(8, clock);
    const topics = { ticks: topicName(CELL, "master-ticks"), books: topicName(CELL, "master-books") };
    const buffered = options.buffered ?? 1_000;
    const onCrash = (error: Error): void => void this.crashes.push(error);
    const producer = (): Producer => (options.wrapProducer ?? ((made) => made))(this.log.producer({ maxBuffered: buffered, delivery: "critical" }));
    const directory = options.wrapDirectory?.(storage.directory) ?? storage.directory;
    const pairs = options.wrapPairs?.(storage.pairs) ?? storage.pairs;
    const events = new EventSink({ producer: producer(), topic: topicName(CELL, "pair-events"), partitions: PARTITIONS, clock, metrics, capacity: buffered, retryMs: 50 });
    this.supervisor = new Supervisor({
      openSession: (account) => this.#openSession(account.id),
      gate: this.gate,
      events,
      pairs,
      park: directory.park,
      producer: producer(),
      topics,
      partitions: PARTITIONS,
      clock,
      random,
      logger,
      metrics,
      journal: this.journal,
      followerLimits: { parallelism: 16, mailboxCapacity: 1_000, settleMs: 30_000, reconcileEveryMs: 60_000, ...options.limits },
      masterLimits: { mailboxCapacity: 1_000, heartbeatMs: 5_000, bookDelayMs: 400 },
      noSessionMs: 60_000,
      logOk: () => this.logOk,
      onGivenUp: (account) => {
        this.givenUp.push(account);
        if (options.givesUp === true) void this.keeper.giveUp(account);
      },
      onLetGo: (account) => void this.keeper.handBack(account),
      onUnknown: () => this.watch.ask(),
    });
    this.watch = new DirectoryWatch({ directory, clock, logger, everyMs: 1_000, onState: (state) => this.supervisor.configure(state) });
    const handlers = {
      onTick: this.supervisor.onTick.bind(this.supervisor),
      onBook: this.supervisor.onBook.bind(this.supervisor),
      onAlive: this.supervisor.onAlive.bind(this.supervisor),
      onUnsynced: this.supervisor.onUnsynced.bind(this.supervisor),
    };
    this.reader = new TickReader({ log: this.log, group: tickGroup(CELL, me.node, me.boot), topics, clock, logger, metrics, journal: this.journal, bookAheadMs: 2_000, handlers, onCrash });
    this.supervisor.attach(this.reader);
    this.writer = new WriterActor({ log: this.log, group: writersGroup(CELL), topic: topicName(CELL, "pair-events"), pairs, clock, random, logger, metrics, batchRows: 50, batchMs: 100, onCrash });
    this.keeper = new LeaseKeeper({
      registry: options.wrapRegistry?.(storage.registry) ?? storage.registry,
      me,
      profile: options.lease ?? STEADY,
      settleMs: 30_000,
      journal: this.journal,
      report: () => ({ logOk: true, capacity: 8, platforms: ["mt4", "mt5"], address: null }),
      platformOf: (account) => world.accounts.get(account)?.platform ?? null,
      gate: this.gate,
      clock,
      logger,
      metrics,
      onAcquired: (held, slot) => void this.supervisor.acquire(held, slot),
      onLost: (account) => void this.supervisor.lose(account, false),
      onHandBack: (account) => this.supervisor.lose(account).then((unsettledMs) => events.flush().then(() => unsettledMs)),
      onFatal: onCrash,
      onTrip: () => undefined,
      onLeaseEnd: () => undefined,
      onConfirmed: (held) => this.supervisor.confirm(held),
    });
  }

  /** Runs until every follower has carried out its first plan, or just until it has tried for its first accounts. */
  async start(alone = true): Promise<void> {
    const { clock } = this.outside;
    await elapsed(clock, this.reader.start());
    await elapsed(clock, this.writer.start());
    await elapsed(clock, this.watch.start());
    await elapsed(clock, this.keeper.start());
    if (alone) await clock.until(() => this.settled);
  }

  /** Dies without a word; brokers go on with what they were asked. Its parent process ends the lease. */
  async kill(): Promise<void> {
    this.ended = true;
    this.clock.alive = false;
    this.log.kill();
    for (const session of this.sessions.values()) void session.close();
    await this.outside.storage.registry.leave(this.me);
  }

  async stop(): Promise<void> {
    this.ended = true;
    const { clock } = this.outside;
    this.watch.stop();
    await elapsed(clock, this.keeper.drain());
    await elapsed(clock, this.reader.stop());
    await elapsed(clock, this.writer.stop());
    await elapsed(clock, this.log.close());
  }

  get settled(): boolean {
    const actors = this.supervisor.followers;
    return actors.length === this.outside.followers.length && actors.every((actor) => actor.settled);
  }

  session(id: AccountId): ModelSession {
    const session = this.sessions.get(id);
    if (session === undefined) throw new Error(`no session of ${id}`);
    return session;
  }

  follower(id: AccountId): FollowerActor {
    const actor = this.supervisor.followers.find(({ account }) => account.id === id);
    if (actor === undefined) throw new Error(`no actor of ${id}`);
    return actor;
  }

  #openSession(id: AccountId): ModelSession {
    const { clock, master, followers } = this.outside;
    const broker = [master, ...followers].find(({ options }) => options.account === id);
    if (broker === undefined) throw new Error(`no broker of ${id}`);
    const session = new ModelSession({ broker, clock, random: clock.random, gate: this.gate, timeoutMs: 2_000, reconnectMs: 1_000 });
    this.sessions.set(id, session);
    this.allSessions.push(session);
    this.onSession(session);
    return session;
  }
}

/** Lets time pass until the promise has settled. */
export async function elapsed<T>(clock: FakeScheduler, promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = (): void => void (settled = true);
  promise.then(done, done);
  await clock.until(() => settled, 120_000);
  return promise;
}
