// Owns the writers' strongest promise: a batch on Postgres ends as its events one by one in memory,
// whatever the batch.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { OwnerEvent } from "../../protocol/accountState.ts";
import { epoch, ticket } from "../../protocol/ids.ts";
import type { PairStatus } from "../../protocol/pairs.ts";
import type { WallMs } from "../../protocol/units.ts";
import type { Storage } from "../../storage/storage.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { openDatabase } from "../../storage/database.ts";
import { postgresDirectory } from "../../storage/directory.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import { postgresOverview } from "../../storage/overview.ts";
import { postgresPairStore } from "../../storage/pairStore.ts";
import { postgresRegistry } from "../../storage/registry.ts";
import { postgresUptime } from "../../storage/uptime.ts";
import { NOT_TOLD } from "../../storage/server.ts";
import { adopted, FOLLOWER, freshCell, linkedStorage, pairEvent } from "../contract/storageFixture.ts";
import { FakeScheduler } from "../sim/scheduler.ts";
import { execute } from "../support/postgres.ts";
import { CONNECTION, migratedDatabase, postgresFixture } from "./postgresStorage.ts";

const STATUSES: readonly PairStatus[] = ["Sending", "Open", "Open", "Closed", "Skipped"];

/** Two trades, three openings, four epochs, the odd marker and the odd state of the account: every rule of the fence meets every other. */
const anyEvent: fc.Arbitrary<OwnerEvent> = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }).map(adopted) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 9 }), fc.boolean()).map(([at, n, connected]): OwnerEvent => ({ kind: "account", follower: FOLLOWER.id, epoch: epoch(at), n, state: { connected, funds: null, lastError: null, changedAtMs: n as WallMs } })),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 3 }), fc.constantFrom(...STATUSES))
      .map(([epoch, n, trade, opening, status]) => pairEvent([epoch, n], { masterTicket: ticket(trade), opening, status })),
  },
);

const stateOf = async ({ overview }: Pick<Storage, "overview">): Promise<unknown> => (await overview.accounts({ limit: 10, after: null })).map(({ state }) => state);

/** What a write came to, as a value: its counts, or the code of its error. */
const outcome = (store: PairStore, batch: readonly OwnerEvent[]): Promise<unknown> => store.write(batch).catch((error: { code?: unknown }) => error.code);

test("random batches on Postgres end as the same events one by one in memory", async (t) => {
  const database = openDatabase({ ...CONNECTION, url: await migratedDatabase(), applicationName: "one by one" });
  t.after(() => database.close());
  const passTime = (): Promise<void> => Promise.reject(new Error("not needed"));
  const property = fc.asyncProperty(fc.array(fc.array(anyEvent, { maxLength: 12 }), { maxLength: 4 }), async (batches) => {
    const cell = freshCell();
    const memory = new MemoryDatabase(new FakeScheduler(1)).storage(cell);
    const postgres = { registry: postgresRegistry({ renewals: database, claims: database }, cell, NOT_TOLD), directory: postgresDirectory(database, cell), pairs: postgresPairStore(database, cell), overview: postgresOverview(database, cell), uptime: postgresUptime(database, cell), close: () => Promise.resolve() };
    for (const storage of [memory, postgres]) await linkedStorage({ cell, passTime, open: () => Promise.resolve(storage) }, 3);
    for (const batch of batches) {
      assert.deepEqual(await outcome(postgres.pairs, batch), await outcome(memory.pairs, batch));
      assert.deepEqual(await postgres.pairs.rowsOf(FOLLOWER.id), await memory.pairs.rowsOf(FOLLOWER.id));
      assert.deepEqual(await stateOf(postgres), await stateOf(memory));
    }
  });
  await fc.assert(property, { numRuns: 60 });
});

test("the reason of a written version is kept once, that of a version that stayed out is not", async (t) => {
  const fixture = await postgresFixture(t);
  const storage = await linkedStorage(fixture, 1);
  const skipped = pairEvent([1, 1], { status: "Skipped", reason: "price_moved", detail: { movedPoints: 51 } });
  await storage.pairs.write([skipped, pairEvent([1, 2], { masterTicket: ticket(2) })]);
  await storage.pairs.write([skipped, pairEvent([1, 3], { status: "Closed", reason: "manual" })]);
  const rows = await execute(await migratedDatabase(), "SELECT master_ticket::int, status, reason, detail FROM copy_events WHERE cell = $1", [fixture.cell]);
  assert.deepEqual(rows, [{ master_ticket: 10_884_298, status: "Skipped", reason: "price_moved", detail: { movedPoints: 51 } }]);
});
