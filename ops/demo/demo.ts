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
import { bootId, cellId, nodeId } from "../../protocol/ids.ts";
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
const SETTLE_LIMIT_MS = 60_000;
/** In a demo everybody is near: what has not been executed by then never will be. */
const SETTLE_MS = 5_000;
/** How long a copy may take to follow before the checker calls it missing. */
const GRACE_MS = 1_500;
const POLL_MS = 20;

/** The executor's sizes for a demo of so many followers: the launcher sets the thread pool by them. */
export function demoExecutor(followers: number): ExecutorSizes {
  // The master's account takes lanes too, while it connects.
  return { lanes: lanesFor(followers + 1, DEFAULT_NODE_LIMITS.follower.parallelism, LANES), reserve: RESERVE, hosts: 2, maxWaiting: 10_000, maxWaitMs: 5_000 };
}

export const demoPoolThreads = (followers: number): number => poolThreadsFor(demoExecutor(followers));

/** @throws LockstepError `configuration`, `bad_statement` */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const { statement, clock, random, logger, env } = options;
  const cast = castOf(statement, options.followers);
  const scenes = scriptOf(statement);
  const run = randomUUID().slice(0, 8);
  const folder = await runFolder(options.folder, run);
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
    const wait = (what: string, condition: () => Promise<boolean>): Promise<void> => until(clock, what, async () => {
      if (fatal !== null) throw fatal;
      return condition();
    });

    await wait("every follower is connected and reconciled", async () => isReady(node, cast));
    await opened.stage.play();
    progress("settling", scenes.length);
    await wait("every order is settled and every row written", async () => isReady(node, cast) && (await allWritten(node, log, cell)) && isReady(node, cast));
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

function isReady(node: RunningNode, cast: Cast): boolean {
  const { followers } = node.supervisor;
  return followers.length === cast.followers.length && followers.every((follower) => follower.settled);
}

async function allWritten(node: RunningNode, log: EventLog, cell: ReturnType<typeof cellId>): Promise<boolean> {
  await node.flush();
  const topic = topicName(cell, "pair-events");
  const committed = new Map((await log.committed(writersGroup(cell), topic)).map((position) => [position.partition, position.offset]));
  return (await log.bounds(topic)).every(({ partition, start, end }) => end === start || committed.get(partition) === end);
}

async function rowsOf(cast: Cast, pairs: PairStore): Promise<Awaited<ReturnType<PairStore["rowsOf"]>>> {
  return (await Promise.all(cast.followers.map((follower) => pairs.rowsOf(follower.broker.account)))).flat();
}

async function until(clock: Clock, what: string, condition: () => Promise<boolean>): Promise<void> {
  const limitMs = clock.monotonicMs() + SETTLE_LIMIT_MS;
  while (!(await condition())) {
    if (clock.monotonicMs() > limitMs) throw new LockstepError("unreachable", `not within ${SETTLE_LIMIT_MS / 1_000} s: ${what}`);
    await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
  }
}

/** A folder for this run; those of the runs before the last few are removed. */
async function runFolder(base: string, run: string): Promise<string> {
  const name = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${run}`;
  await mkdir(join(base, name), { recursive: true });
  const runs = (await readdir(base)).sort();
  for (const old of runs.slice(0, -KEPT_RUNS)) await rm(join(base, old), { recursive: true, force: true });
  return join(base, name);
}
