// Owns forgetting cells that nobody will use again, such as those of finished demos.

import { openDatabase } from "./database.ts";
import type { StorageOptions } from "./storage.ts";

/** In the order in which rows depend on one another. */
const TABLES = ["node_uptime", "rejected_rows", "copy_events", "pairs", "copy_links", "trading_accounts", "nodes"] as const;

/**
 * Removes all rows of every cell whose name begins with `prefix` and in which no node has a live lease.
 * @throws LockstepError `database_busy`, `database_fault`
 */
export async function forgetCells(options: Omit<StorageOptions, "cell">, prefix: string): Promise<void> {
  const database = openDatabase({ ...options, applicationName: "lockstep old cells" });
  try {
    const rows = await database.query(
      `SELECT DISTINCT cell FROM trading_accounts a WHERE starts_with(cell, $1)
         AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.cell = a.cell AND n.lease_until > clock_timestamp())`,
      [prefix],
    );
    const cells = rows.map((row) => row["cell"]);
    for (const table of TABLES) await database.query(`DELETE FROM ${table} WHERE cell = ANY ($1)`, [cells]);
  } finally {
    await database.close();
  }
}
