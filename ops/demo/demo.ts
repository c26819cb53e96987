// Owns the main job in one process: a statement's trades happen on a simulated master, followers
// copy them through the real path, and an independent checker reads the brokers' own log.
//
// 1. The copier is the same node that runs in a cluster; only the log is the in-memory one.
// 2. Whatever happens, nothing is left running.

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { poolThreadsFor, lanesFor, type ExecutorSizes } from "../../actors/executor/sizes.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { LockstepError } from "../../protocol/errors.ts";
import { bootId, cellId, nodeId, type CellId } from "../../protocol/ids.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { topicName, writersGroup } from "../../protocol/topics.ts";
import { openStorage } from "../../storage/storage.ts";
import type { Environment } from "../credentials.ts";
import { DEFAULT_NODE_LIMITS, startNode, type RunningNode } from "../node.ts";
import { resolveDatabase } from "../postgres/resolve.ts";
import type { Statement } from "../statement/model.ts";
import { accountsOf, castOf, CREDENTIALS, type Cast } from "./cast.ts";
import { checkDemo } from "./check/checkDemo.ts";
import { readBrokerLog } from "./brokerLogFile.ts";
import { DemoMetrics, WARM_UP_TRADES } from "./ownTime.ts";
import { pace, type Speed } from "./pace.ts";
import { demoReport, type DemoReport } from "./report.ts";
import { scriptOf } from "./script.ts";
import { Stage } from "./stage.ts";

export interface DemoOptions {
  readonly statement: Statement;
  readonly followers: number;
  readonly speed: Speed;
  /** Where the brokers' logs of the last runs are kept. */
  readonly folder: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onProgress: (progress: Progress) => void;
  /** Stands between the actors and their sessions; for tests that break the copier. */
  readonly wrapSession?: (session: BrokerSession) => BrokerSession;
  /** Aborted: end now, in order. */
  readonly interrupt?: AbortSignal;
}

export interface Progress {
  readonly phase: "starting" | "playing" | "settling" | "checking";
  readonly played: number;
  readonly scenes: number;
}

const PARTITIONS = 8;
const LANES = 128;
const RESERVE = 16;
const KEPT_RUNS = 3;
const START_LIMIT_MS = 60_000;
const SETTLE_LIMIT_MS = 60_000;
/** In a demo everybody is near: what has not been executed by then never will be. */
const SETTLE_MS = 5_000;
/** Nothing new for so long: all that is left is orders that their broker goes on refusing. */
const QUIET_MS = SETTLE_MS + 3_000;
/** How long a copy may take to follow before the checker calls it missing. */
const GRACE_MS = 1_500;
const POLL_MS = 20;

/** The executor's sizes for a demo of so many followers: the launcher sets the thread pool by them. */
export function demoExecutor(followers: number): ExecutorSizes {
  // The master's account takes lanes too, while it connects.
  return { lanes: lanesFor(followers + 1, DEFAULT_NODE_LIMITS.follower.parallelism, LANES), reserve: RESERVE, hosts: 2, maxWaiting: 10_000, maxWaitMs: 5_000 };
}

export const demoPoolThreads = (followers: number): number => poolThreadsFor(demoExecutor(followers));

/** @throws LockstepError `configuration`, `bad_statement`, `stopped` when it was interrupted */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const { statement, clock, random, logger, env } = options;
  const cast = castOf(statement, options.followers);
  const scenes = scriptOf(statement);
  const run = randomUUID().slice(0, 8);
  const folder = await runFolder(options.folder, run, clock.wallMs());
  const metrics = new DemoMetrics();
  const progress = (phase: Progress["phase"], played = 0): void => options.onProgress({ phase, played, scenes: scenes.length });

  const onExit: (() => Promise<unknown>)[] = [];
  try {
    progress("starting");
    const database = await resolveDatabase({ env, logger, clock });
    onExit.unshift(() => database.stop());
    const cell = cellId(`demo-${run}`);
    const storage = await openStorage({ url: database.url, cell, logger, maxConnections: 4, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 });
    onExit.unshift(() => storage.close());
    const logFile = join(folder, "broker.jsonl");
    const opened = await Stage.open({ cast, scenes, offsetsMs: pace(scenes, options.speed), logFile }, (played) => progress("playing", played));
    onExit.unshift(() => opened.stage.close());
    await storage.directory.put(accountsOf(cast, `127.0.0.1:${opened.port}`), cast.followers.map((follower) => follower.link));

    const log = new MemoryLog({ clock, limits: MEMORY_LOG_LIMITS });
    onExit.unshift(() => log.close());
    let fatal: Error | null = null;
    const node = await startNode({
      cell,
      me: { node: nodeId("demo"), boot: bootId(run) },
      partitions: PARTITIONS,
      log,
      ...storage,
      executor: demoExecutor(options.followers),
      limits: { ...DEFAULT_NODE_LIMITS, follower: { ...DEFAULT_NODE_LIMITS.follower, settleMs: SETTLE_MS } },
      env: { ...env, ...CREDENTIALS },
      clock,
      random,
      logger,
      metrics,
      onFatal: (error) => void (fatal ??= error),
      ...(options.wrapSession === undefined ? {} : { wrapSession: options.wrapSession }),
    });
    let running = true;
    const stopNode = async (): Promise<void> => {
      if (running) await node.stop();
      running = false;
    };
    onExit.unshift(stopNode);
    const look = (): void => {
      if (fatal !== null) throw fatal;
      if (options.interrupt?.aborted === true) throw interrupted();
    };

    await untilReady(node, cast, clock, look);
    await Promise.race([opened.stage.play(), untilInterrupted(options.interrupt)]);
    progress("settling", scenes.length);
    if (!(await comesToRest({ node, cast, log, cell, clock, look }))) logger.warn({}, "not every order is settled: the checker judges what there is");
    await stopNode();
    await opened.stage.close();

    progress("checking", scenes.length);
    const rows = await rowsOf(cast, storage.pairs);
    const counts = await storage.pairs.counts();
    const check = checkDemo({ statement, cast, log: await readBrokerLog(logFile), rows, rejected: counts.rejected, graceMs: GRACE_MS });
    return demoReport(statement, check, metrics.quantiles(WARM_UP_TRADES * cast.followers.length), counts);
  } finally {
    // Invariant 2: each end is tried, the first failure is told.
    const failures: unknown[] = [];
    for (const end of onExit) await end().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) logger.error({ failures: failures.map(String) }, "the demo did not end cleanly");
  }
}

const interrupted = (): LockstepError => new LockstepError("stopped", "the demo was interrupted");

function untilInterrupted(interrupt: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => interrupt?.addEventListener("abort", () => reject(interrupted()), { once: true }));
}

function isReady(node: RunningNode, cast: Cast): boolean {
  const { followers } = node.supervisor;
  return followers.length === cast.followers.length && followers.every((follower) => follower.settled);
}

interface Copier {
  readonly node: RunningNode;
  readonly cast: Cast;
  readonly log: EventLog;
  readonly cell: CellId;
  readonly clock: Clock;
  /** @throws what ends the demo */
  readonly look: () => void;
}

/** @throws LockstepError `unreachable` when some follower is not connected and reconciled in time */
async function untilReady(node: RunningNode, cast: Cast, clock: Clock, look: () => void): Promise<void> {
  const limitMs = clock.monotonicMs() + START_LIMIT_MS;
  while (!isReady(node, cast)) {
    look();
    if (clock.monotonicMs() > limitMs) throw new LockstepError("unreachable", `not every follower is connected and reconciled within ${START_LIMIT_MS / 1_000} s`);
    await pause(clock);
  }
}

/** Whether every order was settled and every row written before nothing new came any more. */
async function comesToRest({ node, cast, log, cell, clock, look }: Copier): Promise<boolean> {
  const limitMs = clock.monotonicMs() + SETTLE_LIMIT_MS;
  let said = -1;
  let saidAtMs = clock.monotonicMs();
  for (;;) {
    look();
    await node.flush();
    const { events, written } = await progressOf(log, cell);
    if (written && isReady(node, cast)) return true;
    const nowMs = clock.monotonicMs();
    if (events !== said) [said, saidAtMs] = [events, nowMs];
    if (nowMs > limitMs || nowMs - saidAtMs > QUIET_MS) return false;
    await pause(clock);
  }
}

/** How many pair events there are, and whether the writers have got to the last. */
async function progressOf(log: EventLog, cell: CellId): Promise<{ readonly events: number; readonly written: boolean }> {
  const topic = topicName(cell, "pair-events");
  const committed = new Map((await log.committed(writersGroup(cell), topic)).map((position) => [position.partition, position.offset]));
  const bounds = await log.bounds(topic);
  return {
    events: bounds.reduce((sum, { end }) => sum + end, 0),
    written: bounds.every(({ partition, start, end }) => end === start || committed.get(partition) === end),
  };
}

const pause = (clock: Clock): Promise<void> => new Promise((resolve) => void clock.after(POLL_MS, resolve));

async function rowsOf(cast: Cast, pairs: PairStore): Promise<Awaited<ReturnType<PairStore["rowsOf"]>>> {
  return (await Promise.all(cast.followers.map((follower) => pairs.rowsOf(follower.broker.account)))).flat();
}

/** A folder for this run; those of the runs before the last few are removed. */
async function runFolder(base: string, run: string, nowMs: number): Promise<string> {
  const name = `${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}-${run}`;
  await mkdir(join(base, name), { recursive: true });
  const runs = (await readdir(base)).sort();
  for (const old of runs.slice(0, -KEPT_RUNS)) await rm(join(base, old), { recursive: true, force: true });
  return join(base, name);
}
