// Owns the Registry on Postgres: leases and claims, each one statement (registrySql.ts) on the
// database's clock.
//
// 1. Every time is `clock_timestamp()`, read where it is used: after a wait for a row lock it is
//    the time after the wait, never the time the statement began.
// 2. Renew touches the node's row only; who owns an account changes by compare-and-set alone.
// 3. A claim takes an account only at the epoch that its own snapshot read, and raises it. After a
//    change by another session Postgres looks at the account's row again but judges the sub-selects on
//    `nodes` by the old snapshot; the epoch closes that.
// 4. An owner whose lease ran out may come back until a newer boot has its name or it is said to have
//    left: until then only a node that was live all along takes its accounts, so that after an outage
//    of the database everybody finds its own again.
// 5. A renewal waits for no other statement of its process: it has a connection of its own.

import type { AccountId, CellId, Epoch } from "../protocol/ids.ts";
import type { HeldAccount, PlatformShare, Registry } from "../protocol/ports/storage.ts";
import type { Database, SqlRow } from "./database.ts";
import { CLAIM, LEAVE, RELEASE, RENEW } from "./registrySql.ts";

export interface RegistryConnections {
  /** For renewals alone (5). */
  readonly renewals: Database;
  /** For all else of the Registry. */
  readonly claims: Database;
}

export function postgresRegistry({ renewals, claims }: RegistryConnections, cell: CellId): Registry {
  return {
    async renew(me, { ttlMs, timeoutMs, report }) {
      const { accepting, logOk, capacity, platforms, address } = report;
      const rows = await renewals.query(RENEW, [cell, me.node, me.boot, ttlMs / 1000, accepting, logOk, capacity, platforms, address], timeoutMs);
      return {
        held: rows[0]?.["held"] === true,
        wasLive: rows[0]?.["was_live"] === true,
        accounts: rows.filter((row) => row["id"] !== null).map(heldOf),
        othersLogOk: rows[0]?.["others_log_ok"] === true,
        shares: (rows[0]?.["shares"] ?? []) as PlatformShare[],
      };
    },
    async claim(me, { limit, freeForMs, liveForMs, avoid }) {
      const rows = await claims.query(CLAIM, [cell, me.node, me.boot, limit, freeForMs / 1000, liveForMs / 1000, avoid]);
      return rows.map(heldOf).sort((a, b) => (a.account < b.account ? -1 : 1));
    },
    async release(me, held) {
      const rows = await claims.query(RELEASE, [cell, held.account, me.node, me.boot, held.epoch]);
      return rows.length === 1;
    },
    async leave(me) {
      await claims.query(LEAVE, [cell, me.node, me.boot]);
    },
  };
}

function heldOf(row: SqlRow): HeldAccount {
  return { account: row["id"] as AccountId, epoch: row["epoch"] as Epoch };
}
