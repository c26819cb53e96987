// Owns a node's child process: the node itself with all it stands on, from the parent's start message
// to its end.
//
// 1. Told to stop, or without its parent, it drains: no new work, what is under way to its end, what
//    was said to the log, every account given back, then the lease. Only then it ends, with exit code 0.
// 2. What cannot be gone on with ends it at once, with exit code 2 for configuration and else 1: its
//    parent frees the accounts.
// 3. It is ready, and says so in one line on standard output, when its gate is open, masters are read
//    and rows are written.

import { Ends } from "../ends.ts";
import { executorSizesOf, nodeLimitsOf } from "../config/limits.ts";
import type { Environment } from "../credentials.ts";
import { configuredToken, freshToken, type Token } from "../http/token.ts";
import { startHttp, type RunningHttp } from "../http/server.ts";
import type { Ending } from "../launch.ts";
import { openLogger } from "../logging.ts";
import { PrometheusMetrics } from "../metrics/prometheus.ts";
import { startNode, type RunningNode } from "../node.ts";
import { pause } from "../../protocol/waiting.ts";
import { ownUser } from "../local/users.ts";
import { CLONE_FOLDER, stateFolder } from "../local/stateFolder.ts";
import { totalLag, writerLag } from "../writerLag.ts";
import { isLockstepError, LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Identity } from "../../protocol/ports/storage.ts";
import { openStorage, type Storage } from "../../storage/storage.ts";
import { isStart, type LeasingMessage, type StartMessage } from "./messages.ts";
import type { OpenLog } from "./openLog.ts";
import { openDatabaseServer, openKafkaServer, serverEnvironment } from "./servers.ts";

export interface ChildOptions {
  readonly ending: Ending;
  readonly openLog: OpenLog;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  /** One line on standard output. */
  readonly out: (line: string) => void;
  /** One line on standard error. */
  readonly say: (line: string) => void;
}

const CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 10_000;
const READY_POLL_MS = 20;
const LAG_EVERY_MS = 15_000;

/** Resolves with the exit code when the node has ended, or cannot be gone on with (2). */
export async function runChild(options: ChildOptions): Promise<number> {
  const { ending, say } = options;
  const start = await Promise.race([startMessage(), aborted(ending.signal)]);
  if (start === null) return 0; // told to end before it was told what to be
  const logger = openLogger({ level: start.config.logLevel, file: null });
  const node = new NodeProcess(options, start, logger);
  try {
    return await node.run();
  } catch (error) {
    for (const line of messageOf(error).split("\n")) say(`node ${start.config.nodeName}: ${line}`);
    if (!isLockstepError(error)) logger.error({ stack: error instanceof Error ? error.stack : null }, "unexpected");
    return exitCodeOf(error);
  }
}

/** Such as a name that another live process has, or a topic with other settings: starting again helps nobody. */
const exitCodeOf = (error: unknown): number => (isLockstepError(error, "configuration") ? 2 : 1);

function startMessage(): Promise<StartMessage> {
  return new Promise((resolve) => {
    const take = (message: unknown): void => {
      if (!isStart(message)) return;
      process.off("message", take);
      resolve(message);
    };
    process.on("message", take);
  });
}

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });

class NodeProcess {
  readonly #options: ChildOptions;
  readonly #start: StartMessage;
  readonly #logger: Logger;
  readonly #me: Identity;
  readonly #ends = new Ends();
  readonly #metrics: PrometheusMetrics;
  #node: RunningNode | null = null;

  constructor(options: ChildOptions, start: StartMessage, logger: Logger) {
    this.#options = options;
    this.#start = start;
    this.#logger = logger;
    this.#me = { node: start.config.nodeName, boot: start.boot };
    this.#metrics = new PrometheusMetrics(options.clock);
    this.#metrics.watch(() => this.#node?.state() ?? null);
  }

  async run(): Promise<number> {
    const { settings } = this.#start;
    this.#logger.info({ ...this.#me, settings }, "node starts");
    this.#ends.add(async () => this.#metrics.stop());
    let fail: (error: Error) => void = () => undefined;
    const fatal = new Promise<Error>((resolve) => (fail = resolve));
    const told = aborted(this.#options.ending.signal);
    try {
      const failed = await Promise.race([this.#live(fail).then(() => told), fatal]);
      if (failed !== null) return this.#endAtOnce(failed);
    } catch (error) {
      await this.#ends.run();
      throw error;
    }
    this.#logger.info(this.#me, "node drains");
    const failures = await Promise.race([this.#ends.run(), fatal.then((error) => [error])]);
    if (failures.length > 0) throw new LockstepError("stopped", `it did not end cleanly: ${failures.map(messageOf).join("; ")}`, failures[0]);
    this.#logger.info(this.#me, "node has ended");
    return 0;
  }

  /** Invariant 2. */
  #endAtOnce(error: Error): number {
    this.#logger.error({ ...this.#me, error: error.message, stack: error.stack }, "node ends at once");
    this.#options.say(`node ${this.#me.node}: ${error.message}`);
    return exitCodeOf(error);
  }

  /** Resolves when it is ready, or is to end. */
  async #live(onFatal: (error: Error) => void): Promise<void> {
    const { openLog, clock, out, ending } = this.#options;
    const { config } = this.#start;
    const isTold = (): boolean => ending.signal.aborted;
    const limits = nodeLimitsOf(config);
    const { storage, log } = await this.#open((brokers) => openLog({ brokers, clientId: `lockstep ${config.cell} ${config.nodeName}`, replication: config.replication, marginMs: limits.lease.marginMs, clock, logger: this.#logger }));
    const partitions = await storage.directory.partitions(config.partitions);
    const http = await this.#serve(storage);
    if (isTold()) return;
    this.#sayLeasing();
    const { env, random } = this.#options;
    const node = await startNode({
      ...storage,
      cell: config.cell,
      me: this.#me,
      partitions,
      log,
      executor: executorSizesOf(config),
      limits,
      env,
      clock,
      random,
      logger: this.#logger,
      metrics: this.#metrics,
      onFatal,
      platforms: config.platforms,
      address: () => http.address,
    });
    this.#node = node;
    this.#ends.add(() => node.stop());
    this.#watchLag(log);
    while (node.state().fenced && !isTold()) await pause(clock, READY_POLL_MS);
    if (!isTold()) out(`node ${config.nodeName} ready, http ${http.address}`); // (3)
  }

  async #open(openLog: (brokers: readonly string[]) => EventLog): Promise<{ readonly storage: Storage; readonly log: EventLog }> {
    const { config } = this.#start;
    const servers = { ...this.#options, config, logger: this.#logger };
    const database = await openDatabaseServer(servers);
    this.#ends.add(() => database.stop());
    const connections = { maxConnections: CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    const storage = await openStorage({ ...connections, url: database.at, cell: config.cell, logger: this.#logger });
    this.#ends.add(() => storage.close());
    const kafka = await openKafkaServer(servers);
    this.#ends.add(() => kafka.stop());
    const log = openLog(kafka.at);
    this.#ends.add(() => log.close());
    return { storage, log };
  }

  async #serve({ overview, directory, uptime }: Storage): Promise<RunningHttp> {
    const { config } = this.#start;
    const { clock, ending } = this.#options;
    const token = await this.#token();
    this.#ends.add(() => token.forget());
    const http = await startHttp({
      host: config.httpHost,
      port: config.httpPort,
      token,
      me: this.#me,
      state: () => this.#node?.state() ?? null,
      isDraining: () => ending.signal.aborted,
      door: () => this.#node?.door ?? null,
      overview,
      uptime,
      askDatabase: () => directory.version(),
      page: () => this.#metrics.page(),
      clock,
      logger: this.#logger,
    });
    this.#ends.add(() => http.close());
    this.#logger.info({ address: http.address, token: token.from }, "HTTP listens");
    return http;
  }

  async #token(): Promise<Token> {
    const { config } = this.#start;
    const { env } = this.#options;
    if (config.httpToken !== null) return configuredToken(config.httpToken, env);
    return freshToken(await stateFolder(serverEnvironment(config, env), CLONE_FOLDER, ownUser()), config.cell, config.nodeName);
  }

  #sayLeasing(): void {
    const message: LeasingMessage = { kind: "leasing" };
    // A parent that is gone ends nothing, and we are told of it.
    if (process.connected) process.send?.(message, () => undefined);
  }

  /** Beside everything else: a log that does not answer makes the number unknown. */
  #watchLag(log: EventLog): void {
    const { clock } = this.#options;
    let stopped = false;
    let timer = clock.after(0, () => void look());
    const look = async (): Promise<void> => {
      this.#metrics.setWriterLag(await writerLag(log, this.#start.config.cell).then(totalLag, () => null));
      if (!stopped) timer = clock.after(LAG_EVERY_MS, () => void look());
    };
    this.#ends.add(async () => {
      stopped = true;
      timer.cancel();
    });
  }
}
