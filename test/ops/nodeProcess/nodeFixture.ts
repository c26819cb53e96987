// Owns a running node of the process tests: its cell in the real PostgreSQL, its processes, its rows.

import type { TestContext } from "node:test";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { cellId } from "../../../protocol/ids.ts";
import { openStorage } from "../../../storage/storage.ts";
import { eventually, execute, fileDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";
import { until } from "../../support/until.ts";
import { says, startCommand, type Command } from "../cli/lockstep.ts";
import { followers, MASTER } from "../http/httpFixture.ts";

const PROGRAM = ["--import", "tsx", fileURLToPath(new URL("./memoryNode.ts", import.meta.url))];
export const BOOT = "boot-1";
export const NODE = "node-1";
const CONNECTION = { logger: silent, maxConnections: 1, connectTimeoutMs: 5_000, statementTimeoutMs: 5_000 };

export interface NodeRun {
  readonly command: Command;
  readonly cell: string;
  readonly database: string;
  /** `host:port` of its HTTP. */
  readonly address: string;
  /** The child's process. */
  readonly childPid: number;
}

/** What the rows say of the node and of the account that it had. */
export interface Rows {
  readonly live: boolean;
  readonly ended: boolean;
  readonly owner: string | null;
}

/** A cell with one account, whose broker does not exist. */
export async function cellWithAccount(): Promise<{ readonly cell: string; readonly database: string }> {
  const database = await fileDatabase();
  const cell = `cell-${randomUUID().slice(0, 8)}`;
  const storage = await openStorage({ ...CONNECTION, url: database, cell: cellId(cell) });
  await storage.directory.put([MASTER, ...followers(1)], []);
  await storage.close();
  return { cell, database };
}

/** A node that is ready and owns the account. */
export async function runningNode(t: TestContext, settings: Readonly<Record<string, string>> = {}): Promise<NodeRun> {
  const { cell, database } = await cellWithAccount();
  const command = await startCommand(t, [], { program: PROGRAM, env: nodeEnvironment(cell, database, settings) });
  await says(command, "out", /^node node-1 ready, http 127\.0\.0\.1:\d+\n/);
  const [, address = ""] = /http (\S+)/.exec(command.out()) ?? [];
  await eventually("the node owns the account", async () => (await rowsOf({ cell, database })).owner === NODE);
  const childPid = command.left().find((pid) => pid !== command.child.pid);
  if (childPid === undefined) throw new Error("the parent has no child");
  return { command, cell, database, address, childPid };
}

/** A node whose parent starts a PostgreSQL of its own, and is not done with it. */
export async function startingNode(t: TestContext): Promise<Command> {
  const { DATABASE_URL: _url, ...env } = nodeEnvironment("cell", "");
  const command = await startCommand(t, [], { program: PROGRAM, database: "embedded", env });
  await until("a process of its server is there", () => command.left().length > 1);
  return command;
}

/** Kafka is named and never asked: the log is in memory. */
export function nodeEnvironment(cell: string, database: string, settings: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    DATABASE_URL: database, KAFKA_BROKERS: "127.0.0.1:1", LOCKSTEP_CELL: cell, LOCKSTEP_NODE_NAME: NODE, LOCKSTEP_TEST_BOOT: BOOT, LOCKSTEP_HTTP_PORT: "0",
    LOCKSTEP_LANES: "4", LOCKSTEP_RESERVE: "4", LOCKSTEP_HOSTS: "1", LOCKSTEP_SECRET_M: "x", ...settings,
  };
}

export async function rowsOf({ cell, database }: Pick<NodeRun, "cell" | "database">): Promise<Rows> {
  const [row] = await execute(
    database,
    `SELECT coalesce(n.lease_until > clock_timestamp(), false) AS live, n.ended_boot IS NOT DISTINCT FROM $2 AS ended, a.node AS owner
       FROM trading_accounts a LEFT JOIN nodes n ON n.cell = a.cell AND n.node = $3 WHERE a.cell = $1 AND a.id = 'f0'`,
    [cell, BOOT, NODE],
  );
  return row as unknown as Rows;
}
