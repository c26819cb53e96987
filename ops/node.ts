// Owns the composition of one node: the one place where actors, log and storage are joined.
//
// 1. Start in the order of dependence, stop in the reverse: readers before what they feed, the
//    lease after the actors that act under it.

import { DEFAULT_SESSION_LIMITS, type SessionLimits } from "../actors/drivers/wireSession.ts";
import { Mt4Session } from "../actors/drivers/mt4Session.ts";
import { Mt5Session } from "../actors/drivers/mt5Session.ts";
import { Executor } from "../actors/executor/executor.ts";
import { hostClock } from "../actors/executor/hostClock.ts";
import { SharedGate } from "../actors/executor/sharedGate.ts";
import type { ExecutorSizes } from "../actors/executor/sizes.ts";
import { EventSink } from "../actors/shell/eventSink.ts";
import type { FollowerLimits } from "../actors/shell/followerTypes.ts";
import { LeaseKeeper, type LeaseProfile } from "../actors/shell/leaseKeeper.ts";
import type { MasterLimits } from "../actors/shell/masterActor.ts";
import { Supervisor, type SupervisorOptions } from "../actors/shell/supervisor.ts";
import { TickReader } from "../actors/shell/tickReader.ts";
import { WriterActor } from "../actors/shell/writerActor.ts";
import type { Account } from "../protocol/accounts.ts";
import { messageOf } from "../protocol/errors.ts";
import type { CellId } from "../protocol/ids.ts";
import type { Clock, Random } from "../protocol/ports/clock.ts";
import type { BrokerSession } from "../protocol/ports/broker.ts";
import type { EventLog } from "../protocol/ports/log.ts";
import type { Logger } from "../protocol/ports/logging.ts";
import type { Metrics } from "../protocol/ports/metrics.ts";
import type { Directory, Identity, PairStore, Registry } from "../protocol/ports/storage.ts";
import { tickGroup, topicName, topicSpecs, writersGroup } from "../protocol/topics.ts";
import { resolveCredentials, type Environment } from "./credentials.ts";

export interface NodeOptions {
  readonly cell: CellId;
  readonly me: Identity;
  /** The cell's partition count: fixed for its life. */
  readonly partitions: number;
  readonly log: EventLog;
  readonly registry: Registry;
  readonly directory: Directory;
  readonly pairs: PairStore;
  readonly executor: ExecutorSizes;
  readonly limits: NodeLimits;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Something that cannot be gone on with: the process should end. */
  readonly onFatal: (error: Error) => void;
  /** Stands between actors and sessions; for tests that replace a port. */
  readonly wrapSession?: (session: BrokerSession) => BrokerSession;
}

export interface NodeLimits {
  readonly capacity: number;
  readonly lease: LeaseProfile;
  readonly session: SessionLimits;
  readonly follower: FollowerLimits;
  readonly master: MasterLimits;
  readonly bookAheadMs: number;
  readonly writerRows: number;
  readonly writerMs: number;
  /** Records that a producer buffers, and events that wait for it. */
  readonly buffered: number;
  readonly bufferRetryMs: number;
}

export const DEFAULT_NODE_LIMITS: NodeLimits = {
  capacity: 1_000,
  lease: { ttlMs: 60_000, renewMs: 5_000, marginMs: 15_000, retryMs: 2_000 },
  session: DEFAULT_SESSION_LIMITS,
  follower: { parallelism: 16, mailboxCapacity: 10_000, settleMs: 30_000, reconcileEveryMs: 60_000 },
  master: { mailboxCapacity: 10_000, heartbeatMs: 5_000, bookDelayMs: 400 },
  bookAheadMs: 2_000,
  writerRows: 500,
  writerMs: 100,
  buffered: 20_000,
  bufferRetryMs: 50,
};

export interface RunningNode {
  readonly supervisor: Supervisor;
  readonly executor: Executor;
  /** Resolves when everything the actors said has reached the log. */
  flush(): Promise<void>;
  stop(): Promise<void>;
  /** Ends as a process that dies does: no order is waited for, nothing flushed, nothing given back. */
  kill(): Promise<void>;
}

/** @throws LockstepError `configuration`, `executor`, `database_busy`, `database_fault` */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { cell, me, partitions, log, clock, logger, metrics, limits } = options;
  const topics = { ticks: topicName(cell, "master-ticks"), books: topicName(cell, "master-books") };
  const gate = SharedGate.create(limits.capacity, hostClock);
  await log.ensureTopics(topicSpecs(cell, partitions));
  const executor = await Executor.boot({ ...options.executor, gate, clock, log: logger });
  logger.info(executor.counts(), "executor ready");

  const masterProducer = log.producer({ maxBuffered: limits.buffered });
  const eventProducer = log.producer({ maxBuffered: limits.buffered });
  const events = new EventSink({ producer: eventProducer, topic: topicName(cell, "pair-events"), partitions, clock, metrics, capacity: limits.buffered, retryMs: limits.bufferRetryMs });
  const supervisor: Supervisor = new Supervisor({
    ...options,
    accounts: new Map((await options.directory.accounts()).map((account) => [account.id, account])),
    links: await options.directory.links(),
    openSession: sessionFactory(options, executor, gate),
    gate,
    events,
    producer: masterProducer,
    topics,
    followerLimits: limits.follower,
    masterLimits: limits.master,
    onGivenUp: (account) => logger.error({ account }, "account given up: its actor keeps failing"),
  });
  const reader = new TickReader({
    log,
    group: tickGroup(cell, me.node, me.boot),
    topics,
    clock,
    logger,
    metrics,
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
  const writer = new WriterActor({
    ...options,
    group: writersGroup(cell),
    topic: topicName(cell, "pair-events"),
    batchRows: limits.writerRows,
    batchMs: limits.writerMs,
    onCrash: options.onFatal,
  });
  const keeper = new LeaseKeeper({
    ...options,
    profile: limits.lease,
    capacity: limits.capacity,
    gate,
    onAcquired: (held, slot) => void supervisor.acquire(held, slot),
    onLost: (account) => void supervisor.lose(account),
    onTrip: () => executor.dropWaiting(),
    onLift: () => supervisor.lift(),
  });

  await reader.start();
  await writer.start();
  await keeper.start();

  const flush = async (): Promise<void> => {
    await events.flush();
    await masterProducer.flush();
  };
  return {
    supervisor,
    executor,
    flush,
    async stop() {
      await supervisor.stop();
      await flush();
      await keeper.stop();
      await reader.stop();
      await writer.stop();
      await Promise.all([masterProducer.close(), eventProducer.close()]);
      await executor.stop();
    },
    async kill() {
      keeper.abandon();
      await supervisor.stop(false);
      await executor.stop();
      // They end their timers and retries in this turn; the log may never answer, as after its own death.
      for (const reading of [reader.stop(), writer.stop()]) reading.catch((error: unknown) => logger.info({ error: messageOf(error) }, "not heard of again"));
    },
  };
}

function sessionFactory(options: NodeOptions, executor: Executor, gate: SharedGate): SupervisorOptions["openSession"] {
  const { clock, random, logger: log, limits, wrapSession = (session) => session } = options;
  return (account: Account) => {
    const shared = { account, password: resolveCredentials(account.credentialsRef, options.env), limits: limits.session, clock, random, log };
    return wrapSession(account.platform === "mt4" ? new Mt4Session({ ...shared, executor, parallelism: limits.follower.parallelism }) : new Mt5Session({ ...shared, gate }));
  };
}
