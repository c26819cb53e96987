// Owns the real storage for tests: one migrated database per file, a cell per test.

import type { TestContext } from "node:test";
import type { CellId } from "../../protocol/ids.ts";
import { silent } from "../support/silent.ts";
import { migrate } from "../../storage/migrate.ts";
import { openStorage, type Storage } from "../../storage/storage.ts";
import { freshCell, type StorageFixture } from "../contract/storageFixture.ts";
import { execute, fileDatabase } from "../support/postgres.ts";

/** Bounds that no test comes near unless it means to. */
export const CONNECTION = { maxConnections: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000, logger: silent } as const;

let migrated: Promise<string> | null = null;

/** The URL of this file's migrated database. */
export function migratedDatabase(): Promise<string> {
  migrated ??= fileDatabase().then(async (url) => {
    await migrate({ url, logger: silent });
    return url;
  });
  return migrated;
}

export async function postgresFixture(t: TestContext): Promise<StorageFixture> {
  const url = await migratedDatabase();
  const ownCell = freshCell();
  const opened: Storage[] = [];
  t.after(() => Promise.all(opened.map((storage) => storage.close())));
  return {
    cell: ownCell,
    async open(cell: CellId = ownCell) {
      const storage = await openStorage({ ...CONNECTION, url, cell });
      opened.push(storage);
      return storage;
    },
    // What was said of the past moves instead of the clock, which is the same to all who ask.
    async passTime(ms) {
      const ago = "make_interval(secs => $1)";
      await execute(url, `UPDATE nodes SET lease_until = lease_until - ${ago}, started_at = started_at - ${ago}, live_since = live_since - ${ago} WHERE cell = $2`, [ms / 1000, ownCell]);
      await execute(url, `UPDATE trading_accounts SET freed_at = freed_at - ${ago}, settle_until = settle_until - ${ago} WHERE cell = $2`, [ms / 1000, ownCell]);
    },
  };
}
