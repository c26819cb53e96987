// Owns the migrations' promises: once, in order, whole, and never changed.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { checkServer, migrate, MIGRATIONS_FOLDER } from "../../storage/migrate.ts";
import { execute, freshDatabase, sharedPostgres } from "../support/postgres.ts";
import { silent } from "../support/silent.ts";

const FIRST = "0001_accounts_and_pairs.sql";
const OURS = [FIRST, "0002_cluster.sql", "0003_uptime_by_minute.sql", "0004_account_states.sql"];

async function folderWith(t: TestContext, files: Readonly<Record<string, string>>): Promise<URL> {
  const path = await mkdtemp(join(tmpdir(), "lockstep-migrations-"));
  t.after(() => rm(path, { recursive: true }));
  for (const [name, sql] of Object.entries(files)) await writeFile(join(path, name), sql);
  return pathToFileURL(`${path}/`);
}

test("our own are applied once, and the second time there is nothing to do", async (t) => {
  const url = await freshDatabase(t);
  assert.deepEqual(await migrate({ url, logger: silent }), OURS);
  assert.deepEqual(await migrate({ url, logger: silent }), []);
});

test("of many processes that start at once, one applies them and all go on", async (t) => {
  const url = await freshDatabase(t);
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate({ url, logger: silent })));
  assert.deepEqual(applied.flat(), OURS);
});

test("a database of the first release with rows in it gets the rest, and loses none of them", async (t) => {
  const url = await freshDatabase(t);
  const folder = await folderWith(t, {});
  await copyFile(new URL(FIRST, MIGRATIONS_FOLDER), new URL(FIRST, folder));
  await migrate({ url, logger: silent, folder });
  await execute(url, "INSERT INTO nodes (cell, node, boot, lease_until) VALUES ('c', 'n', 'b', clock_timestamp() + interval '1 min')");
  await execute(url, "INSERT INTO trading_accounts (cell, id, role, platform, broker, login, credentials_ref, enabled, node, boot, epoch) VALUES ('c', 'm', 'master', 'mt4', 'h:1', 1, 'env:X', true, 'n', 'b', 3), ('c', 'f', 'follower', 'mt4', 'h:1', 2, 'env:X', true, NULL, NULL, 9)");
  await execute(url, "INSERT INTO copy_links (cell, id, master_id, follower_id, magic, enabled, settings) VALUES ('c', 'l', 'm', 'f', 7, true, '{}')");
  await execute(url, `INSERT INTO pairs (cell, link_id, master_ticket, opening, epoch, n, master_id, follower_id, status, holds, symbol, digits, side, initial_volume, volume, master_initial_volume, master_volume, detail, changed_at_ms)
                      VALUES ('c', 'l', 1, 1, 9, 1, 'm', 'f', 'Open', 'position', 'X', 5, 'buy', 1, 1, 1, 1, '{}', 0)`);
  await execute(url, "INSERT INTO copy_events (cell, link_id, master_ticket, opening, epoch, n, follower_id, status, reason, detail, changed_at_ms) VALUES ('c', 'l', 1, 1, 9, 1, 'f', 'Open', 'manual', '{}', 0)");
  const old = async (): Promise<unknown> => execute(url, "SELECT a.id, a.node, a.epoch, p.status, e.reason FROM trading_accounts a LEFT JOIN pairs p ON p.follower_id = a.id LEFT JOIN copy_events e ON e.follower_id = a.id ORDER BY a.id");
  const before = await old();
  const applied = await Promise.all(Array.from({ length: 4 }, () => migrate({ url, logger: silent })));
  assert.deepEqual(applied.flat(), OURS.slice(1));
  assert.deepEqual(await old(), before);
  assert.deepEqual(await execute(url, "SELECT parked_reason FROM trading_accounts WHERE freed_at IS NULL OR parked_reason IS NOT NULL"), []);
  assert.deepEqual(await execute(url, "SELECT boot, platforms, address FROM nodes WHERE live_since <= clock_timestamp()"), [{ boot: "b", platforms: ["mt4", "mt5"], address: null }]);
});

test("a file that fails is undone whole; those before it stay", async (t) => {
  const url = await freshDatabase(t);
  const folder = await folderWith(t, { "0001_one.sql": "CREATE TABLE one (x integer);", "0002_two.sql": "CREATE TABLE two (x integer); SELECT 1 / 0;" });
  await assert.rejects(migrate({ url, logger: silent, folder }), { code: "row_fault", message: /^22012: / });
  const tables = await execute(url, "SELECT relname FROM pg_class WHERE relname IN ('one', 'two')");
  assert.deepEqual(tables, [{ relname: "one" }]);
});

test("a file that was changed after it was applied is refused", async (t) => {
  const url = await freshDatabase(t);
  const folder = await folderWith(t, { "0001_one.sql": "CREATE TABLE one (x integer);" });
  await migrate({ url, logger: silent, folder });
  await writeFile(new URL("0001_one.sql", folder), "CREATE TABLE one (x bigint);");
  await assert.rejects(migrate({ url, logger: silent, folder }), { code: "configuration", message: /0001_one.sql was changed/ });
});

test("a database of a newer release is refused", async (t) => {
  const url = await freshDatabase(t);
  const newer = `${String(OURS.length + 1).padStart(4, "0")}_new.sql`;
  const folder = await folderWith(t, { [newer]: "SELECT 1;" });
  for (const name of OURS) await copyFile(new URL(name, MIGRATIONS_FOLDER), new URL(name, folder));
  await migrate({ url, logger: silent, folder });
  await assert.rejects(migrate({ url, logger: silent }), { code: "configuration", message: new RegExp(`has migration ${newer}, where this build has none`) });
});

test("a gap in the numbers is refused before anything is applied", async (t) => {
  const folder = await folderWith(t, { "0001_one.sql": "SELECT 1;", "0003_three.sql": "SELECT 1;" });
  await assert.rejects(migrate({ url: "postgres://nobody@127.0.0.1:1/x", logger: silent, folder }), { code: "configuration", message: /0003_three.sql: expected a name beginning with 0002_/ });
});

test("a server that is new enough passes the check", async () => {
  await checkServer(await sharedPostgres());
});

test("the whole of the key counts: two accounts of one cell cannot share a login, two cells can", async (t) => {
  const url = await freshDatabase(t);
  await migrate({ url, logger: silent });
  const insert = (cell: string, id: string) =>
    execute(url, "INSERT INTO trading_accounts (cell, id, role, platform, broker, login, credentials_ref, enabled) VALUES ($1, $2, 'master', 'mt4', 'h:1', 7, 'env:X', true)", [cell, id]);
  await insert("c1", "a");
  await insert("c2", "a");
  await assert.rejects(insert("c1", "b"), { code: "23505" });
});

test("the database itself refuses a magic given twice on one follower, and a second live pair of a trade", async (t) => {
  const url = await freshDatabase(t);
  await migrate({ url, logger: silent });
  await execute(url, "INSERT INTO trading_accounts (cell, id, role, platform, broker, login, credentials_ref, enabled) SELECT 'c', id, 'follower', 'mt4', 'h:1', ascii(id), 'env:X', true FROM unnest(ARRAY['m', 'f']) id");
  const link = (id: string) => execute(url, "INSERT INTO copy_links (cell, id, master_id, follower_id, magic, enabled, settings) VALUES ('c', $1, 'm', 'f', 7, false, '{}')", [id]);
  await link("l");
  await assert.rejects(link("l2"), { code: "23505" });
  const pair = (opening: number) =>
    execute(url, `INSERT INTO pairs (cell, link_id, master_ticket, opening, epoch, n, master_id, follower_id, status, holds, symbol, digits, side, initial_volume, volume, master_initial_volume, master_volume, detail, changed_at_ms)
                  VALUES ('c', 'l', 1, $1, 1, 1, 'm', 'f', 'Open', 'position', 'X', 5, 'buy', 1, 1, 1, 1, '{}', 0)`, [opening]);
  await pair(1);
  await assert.rejects(pair(2), { code: "23505" });
});
