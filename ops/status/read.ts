// Owns reading the status of a cell: from PostgreSQL and, if there is one, from Kafka. No node is asked,
// and none has to run.
//
// 1. It changes nothing: no schema is brought up, no topic made, no Kafka started.
// 2. A Kafka that does not answer in time costs the number that it would have given, nothing else.

import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { AccountView, Overview } from "../../protocol/ports/overview.ts";
import { within } from "../../protocol/waiting.ts";
import { openDatabase } from "../../storage/database.ts";
import { postgresOverview } from "../../storage/overview.ts";
import type { NodeConfig } from "../config/keys.ts";
import type { Environment } from "../credentials.ts";
import { NO_KAFKA, runningBrokers } from "../kafka/running.ts";
import { openKafkaLog } from "../nodeProcess/openLog.ts";
import { openDatabaseServer, serverEnvironment } from "../nodeProcess/servers.ts";
import { writerLag, type PartitionLag } from "../writerLag.ts";
import type { StatusInput } from "./report.ts";

export type StatusConfig = Pick<NodeConfig, "cell" | "databaseUrl" | "kafkaBrokers" | "stateDir">;

export interface StatusOptions {
  readonly config: StatusConfig;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PAGE = 1_000;
const HOUR_MS = 3_600_000;
const KAFKA_LIMIT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** SQLSTATE of a table that is not there. */
const NO_TABLE = "42P01";

/** @throws LockstepError `configuration`, `unreachable`, `database_busy`, `database_fault` */
export async function readStatus(options: StatusOptions): Promise<StatusInput> {
  const { cell } = options.config;
  const server = await openDatabaseServer(options);
  try {
    const database = openDatabase({ url: server.at, applicationName: `lockstep ${cell} status`, logger: options.logger, maxConnections: 2, connectTimeoutMs: CONNECT_TIMEOUT_MS, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    try {
      const overview = postgresOverview(database, cell);
      const nodes = await overview.nodes();
      return { cell, nodes, accounts: await allAccounts(overview), skips: await overview.skips(HOUR_MS), writers: await writers(options) };
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
      if (code === NO_TABLE) throw new LockstepError("configuration", "the database has no tables of this release yet: lockstep node and lockstep apply make them", error);
      throw error;
    } finally {
      await database.close();
    }
  } finally {
    await server.stop();
  }
}

async function allAccounts(overview: Overview): Promise<readonly AccountView[]> {
  const accounts: AccountView[] = [];
  let after: AccountId | null = null;
  for (;;) {
    const page: readonly AccountView[] = await overview.accounts({ limit: PAGE, after });
    accounts.push(...page);
    after = page.at(-1)?.id ?? null;
    if (page.length < PAGE) return accounts;
  }
}

/** A text says why it is not known. */
async function writers(options: StatusOptions): Promise<readonly PartitionLag[] | string> {
  const { config, env, clock, logger } = options;
  const brokers = config.kafkaBrokers ?? (await runningBrokers(serverEnvironment(config, env), clock));
  if (brokers === null) return NO_KAFKA;
  const log = openKafkaLog({ brokers, clientId: `lockstep ${config.cell} status`, replication: 1, marginMs: KAFKA_LIMIT_MS, clock, logger });
  try {
    return await within(clock, KAFKA_LIMIT_MS, "Kafka", writerLag(log, config.cell));
  } catch (error) {
    return messageOf(error);
  } finally {
    log.close().catch((error: unknown) => logger.debug({ error: messageOf(error) }, "connection not closed cleanly"));
  }
}
