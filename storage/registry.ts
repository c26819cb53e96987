// Owns the Registry on Postgres: leases and claims, each one statement (registrySql.ts) on the
// database's clock.
//
// 1. Every time is `clock_timestamp()`, read where it is used: after a wait for a row lock it is
//    the time after the wait, never the time the statement began.
// 2. Renew touches the node's row only; who owns an account changes by compare-and-set alone.
// 3. A claim or take gets an account only at the epoch that its own snapshot read, and raises it. After a
//    change by another session Postgres looks at the account's row again but judges the sub-selects on
//    `nodes` by the old snapshot; the epoch closes that.
// 4. An owner whose lease ran out may come back until a newer boot has its name or it is said to have
//    left: until then only a node that was live all along takes its accounts, so that after an outage
//    of the database everybody finds its own again.
// 5. A renewal waits for no other statement of its process: it has a connection of its own.
// 6. Nothing is claimed or taken on a clock or timeline other than whoever asks expects: a lease that lapsed
//    by a jump of the clock has not lapsed for its owner.
// 7. An epoch is `(timeline - 1) * 2^32 + a counter`, so that a server which has lost the last words of
//    the one before it gives none of its epochs again.
// 8. `settle_until` never falls. A former owner may have sent orders as long as its lease was live.

import type { AccountId, CellId, Epoch } from "../protocol/ids.ts";
import type { ExpectedDatabase, HeldAccount, OwnedAccount, PlatformShare, Registry } from "../protocol/ports/storage.ts";
import type { Database, SqlRow } from "./database.ts";
import { claimSql, LEAVE, RELEASE, renewSql, SWEEP, takeSql } from "./registrySql.ts";

export interface RegistryConnections {
  /** For renewals alone (5). */
  readonly renewals: Database;
  /** For all else of the Registry. */
  readonly claims: Database;
}

/** @param timeline how this server tells its timeline (server.ts) */
export function postgresRegistry({ renewals, claims }: RegistryConnections, cell: CellId, timeline: string): Registry {
  const [renew, claim, take] = [renewSql(timeline), claimSql(timeline), takeSql(timeline)];
  return {
    async renew(me, { ttlMs, timeoutMs, report }) {
      const { accepting, logOk, capacity, platforms, address } = report;
      const rows = await renewals.query(renew, [cell, me.node, me.boot, ttlMs / 1000, accepting, logOk, capacity, platforms, address], timeoutMs);
      const [first] = rows;
      return {
        held: first?.["held"] === true,
        wasLive: first?.["was_live"] === true,
        accounts: rows.filter((row) => row["id"] !== null).map(heldOf),
        othersLogOk: first?.["others_log_ok"] === true,
        shares: (first?.["shares"] ?? []) as PlatformShare[],
        clock: { nowMs: first?.["now_ms"] as number, timeline: first?.["timeline"] as number | null },
      };
    },
    async claim(me, { limit, freeForMs, liveForMs, avoid, settleMs, expected, leaveLapsed }) {
      const rows = await claims.query(claim, [cell, me.node, me.boot, limit, freeForMs / 1000, liveForMs / 1000, avoid, settleMs / 1000, ...databaseOf(expected), leaveLapsed]);
      return inOrder(rows);
    },
    async take(me, accounts, { settleMs, expected, timeoutMs }) {
      if (accounts.length === 0) return [];
      const [ids, epochs] = [accounts.map(({ account }) => account), accounts.map(({ epoch }) => epoch)];
      return inOrder(await claims.query(take, [cell, me.node, me.boot, ids, epochs, settleMs / 1000, ...databaseOf(expected)], timeoutMs));
    },
    async release(me, held, unsettledMs) {
      const rows = await claims.query(RELEASE, [cell, held.account, me.node, me.boot, held.epoch, unsettledMs / 1000]);
      return rows.length === 1;
    },
    async leave(me) {
      await claims.query(LEAVE, [cell, me.node, me.boot]);
    },
    async sweep(deadForMs) {
      return (await claims.query(SWEEP, [cell, deadForMs / 1000])).length;
    },
  };
}

const databaseOf = ({ clock, toleranceMs }: ExpectedDatabase): readonly unknown[] => [clock.nowMs, toleranceMs, clock.timeline];

function inOrder(rows: readonly SqlRow[]): readonly OwnedAccount[] {
  return rows.map((row) => ({ ...heldOf(row), settleLeftMs: row["settle_left_ms"] as number })).sort((a, b) => (a.account < b.account ? -1 : 1));
}

function heldOf(row: SqlRow): HeldAccount {
  return { account: row["id"] as AccountId, epoch: row["epoch"] as Epoch };
}
