// Owns the composition of one node: the one place where actors, log and storage are joined.
//
// 1. Start in the order of dependence, stop in the reverse: readers before what they feed. A stop
//    begins with the lease keeper, which ends each actor and gives its account back by itself.

import { cycleMs } from "../actors/core/leaseProfile.ts";
import { LoginPacer } from "../actors/drivers/loginPacer.ts";
import { Mt4Session } from "../actors/drivers/mt4Session.ts";
import { Mt5Session } from "../actors/drivers/mt5Session.ts";
import { Executor } from "../actors/executor/executor.ts";
import { hostClock } from "../actors/executor/hostClock.ts";
import { SharedGate } from "../actors/executor/sharedGate.ts";
import type { ExecutorSizes } from "../actors/executor/sizes.ts";
import { DirectoryWatch } from "../actors/shell/directoryWatch.ts";
import { EventSink } from "../actors/shell/eventSink.ts";
import { FollowerFeed } from "../actors/shell/followerFeed.ts";
import { ReplayJournal } from "../actors/shell/journal.ts";
import { LeaseKeeper } from "../actors/shell/leaseKeeper.ts";
import { LogWatch } from "../actors/shell/logWatch.ts";
import { Supervisor, type SupervisorOptions } from "../actors/shell/supervisor.ts";
import { TickReader } from "../actors/shell/tickReader.ts";
import { UptimeRecorder } from "../actors/shell/uptimeRecorder.ts";
import { WriterActor, type WaitingRows } from "../actors/shell/writerActor.ts";
import { WriterSeat } from "../actors/shell/writerSeat.ts";
import { LockstepError, messageOf } from "../protocol/errors.ts";
import type { AccountId, CellId } from "../protocol/ids.ts";
import type { Clock, Random } from "../protocol/ports/clock.ts";
import type { BrokerSession } from "../protocol/ports/broker.ts";
import type { EventLog } from "../protocol/ports/log.ts";
import type { Logger } from "../protocol/ports/logging.ts";
import type { Metrics } from "../protocol/ports/metrics.ts";
import type { Directory, Identity, PairStore, Registry, Uptime } from "../protocol/ports/storage.ts";
import type { Platform } from "../protocol/trades.ts";
import { within } from "../protocol/waiting.ts";
import { tickGroup, topicName, topicSpecs, writersGroup } from "../protocol/topics.ts";
import { GATE_SLOTS } from "./config/keys.ts";
import { resolveCredentials, type Environment } from "./credentials.ts";
import { Ends } from "./ends.ts";
import { FollowerDoor } from "./followerDoor.ts";
import { checkNodeLimits, type NodeLimits } from "./nodeLimits.ts";
import { LEASE_LOST } from "./http/followerStream.ts";
import { LOG_CUT_OFF_MS, LOG_SILENT_MS, type NodeState } from "./nodeState.ts";

export interface NodeOptions {
  readonly cell: CellId;
  readonly me: Identity;
  /** The cell's partition count: fixed for its life. */
  readonly partitions: number;
  readonly log: EventLog;
  readonly registry: Registry;
  readonly directory: Directory;
  readonly pairs: PairStore;
  readonly uptime: Uptime;
  readonly executor: ExecutorSizes;
  readonly limits: NodeLimits;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Something that cannot be gone on with: the process should end. */
  readonly onFatal: (error: Error) => void;
  /** Both, unless said otherwise. */
  readonly platforms?: readonly Platform[];
  /** `host:port` where the others' clients find this node's HTTP. */
  readonly address?: () => string | null;
  /** Stands between actors and sessions; for tests that replace a port. */
  readonly wrapSession?: (session: BrokerSession) => BrokerSession;
}

/** How soon a change of accounts or links is seen. */
const DIRECTORY_MS = 1_000;
const FLUSH_LIMIT_MS = 10_000;
/** What the log has at a stop, this node's last words among it, may take so long to become rows. */
const ROWS_LIMIT_MS = 3_000;

export interface RunningNode {
  readonly supervisor: Supervisor;
  readonly executor: Executor;
  /** For whoever asks from outside. */
  readonly door: FollowerDoor;
  state(): NodeState;
  /** Resolves when everything the actors said has reached the log. */
  flush(): Promise<void>;
  stop(): Promise<void>;
  /** Ends as a process that dies does: no order is waited for, nothing flushed, nothing given back. */
  kill(): Promise<void>;
}

/** @throws LockstepError `configuration`, `executor`, `database_busy`, `database_fault` */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  checkNodeLimits(options.limits);
  const ends = new Ends();
  try {
    return await compose(options, ends);
  } catch (error) {
    await ends.run();
    throw error;
  }
}

async function compose(options: NodeOptions, ends: Ends): Promise<RunningNode> {
  const { cell, me, partitions, log, clock, logger, metrics, limits } = options;
  const replay = new ReplayJournal({ me, producer: log.producer({ maxBuffered: limits.buffered, delivery: "best_effort" }), topic: topicName(cell, "replay"), partitions, capacity: limits.buffered, clock, logger, metrics });
  ends.add(() => replay.close());
  const journal = new FollowerFeed(replay, clock);
  const shared = { ...options, journal };
  const topics = { ticks: topicName(cell, "master-ticks"), books: topicName(cell, "master-books") };
  const gate = SharedGate.create(GATE_SLOTS, hostClock);
  await log.ensureTopics(topicSpecs(cell, partitions));
  const executor = await Executor.boot({ ...options.executor, gate, clock, log: logger });
  ends.add(() => executor.stop());
  logger.info(executor.counts(), "executor ready");

  /** The newest of each account. */
  const sessions = new Map<AccountId, Mt4Session | Mt5Session>();
  const masterProducer = log.producer({ maxBuffered: limits.buffered, delivery: "critical" });
  const eventProducer = log.producer({ maxBuffered: limits.buffered, delivery: "critical" });
  ends.add(() => Promise.all([masterProducer.close(), eventProducer.close()]));
  const events = new EventSink({ producer: eventProducer, topic: topicName(cell, "pair-events"), partitions, clock, metrics, capacity: limits.buffered, retryMs: limits.bufferRetryMs });
  const supervisor: Supervisor = new Supervisor({
    ...shared,
    openSession: sessionFactory(options, executor, gate, sessions),
    gate,
    events,
    producer: masterProducer,
    topics,
    followerLimits: limits.follower,
    masterLimits: limits.master,
    noSessionMs: limits.noSessionMs,
    logOk: () => logWatch.ok,
    onGivenUp: (account, why) => {
      logger.error({ account, why }, "account given up");
      void keeper.giveUp(account);
    },
    park: (account, epoch, reason) => options.directory.park(account, epoch, reason),
    onLetGo: (account) => void keeper.handBack(account),
    onUnknown: () => watch.ask(),
  });
  const watch: DirectoryWatch = new DirectoryWatch({ directory: options.directory, clock, logger, everyMs: DIRECTORY_MS, onState: (state) => supervisor.configure(state) });
  const reader = new TickReader({
    log,
    group: tickGroup(cell, me.node, me.boot),
    topics,
    clock,
    logger,
    metrics,
    journal,
    bookAheadMs: limits.bookAheadMs,
    handlers: {
      onTick: (tick, readAtMs) => supervisor.onTick(tick, readAtMs),
      onAlive: (master, reading) => supervisor.onAlive(master, reading),
      onBook: (master, fold) => supervisor.onBook(master, fold),
      onUnsynced: (master) => supervisor.onUnsynced(master),
    },
    onCrash: options.onFatal,
  });
  supervisor.attach(reader);
  const writing = { ...shared, group: writersGroup(cell), topic: topicName(cell, "pair-events"), batchRows: limits.writerRows, batchMs: limits.writerMs, onCrash: options.onFatal };
  // A node that drains trips its gate at the end, and writes to its own.
  const writer = new WriterSeat({ make: () => new WriterActor(writing), isOpen: () => keeper.draining || gate.leftMs() > 0, clock, logger });
  const keeper: LeaseKeeper = new LeaseKeeper({
    ...shared,
    profile: limits.lease,
    settleMs: limits.follower.settleMs,
    gate,
    report: () => ({ logOk: logWatch.ok, capacity: limits.capacity, platforms: options.platforms ?? ["mt4", "mt5"], address: options.address?.() ?? null }),
    platformOf: (account) => supervisor.configured(account)?.platform ?? null,
    onAcquired: (held, slot) => void supervisor.acquire(held, slot),
    // Another has it: nothing is waited for.
    onLost: (account) => {
      journal.end(account, "the follower is another node's");
      void supervisor.lose(account, false);
    },
    onHandBack: async (account) => {
      const unsettledMs = await supervisor.lose(account);
      journal.end(account, "the follower has left this node");
      await flushed(flush, clock);
      return unsettledMs;
    },
    onTrip: () => {
      executor.dropWaiting();
      journal.endAll(LEASE_LOST);
    },
    onLeaseEnd: () => {
      executor.resetUnanswered();
      for (const session of sessions.values()) session.resetUnanswered();
    },
    onConfirmed: (held) => supervisor.confirm(held),
  });

  const flush = async (): Promise<void> => {
    await events.flush();
    await masterProducer.flush();
  };
  const logWatch = new LogWatch({
    heardAtMs: () => [reader.fetchedAtMs, ...writer.heardAtMs],
    others: () => keeper.others,
    clock,
    logger,
    silentMs: LOG_SILENT_MS,
    cycleMs: cycleMs(limits.lease),
    cutOffMs: LOG_CUT_OFF_MS,
    onCutOff: options.onFatal,
  });
  const state = (): NodeState => ({
    fenced: gate.leftMs() === 0,
    leaseLeftMs: gate.leftMs(),
    accounts: supervisor.states(),
    masters: reader.counts().masters,
    mastersSynced: reader.counts().synced,
    logSilentMs: logWatch.silenceMs,
    logOk: logWatch.ok,
    blockedPartitions: writer.blockedPartitions,
    ...rowsWaiting(writer.waiting, clock.monotonicMs()),
    executor: executor.counts(),
  });
  // Invariant 1.
  ends.add(() => writer.stop());
  ends.add(() => writer.drain(ROWS_LIMIT_MS));
  await writer.start();
  ends.add(() => reader.stop());
  await reader.start();
  ends.add(async () => logWatch.stop());
  logWatch.start();
  ends.add(async () => watch.stop());
  await watch.start();
  ends.add(() => flushed(flush, clock));
  ends.add(() => supervisor.stop());
  ends.add(() => keeper.drain());
  const recorder = new UptimeRecorder({ me, uptime: options.uptime, gate, clock, logger });
  ends.add(() => recorder.stop()); // a lease that is given back is no degraded minute
  recorder.start();
  await keeper.start();
  return {
    supervisor,
    executor,
    door: new FollowerDoor({ supervisor, gate, feed: journal }),
    state,
    flush,
    async stop() {
      const [failure, ...more] = await ends.run();
      if (more.length > 0) logger.error({ failures: more.map(messageOf) }, "more than one part did not end cleanly");
      if (failure !== undefined) throw new LockstepError("stopped", `the node did not end cleanly: ${messageOf(failure)}`, failure);
    },
    async kill() {
      recorder.abandon();
      keeper.abandon();
      watch.stop();
      logWatch.stop();
      await supervisor.stop(false);
      await executor.stop();
      // They end their timers and retries in this turn; the log may never answer, as after its own death.
      for (const reading of [reader.stop(), writer.stop()]) reading.catch((error: unknown) => logger.info({ error: messageOf(error) }, "not heard of again"));
    },
  };
}

const rowsWaiting = (rows: WaitingRows | null, nowMs: number): Pick<NodeState, "rowsWaitingMs" | "rowsRefused"> => ({ rowsWaitingMs: rows === null ? null : nowMs - rows.sinceMs, rowsRefused: rows?.isFault === true ? rows.why : null });

/** A log that takes nothing must not keep us: what it lacks, reconcile finds. */
const flushed = (flush: () => Promise<void>, clock: Clock): Promise<void> => within(clock, FLUSH_LIMIT_MS, "the log", flush());

function sessionFactory(options: NodeOptions, executor: Executor, gate: SharedGate, sessions: Map<AccountId, Mt4Session | Mt5Session>): SupervisorOptions["openSession"] {
  const { me, clock, random, logger: log, limits, wrapSession = (session) => session } = options;
  const pacer = new LoginPacer(clock, limits.logins);
  return (account, ownership) => {
    const password = resolveCredentials(account.credentialsRef, options.env);
    // The broker's own record then shows which owner an order came from.
    const shared = { account, password, client: `${me.node}/${me.boot}#${ownership.epoch}`, mayLogIn: () => gate.check(ownership.permit) === "open", limits: limits.session, pacer, clock, random, log };
    // A master is only listened to.
    const parallelism = account.role === "master" ? 0 : limits.follower.parallelism;
    const session = account.platform === "mt4" ? new Mt4Session({ ...shared, executor, parallelism }) : new Mt5Session({ ...shared, gate });
    sessions.set(account.id, session);
    return wrapSession(session);
  };
}
