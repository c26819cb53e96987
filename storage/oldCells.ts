// Owns forgetting cells that nobody will use again, such as those of finished demos.

import { openDatabase, type Queryable } from "./database.ts";
import type { StorageOptions } from "./storage.ts";

/** In the order in which rows depend on one another. */
const TABLES = ["node_uptime", "rejected_rows", "account_states", "copy_events", "pairs", "copy_links", "trading_accounts", "nodes", "cells"] as const;

/**
 * Removes all rows of every cell whose name begins with `prefix` and whose last lease ended more than `idleMs` ago, in one transaction.
 * @throws LockstepError `database_busy`, `database_fault`
 */
export async function forgetCells(options: Omit<StorageOptions, "cell">, prefix: string, idleMs: number): Promise<void> {
  const database = openDatabase({ ...options, applicationName: "lockstep old cells" });
  try {
    await database.transaction(async (connection) => {
      const rows = await connection.query(
        `SELECT cell FROM nodes WHERE starts_with(cell, $1) GROUP BY cell
         HAVING max(lease_until) < clock_timestamp() - make_interval(secs => $2)`,
        [prefix, idleMs / 1_000],
      );
      await removeCells(connection, rows.map((row) => row["cell"]));
    });
  } finally {
    await database.close();
  }
}

/**
 * Removes all rows of one cell that nobody uses any more, whether its leases are over or not.
 * @throws LockstepError `database_busy`, `database_fault`
 */
export async function forgetCell({ cell, ...options }: StorageOptions): Promise<void> {
  const database = openDatabase({ ...options, applicationName: "lockstep old cells" });
  try {
    await database.transaction((connection) => removeCells(connection, [cell]));
  } finally {
    await database.close();
  }
}

async function removeCells(connection: Queryable, cells: readonly unknown[]): Promise<void> {
  for (const table of TABLES) await connection.query(`DELETE FROM ${table} WHERE cell = ANY ($1)`, [cells]);
}
