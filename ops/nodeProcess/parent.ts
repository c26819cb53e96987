// Owns a node's parent process: it starts the child that is the node, passes on what it is told, and
// ends the child's lease the moment the child is dead for certain.
//
// 1. It stays tiny: nothing of the node is loaded here, so nothing of the node can fail here.
// 2. It starts no second child: whoever runs services starts the command again.
// 3. It listens to signals before it starts anything, and until all of that has ended. Told before there is
//    a child, it starts none and ends in order.
// 4. Reaped is dead: only then, and unless the child said so itself by exit code 0, its lease is ended.

import type { ChildProcess } from "node:child_process";
import { messageOf } from "../../protocol/errors.ts";
import type { BootId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Identity } from "../../protocol/ports/storage.ts";
import { effectiveSettings } from "../config/effective.ts";
import { executorSizesOf, nodeLimitsOf } from "../config/limits.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { exitCodeOf, exitCodeOfChild, startLaunched, type LaunchedProgram } from "../launch.ts";
import { poolThreadsFor } from "../../actors/executor/sizes.ts";
import { endLease } from "./endLease.ts";
import { isLeasing, type StartMessage } from "./messages.ts";
import { keepLocalServers } from "./servers.ts";
import { SignalWatch } from "./signals.ts";

export interface ParentOptions {
  readonly resolved: ResolvedConfig;
  readonly boot: BootId;
  /** What the child runs. */
  readonly program: LaunchedProgram;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
  /** One line on standard error. */
  readonly say: (line: string) => void;
}

const CONFIGURATION = 2;
const FAILED = 1;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Runs one child to its end; resolves with the exit code: 0 after a clean stop, 128 and the signal's
 * number when it was told to stop at once, 2 for configuration, 1 for anything else.
 * @throws LockstepError `configuration`, `unreachable` before there is a child
 */
export async function runParent(options: ParentOptions): Promise<number> {
  const { config } = options.resolved;
  const ends = new Ends();
  const watch = new SignalWatch(options.clock); // (3)
  try {
    const databaseUrl = await localServers(options, ends, watch);
    if (databaseUrl === null) return 0;
    const child = startLaunched(options.program, poolThreadsFor(executorSizesOf(config)));
    watch.passTo(child);
    return await outcome(options, child, watch, databaseUrl);
  } finally {
    await ends.run();
    watch.done();
  }
}

/** Null: it was told to end meanwhile. What it has started is ended through `ends`. */
async function localServers(options: ParentOptions, ends: Ends, watch: SignalWatch): Promise<string | null> {
  try {
    return await keepLocalServers({ ...options, config: options.resolved.config }, ends, () => watch.told !== null);
  } catch (error) {
    if (watch.told === null) throw error;
    // A terminal tells everybody: what was to be started may have been told as well.
    options.logger.warn({ error: messageOf(error) }, "told to end while its servers started");
    return null;
  }
}

async function outcome(options: ParentOptions, child: ChildProcess, watch: SignalWatch, databaseUrl: string): Promise<number> {
  const { resolved, boot, say } = options;
  const { config } = resolved;
  const heard: unknown[] = [];
  child.on("message", (message) => void heard.push(message));
  const ended = exitCodeOfChild(child);
  const start: StartMessage = { kind: "start", config, settings: effectiveSettings(resolved), boot };
  child.send(start, () => undefined); // a child that is gone already is seen by its end
  const loading = loadRegistry();
  loading.catch(() => undefined); // told when it is needed
  const code = await ended; // (4)
  if (code === 0) return 0;
  const how = child.signalCode === null ? `ended with exit code ${code}` : `was ended by ${child.signalCode}`;
  if (!heard.some(isLeasing)) {
    if (watch.told !== null) return watch.killedBy === null ? 0 : exitCodeOf(watch.killedBy);
    if (code !== CONFIGURATION) say(`node ${config.nodeName}: its process ${how} before it took a lease`);
    return code === CONFIGURATION ? CONFIGURATION : FAILED;
  }
  const isEnded = await freeAccounts(options, loading, databaseUrl, { node: config.nodeName, boot }, watch.giveUp);
  say(`node ${config.nodeName}: its process ${how}; ${isEnded ? "its lease is ended, its accounts are free" : "its lease could not be ended and runs out by itself"}`);
  if (watch.killedBy !== null) return exitCodeOf(watch.killedBy);
  return code === CONFIGURATION ? CONFIGURATION : FAILED;
}

/** Loaded while the child lives: what ends a lease must not depend on what lies on the disk by then. */
const loadRegistry = async () => ({ ...(await import("../../storage/database.ts")), ...(await import("../../storage/registry.ts")), ...(await import("../../storage/server.ts")) });

async function freeAccounts({ resolved: { config }, clock, logger }: ParentOptions, loading: ReturnType<typeof loadRegistry>, url: string, me: Identity, giveUp: AbortSignal): Promise<boolean> {
  try {
    const { NOT_TOLD, openDatabase, postgresRegistry } = await loading;
    const database = openDatabase({ url, applicationName: `lockstep ${config.cell} parent`, logger, maxConnections: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    try {
      const registry = postgresRegistry({ renewals: database, claims: database }, config.cell, NOT_TOLD);
      return await endLease({ registry, me, ttlMs: nodeLimitsOf(config).lease.ttlMs, clock, logger, giveUp });
    } finally {
      await database.close();
    }
  } catch (error) {
    logger.error({ error: messageOf(error) }, "lease not ended");
    return false;
  }
}
