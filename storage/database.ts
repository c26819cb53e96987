// Owns the connections to Postgres: one pool with bounds on everything, and what becomes of a
// connection after an error.
//
// 1. A broken connection, idle or in use, never ends the process: the listener is put on each
//    client when it connects, since the pool takes its own away while a client is in use.
// 2. After a database error a connection is kept only if the server blamed a row or another session. After
//    any other (a time-out above all, where the server may still be at work) it is destroyed, so the next
//    query gets a new socket.
// 3. A transaction has happened only if COMMIT's own command tag says so; if nobody answered, it may have.
// 4. An int8 is read as a number only if it is a safe one.

import pg from "pg";
import { LockstepError, type ErrorCode } from "../protocol/errors.ts";
import type { Logger } from "../protocol/ports/logging.ts";
import { databaseError } from "./sqlstate.ts";

export type SqlRow = Record<string, unknown>;

/** Parsed and planned once per connection; a name stands for one text for ever. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** One connection for as long as its transaction lasts. */
export interface Queryable {
  /** @throws LockstepError `row_fault`, `row_suspect`, `database_contended`, `database_busy`, `database_fault` */
  query(query: string | Statement, values?: readonly unknown[]): Promise<readonly SqlRow[]>;
}

export interface Database extends Queryable {
  /** `timeoutMs`: the driver gives this one up earlier than others. Same errors. */
  query(query: string | Statement, values?: readonly unknown[], timeoutMs?: number): Promise<readonly SqlRow[]>;
  /** Commits what `work` did, or nothing of it when it rejects. Same errors as `query`, and `commit_unknown`. */
  transaction<T>(work: (connection: Queryable) => Promise<T>): Promise<T>;
  /** Waits for what is under way, then closes all connections. Calling it twice does nothing more. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** Waiting for a free connection, or for a new one to be made. */
  readonly connectTimeoutMs: number;
  /** The server gives a statement up after this; the driver half a second later, when the server is not heard of. */
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
}

/** How much longer than the server the driver waits. */
const DRIVER_EXTRA_MS = 500;
const KEEPALIVE_DELAY_MS = 5_000;
const IDLE_CONNECTION_MS = 30_000;

const INT8: number = pg.types.builtins.INT8;

/** @throws LockstepError `database_fault`: a bigint above 2^53 would be rounded (4). */
function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new LockstepError("database_fault", `bigint ${text} is larger than 2^53`);
  return value;
}

/** What pg would read a value with. */
const ownParser = pg.types.getTypeParser as (oid: number, format?: "text" | "binary") => (text: string) => unknown;

const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary"): ((text: string) => unknown) => (oid === INT8 && format !== "binary" ? safeInteger : ownParser(oid, format)),
};

/** Opens no connection yet: the first query does. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + DRIVER_EXTRA_MS,
    idle_in_transaction_session_timeout: options.statementTimeoutMs + DRIVER_EXTRA_MS,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    types: TYPES,
  });
  const onBroken = (error: Error): void => options.logger.warn({ error: error.message }, "a database connection broke");
  pool.on("connect", (client) => client.on("error", onBroken)); // (1)
  pool.on("error", () => undefined); // the same error once more, told by the pool
  let closed: Promise<void> | null = null;

  return {
    async query(query, values, timeoutMs) {
      return withClient(pool, (client) => run(client, query, values, timeoutMs));
    },
    async transaction(work) {
      return withClient(pool, async (client) => {
        await run(client, "BEGIN");
        const connection: Queryable = { query: (query, values) => run(client, query, values) };
        let result;
        try {
          result = await work(connection);
        } catch (error) {
          await rollback(client, error);
          throw error;
        }
        await commit(client);
        return result;
      });
    },
    close: () => (closed ??= pool.end()),
  };
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw databaseError(error);
  }
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (error) {
    const fault = databaseError(error);
    client.release(isSuspect(fault)); // (2)
    throw fault;
  }
}

const SUSPECTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["database_busy", "database_fault", "commit_unknown"]);

const isSuspect = (fault: LockstepError): boolean => SUSPECTS.has(fault.code);

async function run(client: pg.ClientBase, query: string | Statement, values: readonly unknown[] = [], timeoutMs?: number): Promise<readonly SqlRow[]> {
  const statement = typeof query === "string" ? { text: query } : query;
  // `query_timeout` of a single query: the driver knows it, its types do not.
  const config: pg.QueryConfig & { query_timeout?: number } = { ...statement, values: [...values], ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }) };
  try {
    return (await client.query<SqlRow>(config)).rows;
  } catch (error) {
    throw databaseError(error);
  }
}

/** Only a connection that will be kept is worth a ROLLBACK; the server ends the others' transactions with them. */
async function rollback(client: pg.ClientBase, error: unknown): Promise<void> {
  if (!isSuspect(databaseError(error))) await run(client, "ROLLBACK");
}

async function commit(client: pg.ClientBase): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query("COMMIT")).command;
  } catch (error) {
    const fault = databaseError(error);
    // (3): any other error is the server's own refusal, and undoes the transaction.
    throw fault.code === "database_busy" ? new LockstepError("commit_unknown", `COMMIT: ${fault.message}`, fault) : fault;
  }
  if (tag !== "COMMIT") throw new LockstepError("database_fault", `COMMIT was answered with ${tag}: nothing was stored`); // (3)
}
