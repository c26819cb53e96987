// Owns the cases on when the Registry's statements read the time, and on what they look at again once they were held up, which
// only a real database has: waits that outlast a lease, transactions that began long ago.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { CellId } from "../../protocol/ids.ts";
import { epoch } from "../../protocol/ids.ts";
import type { Queryable, SqlRow } from "../../storage/database.ts";
import { claimSql, renewSql, takeSql } from "../../storage/registrySql.ts";
import { NOT_TOLD } from "../../storage/server.ts";
import { openStorage } from "../../storage/storage.ts";
import { claiming, freshCell, me, MASTER, renewing, taking } from "../contract/storageFixture.ts";
import { execute } from "../support/postgres.ts";
import { heldUpStatements, session, waiting } from "./heldUp.ts";
import { CONNECTION, migratedDatabase, postgresFixture } from "./postgresStorage.ts";

const alice = me("alice");
const bob = me("bob");
const SHORT_MS = 1_000;

/** Alice's row, locked by a session until her short lease has run out. */
async function outlasted(t: TestContext) {
  const { cell, open } = await postgresFixture(t);
  const { registry } = await open();
  await registry.renew(alice, renewing({}, SHORT_MS));
  const url = await migratedDatabase();
  const blocker = await session(t, url);
  await blocker.query("BEGIN");
  const [lease] = await blocker.query("SELECT lease_until::text AS ends FROM nodes WHERE cell = $1 FOR UPDATE", [cell]);
  const isOver = async (): Promise<void> => {
    await waiting(url, "WITH renewed");
    await blocker.query("SELECT pg_sleep(extract(epoch FROM $1::timestamptz - clock_timestamp()) + 0.05)", [lease?.["ends"]]);
    await blocker.query("COMMIT");
  };
  return { cell, registry, url, ends: lease?.["ends"], isOver };
}

test("rows 6, 8: a renewal that waited for its row for longer than its lease lasted says that there was none", async (t) => {
  const { cell, registry, url, ends, isOver } = await outlasted(t);
  const renewal = registry.renew(alice, renewing());
  await isOver();
  const { held, wasLive } = await renewal;
  assert.deepEqual({ held, wasLive }, { held: true, wasLive: false });
  assert.deepEqual(await execute(url, "SELECT live_since >= $2::timestamptz AS since_then FROM nodes WHERE cell = $1", [cell, ends]), [{ since_then: true }]);
});

test("a second boot that waited for the row until the lease had run out has the name", async (t) => {
  const { registry, isOver } = await outlasted(t);
  const renewal = registry.renew(me("alice", "other"), renewing());
  await isOver();
  assert.equal((await renewal).held, true);
});

/** A session in whose transaction `now()` stands still from here on, in a cell of one account; nobody is live. */
async function oldTransaction(t: TestContext) {
  const { cell, open } = await postgresFixture(t);
  const { registry, directory } = await open();
  await directory.put([MASTER], []);
  const old = await session(t, await migratedDatabase());
  await old.query("BEGIN");
  await old.query("SELECT now(), pg_sleep(0.05)");
  t.after(() => old.query("ROLLBACK").catch(() => undefined));
  const claim = (who = bob): Promise<readonly SqlRow[]> => old.query(claimSql(NOT_TOLD), [cell, who.node, who.boot, 9, 0, 0, [], 30, 0, Infinity, null, false]);
  const take = (who = bob): Promise<readonly SqlRow[]> => old.query(takeSql(NOT_TOLD), [cell, who.node, who.boot, [MASTER.id], [0], 30, 0, Infinity, null]);
  return { cell, registry, old, claim, take };
}

const clockOf = async (old: Queryable): Promise<number> => Number((await old.query("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms"))[0]?.["ms"]);

test("inside an old transaction a claim finds free what became so since", async (t) => {
  const { registry, claim } = await oldTransaction(t);
  // The share is alice's, so bob has it by capacity only; for him it is free since he came.
  for (const one of [alice, bob]) await registry.renew(one, renewing());
  assert.equal((await claim()).length, 1);
});

test("inside an old transaction a claim finds its own lease run out once it has", async (t) => {
  const { registry, old, claim } = await oldTransaction(t);
  await registry.renew(bob, renewing({}, 100));
  await old.query("SELECT pg_sleep(0.15)");
  assert.deepEqual(await claim(), []);
});

test("inside an old transaction my own lease has run out once it has", async (t) => {
  const { registry, old, take } = await oldTransaction(t);
  await registry.renew(bob, renewing({}, 100));
  await old.query("SELECT pg_sleep(0.15)");
  assert.deepEqual(await take(), []);
});

test("inside an old transaction what is left to settle goes on", async (t) => {
  const { cell, registry, old, take } = await oldTransaction(t);
  await registry.renew(bob, renewing());
  await execute(await migratedDatabase(), "UPDATE trading_accounts SET settle_until = clock_timestamp() + interval '20 s' WHERE cell = $1", [cell]);
  const [before] = await old.query("SELECT extract(epoch FROM settle_until - clock_timestamp())::float8 * 1000 AS left FROM trading_accounts WHERE cell = $1", [cell]);
  const [taken] = await take();
  assert.ok(Number(taken?.["settle_left_ms"]) <= Number(before?.["left"]), `${String(taken?.["settle_left_ms"])} after ${String(before?.["left"])}`);
});

test("inside an old transaction the clock that is told and compared goes on", async (t) => {
  const { cell, old } = await oldTransaction(t);
  const before = await clockOf(old);
  const [renewed] = await old.query(renewSql(NOT_TOLD), [cell, alice.node, alice.boot, 60, true, true, 9, ["mt4"], null]);
  assert.ok(Number(renewed?.["now_ms"]) >= before, `${String(renewed?.["now_ms"])} after ${before}`);
});

/** Alice has the master at epoch 1, lapsed, and so has she in another cell; bob is live. */
async function twins(t: TestContext) {
  const held = await heldUpStatements(t);
  const elsewhere = await openStorage({ ...CONNECTION, url: held.url, cell: freshCell() });
  t.after(() => elsewhere.close());
  for (const { registry, directory } of [held.storage, elsewhere]) {
    await directory.put([MASTER], []);
    await registry.renew(alice, renewing());
    await registry.claim(alice, claiming());
  }
  await execute(held.url, "UPDATE node_rows SET lease_until = clock_timestamp() - interval '1 s'");
  await held.storage.registry.renew(bob, renewing());
  const [row] = await execute(held.url, "SELECT cell FROM node_rows WHERE node = 'bob'");
  const cell = row?.["cell"] as CellId;
  return {
    ...held,
    confirmed: () => execute(held.url, "UPDATE trading_accounts SET epoch = epoch + 1 WHERE cell = $1", [cell]),
    rows: () => execute(held.url, "SELECT node, epoch::int FROM trading_accounts ORDER BY cell = $1 DESC", [cell]),
  };
}

test("a take that was held up is not fooled by another cell's row of the same name", async (t) => {
  const { storage, holdUp, confirmed, rows } = await twins(t);
  const take = await holdUp(() => storage.registry.take(bob, [{ account: MASTER.id, epoch: epoch(1) }], taking()));
  await confirmed();
  assert.deepEqual(await take(), []);
  assert.deepEqual(await rows(), [{ node: "alice", epoch: 2 }, { node: "alice", epoch: 1 }]);
});

test("a claim that was held up is not fooled by another cell's row of the same name", async (t) => {
  const { storage, holdUp, confirmed, rows } = await twins(t);
  const claim = await holdUp(() => storage.registry.claim(bob, claiming({ freeForMs: 0 })));
  await confirmed();
  assert.deepEqual(await claim(), []);
  assert.deepEqual(await rows(), [{ node: "alice", epoch: 2 }, { node: "alice", epoch: 1 }]);
});
