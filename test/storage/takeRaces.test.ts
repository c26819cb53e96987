// Owns the races between a take and what others do to the same account, under explicit locks, both ways: Postgres looks at
// a row again after a change by another session, but judges who is live by the snapshot of the statement's start.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { HeldAccount } from "../../protocol/ports/storage.ts";
import { epoch } from "../../protocol/ids.ts";
import type { SqlRow } from "../../storage/database.ts";
import { takeSql } from "../../storage/registrySql.ts";
import { NOT_TOLD } from "../../storage/server.ts";
import { account, claiming, me, MASTER, renewing, taking } from "../contract/storageFixture.ts";
import { execute } from "../support/postgres.ts";
import { heldUpStatements, session } from "./heldUp.ts";
import { migratedDatabase, postgresFixture } from "./postgresStorage.ts";

const alice = me("alice");
const bob = me("bob");
const master = (at: number): HeldAccount => ({ account: MASTER.id, epoch: epoch(at) });
const summary = (held: readonly HeldAccount[]): string[] => held.map(({ account: id, epoch: at }) => `${id}@${at}`);
const ownerIn = async (url: string): Promise<unknown> => (await execute(url, "SELECT node, epoch::int FROM trading_accounts"))[0];

/** Alice has the master at epoch 1 and her lease has run out; bob was live all along. */
async function lapsed(t: TestContext) {
  const held = await heldUpStatements(t);
  const { registry, directory } = held.storage;
  await directory.put([MASTER], []);
  await registry.renew(alice, renewing());
  await registry.claim(alice, claiming());
  await execute(held.url, "UPDATE node_rows SET lease_until = clock_timestamp() - interval '1 s'");
  await registry.renew(bob, renewing());
  return held;
}

test("a claim that judged the lease before a renewal committed gets nothing once the owner has confirmed the account", async (t) => {
  const { url, storage, holdUp } = await lapsed(t);
  const rival = await holdUp(() => storage.registry.claim(bob, claiming({ freeForMs: 0 })));
  // Alice's renewal and take do not read through the view that holds bob's claim up.
  await execute(url, "UPDATE node_rows SET lease_until = clock_timestamp() + interval '60 s' WHERE node = 'alice'");
  await execute(url, "UPDATE trading_accounts SET epoch = epoch + 1 WHERE node = 'alice'");
  assert.deepEqual(await rival(), []);
  assert.deepEqual(await ownerIn(url), { node: "alice", epoch: 2 });
});

test("and the other way: once that claim has committed, the owner's take gets nothing, whatever its snapshot showed", async (t) => {
  const { url, storage, holdUp } = await lapsed(t);
  await storage.registry.renew(alice, renewing());
  const take = await holdUp(() => storage.registry.take(alice, [master(1)], taking()));
  await execute(url, "UPDATE trading_accounts SET node = 'bob', boot = 'bob-boot-1', epoch = epoch + 1");
  assert.deepEqual(await take(), []);
  assert.deepEqual(await ownerIn(url), { node: "bob", epoch: 2 });
});

test("of two takes of one account at one epoch exactly one gets it: the second, held up with the older snapshot, nothing", async (t) => {
  const { url, storage, holdUp } = await lapsed(t);
  const take = await holdUp(() => storage.registry.take(bob, [master(1)], taking()));
  await execute(url, "UPDATE trading_accounts SET epoch = epoch + 1");
  assert.deepEqual(await take(), []);
  assert.deepEqual(await ownerIn(url), { node: "alice", epoch: 2 });
});

test("a take passes over an account that another session holds, instead of waiting, and gets the rest; undone, it gets that one too", async (t) => {
  const fixture = await postgresFixture(t);
  const { registry, directory } = await fixture.open();
  await directory.put([account("a", "follower", 1), account("b", "follower", 2)], []);
  await registry.renew(alice, renewing());
  const held = await registry.claim(alice, claiming());
  const rival = await session(t, await migratedDatabase());
  await rival.query("BEGIN");
  await rival.query("UPDATE trading_accounts SET epoch = epoch + 1 WHERE cell = $1 AND id = 'a'", [fixture.cell]);
  assert.deepEqual(summary(await registry.take(alice, held, taking())), ["b@2"]);
  await rival.query("ROLLBACK");
  assert.deepEqual(summary(await registry.take(alice, held, taking())), ["a@2"]);
});

test("an account that a rival has under lock and then commits is not taken at the epoch before", async (t) => {
  const fixture = await postgresFixture(t);
  const { registry, directory } = await fixture.open();
  await directory.put([MASTER], []);
  await registry.renew(alice, renewing());
  const held = await registry.claim(alice, claiming());
  await registry.renew(bob, renewing());
  const rival = await session(t, await migratedDatabase());
  await rival.query("BEGIN");
  await rival.query("UPDATE trading_accounts SET node = 'bob', boot = 'bob-boot-1', epoch = epoch + 1 WHERE cell = $1", [fixture.cell]);
  const take = registry.take(alice, held, taking());
  await rival.query("COMMIT");
  assert.deepEqual(await take, []);
  assert.deepEqual(summary((await registry.renew(bob, renewing())).accounts), ["master@2"]);
});

test("row 5: a take inside an old transaction sees the lease as ended: every time is read where it is used", async (t) => {
  const fixture = await postgresFixture(t);
  const { registry, directory } = await fixture.open();
  await directory.put([MASTER], []);
  await registry.renew(alice, renewing());
  await registry.claim(alice, claiming());
  await registry.renew(bob, renewing());
  const old = await session(t, await migratedDatabase());
  await old.query("BEGIN");
  await old.query("SELECT now()"); // stands still from here to the end of the transaction
  await registry.renew(alice, renewing({}, 200));
  const take = (): Promise<readonly SqlRow[]> => old.query(takeSql(NOT_TOLD), [fixture.cell, bob.node, bob.boot, [MASTER.id], [1], 30, 0, Infinity, null]);
  assert.deepEqual(await take(), []);
  await old.query("SELECT pg_sleep(0.2)");
  assert.deepEqual((await take()).map(({ epoch: at }) => Number(at)), [2]);
  await old.query("COMMIT");
});

test("a dead boot's renewal that comes after its lease was ended revives nothing, also when it had waited for the row", async (t) => {
  const fixture = await postgresFixture(t);
  const [first, second] = [await fixture.open(), await fixture.open()];
  await first.directory.put([MASTER], []);
  await first.registry.renew(alice, renewing());
  await first.registry.claim(alice, claiming());
  await second.registry.renew(bob, renewing());
  const url = await migratedDatabase();
  const parent = await session(t, url);
  await parent.query("BEGIN");
  await parent.query("UPDATE nodes SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp()) WHERE cell = $1 AND node = 'alice'", [fixture.cell]);
  const renewal = first.registry.renew(alice, renewing());
  await parent.query("COMMIT");
  assert.equal((await renewal).held, false);
  assert.deepEqual(summary(await second.registry.claim(bob, claiming())), ["master@2"]);
});
