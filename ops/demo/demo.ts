// Owns the main job in one process: a statement's trades happen on a simulated master, followers
// copy them through the real path, and an independent checker reads the brokers' own log.
//
// 1. The copier is the same node that runs in a cluster; the log is the in-memory one, or Kafka.
// 2. Whatever happens, nothing is left running.

import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { poolThreadsFor, lanesFor, type ExecutorSizes } from "../../actors/executor/sizes.ts";
import { LockstepError } from "../../protocol/errors.ts";
import { cellId } from "../../protocol/ids.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import type { BrokerMs } from "../../protocol/units.ts";
import { forgetCells } from "../../storage/oldCells.ts";
import { openStorage } from "../../storage/storage.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { DEFAULT_NODE_LIMITS, type NodeLimits } from "../nodeLimits.ts";
import { resolveDatabase } from "../postgres/resolve.ts";
import type { Statement } from "../statement/model.ts";
import { accountsOf, castOf, CREDENTIALS, type Cast } from "./cast.ts";
import { checkDemo } from "./check/checkDemo.ts";
import { readBrokerLog } from "./brokerLogFile.ts";
import { Copier, type Outage } from "./copier.ts";
import { DemoMetrics, WARM_UP_TRADES } from "./ownTime.ts";
import { kafkaDemoLog, memoryDemoLog } from "./demoLog.ts";
import { pace, type Speed } from "./pace.ts";
import { demoReport, type DemoReport } from "./report.ts";
import { runFolder } from "./runFolder.ts";
import { scriptOf } from "./script.ts";
import { CLOCK_OFFSET_MS, Stage } from "./stage.ts";

export interface DemoOptions {
  readonly statement: Statement;
  readonly followers: number;
  readonly speed: Speed;
  /** The seed of what goes wrong, and the copier's state thrown away twice; null: nothing goes wrong. */
  readonly chaosSeed: number | null;
  readonly log: "memory" | "kafka";
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
/** In a demo everybody is near: what has not been executed by then never will be. */
const SETTLE_MS = 5_000;
/** Nothing new for so long: all that is left is orders that their broker goes on refusing. */
const QUIET_MS = SETTLE_MS + 3_000;
/** How long a copy may take to follow before the checker calls it missing. */
const GRACE_MS = 1_500;
/** Below the settle time: a call must be given up before its order is taken for settled. */
const CALL_MS = 4_000;
const LIMITS: NodeLimits = { ...DEFAULT_NODE_LIMITS, session: { ...DEFAULT_NODE_LIMITS.session, brokerTimeoutMs: CALL_MS }, follower: { ...DEFAULT_NODE_LIMITS.follower, settleMs: SETTLE_MS } };
/** A call that is never answered must end while the demo still runs. */
const CHAOS_CALL_MS = 2_000;
const CHAOS_LIMITS: NodeLimits = { ...LIMITS, session: { ...LIMITS.session, brokerTimeoutMs: CHAOS_CALL_MS, reconnectMaxMs: 1_000 } };
/** In which parts of the story the copier's state is thrown away. */
const THROWN_AWAY_AT = [1 / 3, 2 / 3];
const CELLS = "lockstep-demo-";
/** Rows of a demo are kept this long, for whoever wants to look at them. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/** The executor's sizes for a demo of so many followers: the launcher sets the thread pool by them. */
export function demoExecutor(followers: number): ExecutorSizes {
  return { lanes: lanesFor(followers, DEFAULT_NODE_LIMITS.follower.parallelism, LANES), reserve: RESERVE, hosts: 2, maxWaiting: 10_000, maxWaitMs: 5_000 };
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

  const ends = new Ends();
  try {
    progress("starting");
    const database = await resolveDatabase({ env, logger, clock });
    ends.add(() => database.stop());
    const cell = cellId(`${CELLS}${run}`);
    const connections = { url: database.url, logger, maxConnections: 4, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 };
    const storage = await openStorage({ ...connections, cell });
    ends.add(() => storage.close());
    const logFile = join(folder, "broker.jsonl");
    await forgetCells(connections, CELLS, FORGOTTEN_AFTER_MS);
    const log = await (options.log === "kafka" ? kafkaDemoLog : memoryDemoLog)({ cell, partitions: PARTITIONS, env, clock, logger });
    ends.add(() => log.close());
    const story = new Story();
    const opened = await Stage.open({ cast, scenes, offsetsMs: pace(scenes, options.speed), logFile, chaosSeed: options.chaosSeed }, (played) => {
      progress("playing", played);
      story.reached(played / scenes.length);
    });
    ends.add(() => opened.stage.close());
    await storage.directory.put(accountsOf(cast, `127.0.0.1:${opened.port}`), cast.followers.map((follower) => follower.link));

    const copier = new Copier({
      cell,
      run,
      followers: cast.followers.length,
      partitions: PARTITIONS,
      ...storage,
      openLog: () => log.open(),
      executor: demoExecutor(options.followers),
      limits: options.chaosSeed === null ? LIMITS : CHAOS_LIMITS,
      env: { ...env, ...CREDENTIALS },
      clock,
      random,
      logger,
      metrics,
      quietMs: QUIET_MS,
      look: () => {
        if (options.interrupt?.aborted === true) throw interrupted();
      },
      ...(options.wrapSession === undefined ? {} : { wrapSession: options.wrapSession }),
    });
    ends.add(() => copier.stop());

    await copier.start();
    const thrownAway = options.chaosSeed === null ? Promise.resolve() : throwAway(copier, story);
    await Promise.race([Promise.all([opened.stage.play(), thrownAway]), untilInterrupted(options.interrupt)]);
    progress("settling", scenes.length);
    if (!(await copier.comesToRest())) logger.warn({}, "not every order is settled: the checker judges what there is");
    await copier.stop();
    await opened.stage.close();

    progress("checking", scenes.length);
    const rows = await rowsOf(cast, storage.pairs);
    const counts = await storage.pairs.counts();
    const check = checkDemo({ statement, cast, log: await readBrokerLog(logFile), rows, rejected: counts.rejected, graceMs: GRACE_MS, settleMs: SETTLE_MS, callTimeoutMs: CHAOS_CALL_MS, outages: copier.outages.map(atBroker) });
    return demoReport(statement, check, metrics.quantiles(WARM_UP_TRADES * cast.followers.length), counts);
  } finally {
    // Invariant 2.
    const failures = await ends.run();
    if (failures.length > 0) logger.error({ failures: failures.map(String) }, "the demo did not end cleanly");
  }
}

/** How far the story has come, as a share of its scenes. */
class Story {
  readonly #waiting: { readonly share: number; readonly resolve: () => void }[] = [];

  reached(share: number): void {
    for (const waiting of this.#waiting) if (share >= waiting.share) waiting.resolve();
  }

  until(share: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ share, resolve }));
  }
}

async function throwAway(copier: Copier, story: Story): Promise<void> {
  const moments = THROWN_AWAY_AT.map((share) => story.until(share));
  for (const moment of moments) {
    await moment;
    await copier.throwAway();
  }
}

/** By the brokers' clock. */
const atBroker = ({ fromMs, toMs }: Outage): { readonly fromMs: BrokerMs; readonly toMs: BrokerMs } => ({ fromMs: (fromMs + CLOCK_OFFSET_MS) as BrokerMs, toMs: (toMs + CLOCK_OFFSET_MS) as BrokerMs });

const interrupted = (): LockstepError => new LockstepError("stopped", "the demo was interrupted");

function untilInterrupted(interrupt: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => interrupt?.addEventListener("abort", () => reject(interrupted()), { once: true }));
}

async function rowsOf(cast: Cast, pairs: PairStore): Promise<Awaited<ReturnType<PairStore["rowsOf"]>>> {
  return (await Promise.all(cast.followers.map((follower) => pairs.rowsOf(follower.broker.account)))).flat();
}
