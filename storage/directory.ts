// Owns the Directory on Postgres: what is configured, read whole and put whole.
//
// 1. A put is checked (directoryRules.ts) against what is stored, under a lock that keeps other
//    puts of the cell out; readers never wait.

import type { Account, Link, LinkSettings } from "../protocol/accounts.ts";
import type { CellId } from "../protocol/ids.ts";
import type { Directory } from "../protocol/ports/storage.ts";
import type { Database, Queryable, SqlRow } from "./database.ts";
import { merged } from "./directoryRules.ts";

const READ_ACCOUNTS = "SELECT id, role, platform, broker, login, credentials_ref, enabled FROM trading_accounts WHERE cell = $1 ORDER BY id";
const READ_LINKS = "SELECT id, master_id, follower_id, magic, enabled, settings FROM copy_links WHERE cell = $1 ORDER BY id";

const LOCK_CELL = "SELECT pg_advisory_xact_lock(hashtext('lockstep directory'), hashtext($1))";

const PUT_ACCOUNTS = `
  INSERT INTO trading_accounts (cell, id, role, platform, broker, login, credentials_ref, enabled)
  SELECT $1, id, role, platform, broker, login, "credentialsRef", enabled
    FROM jsonb_to_recordset($2::jsonb) AS r(id text, role text, platform text, broker text, login bigint, "credentialsRef" text, enabled boolean)
  ON CONFLICT (cell, id) DO UPDATE SET broker = excluded.broker, credentials_ref = excluded.credentials_ref, enabled = excluded.enabled`;

const PUT_LINKS = `
  INSERT INTO copy_links (cell, id, master_id, follower_id, magic, enabled, settings)
  SELECT $1, id, master, follower, magic, enabled, settings
    FROM jsonb_to_recordset($2::jsonb) AS r(id text, master text, follower text, magic bigint, enabled boolean, settings jsonb)
  ON CONFLICT (cell, id) DO UPDATE SET enabled = excluded.enabled, settings = excluded.settings`;

export function postgresDirectory(database: Database, cell: CellId): Directory {
  const accountsOf = async (connection: Queryable): Promise<readonly Account[]> => (await connection.query(READ_ACCOUNTS, [cell])).map(accountOf);
  const linksOf = async (connection: Queryable): Promise<readonly Link[]> => (await connection.query(READ_LINKS, [cell])).map(linkOf);
  return {
    accounts: () => accountsOf(database),
    links: () => linksOf(database),
    async put(accounts, links) {
      await database.transaction(async (connection) => {
        await connection.query(LOCK_CELL, [cell]); // (1)
        merged({ accounts: await accountsOf(connection), links: await linksOf(connection) }, accounts, links);
        await connection.query(PUT_ACCOUNTS, [cell, JSON.stringify(accounts)]);
        await connection.query(PUT_LINKS, [cell, JSON.stringify(links)]);
      });
    },
  };
}

function accountOf(row: SqlRow): Account {
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

function linkOf(row: SqlRow): Link {
  return {
    id: row["id"] as Link["id"],
    master: row["master_id"] as Link["master"],
    follower: row["follower_id"] as Link["follower"],
    magic: row["magic"] as Link["magic"],
    enabled: row["enabled"] as boolean,
    settings: row["settings"] as LinkSettings,
  };
}
