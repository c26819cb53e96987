// Owns statements of the Registry that are held up half way, in a real database: so long as a rival needs.

import type { TestContext } from "node:test";
import pg from "pg";
import type { Queryable } from "../../storage/database.ts";
import { openStorage, type Storage } from "../../storage/storage.ts";
import { freshCell } from "../contract/storageFixture.ts";
import { eventually, execute, freshDatabase } from "../support/postgres.ts";
import { CONNECTION } from "./postgresStorage.ts";

/** A connection that does what it is told, one statement after the other. */
export async function session(t: TestContext, url: string): Promise<Queryable> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined); // the database may be dropped before the session ends
  await client.connect();
  t.after(() => client.end());
  return { query: async (text, values = []) => (await client.query<Record<string, unknown>>(text, [...values])).rows };
}

/** Resolves when a statement beginning with `text` waits for a lock. */
export function waiting(url: string, text: string): Promise<void> {
  const sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND btrim(query, E' \\n') LIKE $1 AND datname = current_database()";
  return eventually(`${text} waits for a lock`, async () => (await execute(url, sql, [`${text}%`])).length > 0);
}

export interface HeldUp {
  readonly url: string;
  readonly storage: Storage;
  /** Begins a statement whose snapshot is taken and which then waits; the function that comes back lets it go on. */
  holdUp<T>(statement: () => Promise<T>): Promise<() => Promise<T>>;
}

/** A database of its own in which reading `nodes` (behind which `node_rows` stands) waits for an advisory lock. */
export async function heldUpStatements(t: TestContext): Promise<HeldUp> {
  const url = await freshDatabase(t);
  const storage = await openStorage({ ...CONNECTION, url, cell: freshCell() });
  t.after(() => storage.close());
  await execute(url, "ALTER TABLE nodes RENAME TO node_rows");
  await execute(url, "CREATE FUNCTION wait_here() RETURNS boolean VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END'");
  await execute(url, "CREATE VIEW nodes AS SELECT * FROM node_rows WHERE wait_here()");
  const blocker = await session(t, url);
  return {
    url,
    storage,
    async holdUp(statement) {
      await blocker.query("SELECT pg_advisory_lock(42)");
      const result = statement();
      await eventually("the statement is held up", async () => (await execute(url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")).length > 0);
      return async () => {
        await blocker.query("SELECT pg_advisory_unlock(42)");
        return result;
      };
    },
  };
}
