// Owns the schema: the numbered files of storage/migrations, applied in order.
//
// 1. One process at a time: all of it happens under an advisory lock, so any number may start at once.
// 2. Each file is one transaction together with its line in `lockstep_migrations`: applied whole or not at all.
// 3. What was applied never changes: a file whose checksum differs from the recorded one, or that
//    this build does not have, is refused.

import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import pg from "pg";
import { LockstepError } from "../protocol/errors.ts";
import type { Logger } from "../protocol/ports/logging.ts";
import { databaseError } from "./sqlstate.ts";

export const MIGRATIONS_FOLDER = new URL("./migrations/", import.meta.url);

/** "lockstep" in ASCII as a number: nothing else in the database locks it. */
const LOCK_KEY = "7813573191660758384";
/** Waiting for another process's migrations. */
const LOCK_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** jsonb, `ON CONFLICT` and all else used here are older; this is the oldest release still cared for. */
const OLDEST_SERVER = 14;

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  readonly url: string;
  readonly logger: Logger;
  /** Other files than ours, in tests. */
  readonly folder?: URL;
}

/**
 * Brings the schema up to this build; returns the names of what was applied now.
 * @throws LockstepError `configuration` (an old server, a changed or unknown migration), `database_busy`, `database_fault`
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const migrations = await readMigrations(options.folder ?? MIGRATIONS_FOLDER);
  return withConnection(options.url, async (client) => {
    await refuseOldServer(client);
    await client.query("SELECT pg_advisory_lock($1)", [LOCK_KEY]); // (1) the end of the connection frees it
    await client.query(`CREATE TABLE IF NOT EXISTS lockstep_migrations (
      name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    const { rows } = await client.query<{ name: string; checksum: string }>("SELECT name, checksum FROM lockstep_migrations ORDER BY name");
    const missing = pending(migrations, rows);
    for (const migration of missing) {
      await apply(client, migration);
      options.logger.info({ migration: migration.name }, "migration applied");
    }
    return missing.map((migration) => migration.name);
  });
}

/**
 * Whether a server answers at this address and is new enough.
 * @throws LockstepError `configuration` when it is too old, `database_busy` or `database_fault` when it does not let us in
 */
export async function checkServer(url: string): Promise<void> {
  await withConnection(url, refuseOldServer);
}

/** What is still to be applied; refuses a history that is not ours (3). */
function pending(migrations: readonly Migration[], applied: readonly { name: string; checksum: string }[]): readonly Migration[] {
  for (const [index, row] of applied.entries()) {
    const ours = migrations[index];
    if (ours?.name !== row.name) {
      throw new LockstepError("configuration", `the database has migration ${row.name}, where this build has ${ours?.name ?? "none"}: it belongs to another release`);
    }
    if (ours.checksum !== row.checksum) {
      throw new LockstepError("configuration", `migration ${row.name} was changed after it was applied: put the file back, and write what is new as the next number`);
    }
  }
  return migrations.slice(applied.length);
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("BEGIN"); // (2)
  await client.query(migration.sql);
  await client.query("INSERT INTO lockstep_migrations (name, checksum) VALUES ($1, $2)", [migration.name, migration.checksum]);
  const { command } = await client.query("COMMIT");
  if (command !== "COMMIT") throw new LockstepError("database_fault", `migration ${migration.name}: COMMIT was answered with ${command}`);
}

async function readMigrations(folder: URL): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1];
      if (Number(number) !== index + 1) {
        throw new LockstepError("configuration", `migration ${name}: expected a name beginning with ${String(index + 1).padStart(4, "0")}_`);
      }
      const sql = await readFile(new URL(name, folder), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
  const version = rows[0]?.server_version ?? "";
  if (!(Number.parseInt(version, 10) >= OLDEST_SERVER)) {
    throw new LockstepError("configuration", `PostgreSQL ${OLDEST_SERVER} or newer is needed, the server is ${version}`);
  }
}

async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: "lockstep migrate", connectionTimeoutMillis: CONNECT_TIMEOUT_MS, lock_timeout: LOCK_TIMEOUT_MS, keepAlive: true });
  client.on("error", () => undefined); // the query under way rejects with the same error
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw databaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
