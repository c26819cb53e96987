// Owns how the parts of one cell's storage are put together, on Postgres.

import type { CellId } from "../protocol/ids.ts";
import type { Logger } from "../protocol/ports/logging.ts";
import type { Overview } from "../protocol/ports/overview.ts";
import type { Directory, PairStore, Registry, Uptime } from "../protocol/ports/storage.ts";
import { openDatabase } from "./database.ts";
import { postgresDirectory } from "./directory.ts";
import { migrate } from "./migrate.ts";
import { postgresOverview } from "./overview.ts";
import { postgresPairStore } from "./pairStore.ts";
import { postgresRegistry } from "./registry.ts";
import { timelineExpression, warnOfStandbys } from "./server.ts";
import { postgresUptime } from "./uptime.ts";

/** Everything of one cell. */
export interface Storage {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly pairs: PairStore;
  readonly overview: Overview;
  readonly uptime: Uptime;
  close(): Promise<void>;
}

export interface StorageOptions {
  readonly url: string;
  readonly cell: CellId;
  readonly logger: Logger;
  /** For directory and pairs; the registry has two connections of its own besides, one of them for renewals alone. */
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/**
 * Brings the schema up to date and opens the cell's storage.
 * @throws LockstepError `configuration`, `database_busy`, `database_fault`
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  await migrate(options);
  const name = `lockstep ${options.cell}`;
  const shared = openDatabase({ ...options, applicationName: name });
  const renewals = openDatabase({ ...options, applicationName: `${name} leases`, maxConnections: 1 });
  const claims = openDatabase({ ...options, applicationName: `${name} claims`, maxConnections: 1 });
  const timeline = await warnOfStandbys(claims, options.logger)
    .then(() => timelineExpression(claims))
    .catch(async (error: unknown) => {
      await claims.close();
      throw error;
    });
  return {
    registry: postgresRegistry({ renewals, claims }, options.cell, timeline),
    directory: postgresDirectory(shared, options.cell),
    pairs: postgresPairStore(shared, options.cell),
    overview: postgresOverview(shared, options.cell),
    uptime: postgresUptime(shared, options.cell),
    async close() {
      await Promise.all([shared.close(), renewals.close(), claims.close()]);
    },
  };
}
