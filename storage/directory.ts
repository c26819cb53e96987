// Owns the Directory on Postgres: what is configured, read whole and put whole.
//
// 1. A put is checked (directoryRules.ts, directoryDifference.ts) against what is stored, under a lock that
//    keeps other puts of the cell out; readers never wait.
// 2. The version rises in the transaction of the change, and only with a change.

import { DEFAULT_LINK_SETTINGS, type Account, type Link, type LinkSettings } from "../protocol/accounts.ts";
import type { AccountId, CellId, LinkId } from "../protocol/ids.ts";
import type { Directory, DirectoryState } from "../protocol/ports/storage.ts";
import type { Database, Queryable, SqlRow } from "./database.ts";
import { apply, differing } from "./directoryDifference.ts";
import { checkPartitions, merged, partitionsToStore, type Configured } from "./directoryRules.ts";
import { storableText } from "./storableText.ts";

const READ_ACCOUNTS = "SELECT id, role, platform, broker, login, credentials_ref, enabled, parked_reason FROM trading_accounts WHERE cell = $1 ORDER BY id";
const READ_LINKS = "SELECT id, master_id, follower_id, magic, enabled, settings FROM copy_links WHERE cell = $1 ORDER BY id";
const READ_VERSION = "SELECT directory_version FROM cells WHERE cell = $1";
const LIVE_PAIRS = "SELECT link_id, count(*) AS live FROM pairs WHERE cell = $1 AND status IN ('Sending', 'Open') GROUP BY link_id";

const LOCK_CELL = "SELECT pg_advisory_xact_lock(hashtext('lockstep directory'), hashtext($1))";
const ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

const FIX_PARTITIONS = `
  INSERT INTO cells (cell, partitions) VALUES ($1, $2)
  ON CONFLICT (cell) DO UPDATE SET partitions = coalesce(cells.partitions, excluded.partitions)
  RETURNING partitions`;

const RAISE_VERSION = `
  INSERT INTO cells (cell, directory_version) VALUES ($1, 1)
  ON CONFLICT (cell) DO UPDATE SET directory_version = cells.directory_version + 1`;

const PUT_ACCOUNTS = `
  INSERT INTO trading_accounts (cell, id, role, platform, broker, login, credentials_ref, enabled)
  SELECT $1, id, role, platform, broker, login, "credentialsRef", enabled
    FROM jsonb_to_recordset($2::jsonb) AS r(id text, role text, platform text, broker text, login bigint, "credentialsRef" text, enabled boolean)
  ON CONFLICT (cell, id) DO UPDATE SET broker = excluded.broker, credentials_ref = excluded.credentials_ref, enabled = excluded.enabled,
    freed_at = CASE WHEN excluded.enabled AND NOT trading_accounts.enabled THEN clock_timestamp() ELSE trading_accounts.freed_at END`;

const PUT_LINKS = `
  INSERT INTO copy_links (cell, id, master_id, follower_id, magic, enabled, settings)
  SELECT $1, id, master, follower, magic, enabled, settings
    FROM jsonb_to_recordset($2::jsonb) AS r(id text, master text, follower text, magic bigint, enabled boolean, settings jsonb)
  ON CONFLICT (cell, id) DO UPDATE SET enabled = excluded.enabled, settings = excluded.settings`;

const PARK = `
  UPDATE trading_accounts SET parked_reason = $6, parked_at = clock_timestamp()
   WHERE cell = $1 AND id = $2 AND epoch = $3 AND node IS NOT NULL AND broker = $4 AND credentials_ref = $5
  RETURNING id`;

const UNPARK = "UPDATE trading_accounts SET parked_reason = NULL, parked_at = NULL, freed_at = clock_timestamp() WHERE cell = $1 AND id = ANY ($2)";

export function postgresDirectory(database: Database, cell: CellId): Directory {
  const versionOf = async (connection: Queryable): Promise<number> => ((await connection.query(READ_VERSION, [cell]))[0]?.["directory_version"] as number | undefined) ?? 0;
  const linksOf = async (connection: Queryable): Promise<readonly Link[]> => (await connection.query(READ_LINKS, [cell])).map(linkOf);
  const stateOf = async (connection: Queryable): Promise<DirectoryState> => {
    const version = await versionOf(connection);
    const rows = await connection.query(READ_ACCOUNTS, [cell]);
    const parked = new Map(rows.flatMap((row) => (row["parked_reason"] === null ? [] : [[row["id"] as AccountId, row["parked_reason"] as string] as const])));
    return { version, accounts: rows.map(accountOf), links: await linksOf(connection), parked };
  };
  const write = async (connection: Queryable, { accounts, links }: Configured): Promise<void> => {
    await connection.query(PUT_ACCOUNTS, [cell, JSON.stringify(accounts)]);
    await connection.query(PUT_LINKS, [cell, JSON.stringify(links)]);
    await connection.query(RAISE_VERSION, [cell]); // (2)
  };
  return {
    async accounts() {
      return (await database.query(READ_ACCOUNTS, [cell])).map(accountOf);
    },
    links: () => linksOf(database),
    version: () => versionOf(database),
    read: () =>
      database.transaction(async (connection) => {
        await connection.query(ONE_MOMENT);
        return stateOf(connection);
      }),
    async partitions(wanted) {
      const [row] = await database.query(FIX_PARTITIONS, [cell, partitionsToStore(wanted)]);
      return checkPartitions(cell, row?.["partitions"] as number, wanted);
    },
    async put(accounts, links) {
      await database.transaction(async (connection) => {
        await connection.query(LOCK_CELL, [cell]); // (1)
        const stored = await stateOf(connection);
        merged(stored, accounts, links);
        const changed = { accounts: differing(stored.accounts, accounts), links: differing(stored.links, links) };
        if (changed.accounts.length + changed.links.length > 0) await write(connection, changed);
      });
    },
    async apply(wanted, { dryRun }) {
      return database.transaction(async (connection) => {
        await connection.query(LOCK_CELL, [cell]); // (1)
        const stored = await stateOf(connection);
        const livePairs = new Map((await connection.query(LIVE_PAIRS, [cell])).map((row) => [row["link_id"] as LinkId, row["live"] as number]));
        const { difference, write: changed, unpark } = apply({ ...stored, livePairs }, wanted);
        const nothing = changed.accounts.length + changed.links.length + unpark.length === 0;
        if (dryRun || difference.refused.length > 0 || nothing) return difference;
        await connection.query(UNPARK, [cell, unpark]);
        await write(connection, changed);
        return difference;
      });
    },
    async park(tried, epoch, reason) {
      return database.transaction(async (connection) => {
        const rows = await connection.query(PARK, [cell, tried.id, epoch, tried.broker, tried.credentialsRef, storableText(reason)]);
        if (rows.length > 0) await connection.query(RAISE_VERSION, [cell]); // (2)
        return rows.length > 0;
      });
    },
  };
}

export function accountOf(row: SqlRow): Account {
  return {
    id: row["id"] as Account["id"],
    role: row["role"] as Account["role"],
    platform: row["platform"] as Account["platform"],
    broker: row["broker"] as string,
    login: row["login"] as number,
    credentialsRef: row["credentials_ref"] as string,
    enabled: row["enabled"] as boolean,
  };
}

export function linkOf(row: SqlRow): Link {
  return {
    id: row["id"] as Link["id"],
    master: row["master_id"] as Link["master"],
    follower: row["follower_id"] as Link["follower"],
    magic: row["magic"] as Link["magic"],
    enabled: row["enabled"] as boolean,
    // A setting that came later than the row has its default.
    settings: { ...DEFAULT_LINK_SETTINGS, ...(row["settings"] as Partial<LinkSettings>) },
  };
}
