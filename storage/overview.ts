// Owns the Overview on Postgres: reads only, each one statement with a bound.
//
// 1. A page is continued by its key, never by counting rows: rows that come or go in between neither
//    repeat nor hide another.

import type { CellId } from "../protocol/ids.ts";
import type { AccountView, NodeView, Overview, OwnerView } from "../protocol/ports/overview.ts";
import type { Funds } from "../protocol/trades.ts";
import type { WallMs } from "../protocol/units.ts";
import type { Queryable, SqlRow } from "./database.ts";
import { accountOf, linkOf } from "./directory.ts";
import { pairRowOf } from "./pairStore.ts";

const NODES = `
  SELECT n.node, n.boot, n.accepting, n.log_ok, n.address, n.capacity, n.platforms, n.lease_until > clock_timestamp() AS live,
         (extract(epoch FROM n.lease_until - clock_timestamp()) * 1000)::double precision AS lease_left_ms,
         (SELECT count(*) FROM trading_accounts a WHERE a.cell = n.cell AND a.node = n.node AND a.boot = n.boot) AS accounts
    FROM nodes n
   WHERE n.cell = $1
   ORDER BY n.node COLLATE "C"`;

const owned = (more: { readonly columns: string; readonly join: string }): string => `
  a.node, a.boot, a.epoch, n.address, coalesce(n.lease_until > clock_timestamp(), false) AS live${more.columns}
    FROM trading_accounts a ${more.join}
    LEFT JOIN nodes n ON n.cell = a.cell AND n.node = a.node AND n.boot = a.boot
   WHERE a.cell = $1`;

const STATE = {
  columns: ", s.epoch AS state_epoch, s.connected, s.balance_cents, s.equity_cents, s.currency, s.last_error, s.changed_at_ms",
  join: "LEFT JOIN account_states s ON s.cell = a.cell AND s.account = a.id",
};

const OWNER = `SELECT ${owned({ columns: "", join: "" })} AND a.id = $2 AND a.node IS NOT NULL`;

const ACCOUNTS = `
  SELECT a.id, a.role, a.platform, a.broker, a.login, a.credentials_ref, a.enabled, a.projected_epoch, a.parked_reason, ${owned(STATE)}
     AND ($3::text IS NULL OR a.id COLLATE "C" > $3)
   ORDER BY a.id COLLATE "C" LIMIT $2`;

const LINKS = `
  SELECT id, master_id, follower_id, magic, enabled, settings FROM copy_links
   WHERE cell = $1 AND ($3::text IS NULL OR id COLLATE "C" > $3)
   ORDER BY id COLLATE "C" LIMIT $2`;

const PAIRS = `
  SELECT * FROM pairs
   WHERE cell = $1
     AND ($2::text IS NULL OR follower_id = $2)
     AND ($3::text IS NULL OR link_id = $3)
     AND ($4::text IS NULL OR status = $4)
     AND ($6::text IS NULL OR (link_id COLLATE "C", master_ticket, opening) > ($6, $7::bigint, $8::integer))
   ORDER BY link_id COLLATE "C", master_ticket, opening LIMIT $5`;

// The rows' times are their owner's wall clock; an hour is long against what clocks differ by.
const SKIPS = `
  SELECT reason, count(*) AS count FROM copy_events
   WHERE cell = $1 AND status = 'Skipped' AND changed_at_ms > extract(epoch FROM clock_timestamp()) * 1000 - $2
   GROUP BY reason ORDER BY count(*) DESC, reason COLLATE "C"`;

export function postgresOverview(database: Queryable, cell: CellId): Overview {
  return {
    nodes: async () => (await database.query(NODES, [cell])).map(nodeOf),
    async owner(account) {
      const [row] = await database.query(OWNER, [cell, account]);
      return row === undefined ? null : { ...ownerOf(row), epoch: row["epoch"] as OwnerView["epoch"] };
    },
    accounts: async ({ limit, after }) => (await database.query(ACCOUNTS, [cell, limit, after])).map(accountViewOf),
    links: async ({ limit, after }) => (await database.query(LINKS, [cell, limit, after])).map(linkOf),
    async pairs({ follower, link, status }, { limit, after }) {
      const rows = await database.query(PAIRS, [cell, follower, link, status, limit, after?.link ?? null, after?.masterTicket ?? null, after?.opening ?? null]);
      return rows.map(pairRowOf);
    },
    async skips(sinceMs) {
      const rows = await database.query(SKIPS, [cell, sinceMs]);
      return rows.map((row) => ({ reason: row["reason"] as string, count: row["count"] as number }));
    },
  };
}

function nodeOf(row: SqlRow): NodeView {
  return {
    node: row["node"] as NodeView["node"],
    boot: row["boot"] as NodeView["boot"],
    live: row["live"] as boolean,
    leaseLeftMs: Math.round(row["lease_left_ms"] as number),
    accepting: row["accepting"] as boolean,
    logOk: row["log_ok"] as boolean,
    address: row["address"] as string | null,
    capacity: row["capacity"] as number,
    platforms: row["platforms"] as NodeView["platforms"],
    accounts: row["accounts"] as number,
  };
}

const ownerOf = (row: SqlRow): Omit<OwnerView, "epoch"> => ({
  node: row["node"] as OwnerView["node"],
  boot: row["boot"] as OwnerView["boot"],
  live: row["live"] as boolean,
  address: row["address"] as string | null,
});

function accountViewOf(row: SqlRow): AccountView {
  return {
    ...accountOf(row),
    epoch: row["epoch"] as AccountView["epoch"],
    projectedEpoch: row["projected_epoch"] as AccountView["epoch"],
    owner: row["node"] === null ? null : ownerOf(row),
    parked: row["parked_reason"] as string | null,
    state: row["state_epoch"] === null ? null : stateOf(row),
  };
}

function stateOf(row: SqlRow): NonNullable<AccountView["state"]> {
  const balance = row["balance_cents"] as Funds["balance"] | null;
  return {
    epoch: row["state_epoch"] as AccountView["epoch"],
    connected: row["connected"] as boolean,
    funds: balance === null ? null : { balance, equity: row["equity_cents"] as Funds["equity"], currency: row["currency"] as string },
    lastError: row["last_error"] as string | null,
    changedAtMs: row["changed_at_ms"] as WallMs,
  };
}
