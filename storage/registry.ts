// Owns the Registry on Postgres: leases and claims, each one statement on the database's clock.
//
// 1. Every time is `clock_timestamp()`, read where it is used: after a wait for a row lock it is
//    the time after the wait, never the time the statement began.
// 2. Renew touches the node's row only; who owns an account changes by compare-and-set alone.
// 3. A claim takes an account only at the epoch that its own snapshot read, and raises it. After a
//    change by another session Postgres looks at the account's row again but judges the sub-select on
//    `nodes` by the old snapshot; the epoch closes that.

import type { AccountId, CellId, Epoch } from "../protocol/ids.ts";
import type { HeldAccount, Registry } from "../protocol/ports/storage.ts";
import type { Database, SqlRow } from "./database.ts";

// In DO UPDATE `nodes.` is the row as it is once its lock is ours, so the old lease is judged then.
// The accounts are read by the statement's snapshot; a lease that was live all along protects them.
const RENEW = `
  WITH renewed AS (
    INSERT INTO nodes (cell, node, boot, lease_until)
    VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
    ON CONFLICT (cell, node) DO UPDATE SET
      boot = excluded.boot,
      was_live = nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp(),
      lease_until = clock_timestamp() + make_interval(secs => $4)
    WHERE nodes.ended_boot IS DISTINCT FROM excluded.boot
      AND (nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())
    RETURNING was_live
  )
  SELECT r.held, r.was_live, a.id, a.epoch
    FROM (SELECT count(*) > 0 AS held, coalesce(bool_or(was_live), false) AS was_live FROM renewed) r
    LEFT JOIN trading_accounts a ON a.cell = $1 AND a.node = $2 AND a.boot = $3
   ORDER BY a.id`;

const CLAIM = `
  WITH seen AS MATERIALIZED (
    SELECT id, epoch FROM trading_accounts WHERE cell = $1
  ), free AS (
    SELECT a.id
      FROM trading_accounts a JOIN seen ON seen.id = a.id AND seen.epoch = a.epoch -- (3)
     WHERE a.cell = $1 AND a.enabled
       AND NOT EXISTS (SELECT 1 FROM nodes o
                        WHERE o.cell = a.cell AND o.node = a.node AND o.boot = a.boot AND o.lease_until > clock_timestamp())
       AND EXISTS (SELECT 1 FROM nodes me
                    WHERE me.cell = $1 AND me.node = $2 AND me.boot = $3 AND me.lease_until > clock_timestamp())
     ORDER BY a.id
     LIMIT $4
       FOR UPDATE OF a SKIP LOCKED
  )
  UPDATE trading_accounts a
     SET node = $2, boot = $3, epoch = a.epoch + 1, claimed_at = clock_timestamp()
    FROM free
   WHERE a.cell = $1 AND a.id = free.id
  RETURNING a.id, a.epoch`;

const RELEASE = `
  UPDATE trading_accounts SET node = NULL, boot = NULL
   WHERE cell = $1 AND id = $2 AND node = $3 AND boot = $4 AND epoch = $5
  RETURNING id`;

const LEAVE = `
  UPDATE nodes SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())
   WHERE cell = $1 AND node = $2 AND boot = $3`;

/** `database`: one of its own, so that no other work keeps a renewal waiting for a connection. */
export function postgresRegistry(database: Database, cell: CellId): Registry {
  return {
    async renew(me, ttlMs) {
      const rows = await database.query(RENEW, [cell, me.node, me.boot, ttlMs / 1000]);
      return {
        held: rows[0]?.["held"] === true,
        wasLive: rows[0]?.["was_live"] === true,
        accounts: rows.filter((row) => row["id"] !== null).map(heldOf),
      };
    },
    async claim(me, limit) {
      const rows = await database.query(CLAIM, [cell, me.node, me.boot, limit]);
      return rows.map(heldOf).sort((a, b) => (a.account < b.account ? -1 : 1));
    },
    async release(me, held) {
      const rows = await database.query(RELEASE, [cell, held.account, me.node, me.boot, held.epoch]);
      return rows.length === 1;
    },
    async leave(me) {
      await database.query(LEAVE, [cell, me.node, me.boot]);
    },
  };
}

function heldOf(row: SqlRow): HeldAccount {
  return { account: row["id"] as AccountId, epoch: row["epoch"] as Epoch };
}
