// Owns what becomes of connections: broken ones, slow ones, ones that lead to a former primary.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { openDatabase, type Database } from "../../storage/database.ts";
import { eventually, execute, fileDatabase } from "../support/postgres.ts";
import { silent } from "../support/silent.ts";

let opened = 0;

async function open(t: TestContext, change: Partial<Parameters<typeof openDatabase>[0]> = {}): Promise<{ database: Database; name: string; url: string }> {
  const url = await fileDatabase();
  const name = `test ${(opened += 1)}`;
  const database = openDatabase({ url, applicationName: name, maxConnections: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000, logger: silent, ...change });
  t.after(() => database.close());
  return { database, name, url };
}

const backendPid = async (database: Pick<Database, "query">): Promise<number> => (await database.query("SELECT pg_backend_pid() AS pid"))[0]?.["pid"] as number;
const terminate = (url: string, name: string) => execute(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [name]);
/** Waits until no backend of that name fits the condition. */
const gone = (url: string, name: string, condition = "true"): Promise<void> =>
  eventually(`no backend of ${name} is left`, async () => (await execute(url, `SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND ${condition}`, [name])).length === 0);

test("the process lives on when its idle connections are cut, and the next query gets a new one", async (t) => {
  const { database, name, url } = await open(t);
  const first = await backendPid(database);
  await terminate(url, name);
  await gone(url, name);
  const second = await backendPid(database).catch(() => backendPid(database)); // the cut may not be noticed yet
  assert.notEqual(second, first);
});

test("a connection that is cut within a transaction fails that transaction as busy, and nothing more", async (t) => {
  const { database, name, url } = await open(t);
  await database.query("CREATE TABLE cut (x integer)");
  const work = database.transaction(async (connection) => {
    await connection.query("INSERT INTO cut VALUES (1)");
    await terminate(url, name);
    await connection.query("SELECT 1");
  });
  await assert.rejects(work, { code: "database_busy" });
  assert.deepEqual(await database.query("SELECT x FROM cut"), []);
});

test("after the server's time-out the connection is thrown away and its backend is gone", async (t) => {
  const { database, name, url } = await open(t, { statementTimeoutMs: 50 });
  const first = await backendPid(database);
  await assert.rejects(database.query("SELECT pg_sleep(60)"), { code: "database_busy", message: /^57014: / });
  assert.notEqual(await backendPid(database), first);
  await gone(url, name, `pid = ${first}`);
});

test("when the server is not heard of, the driver's time-out throws the connection away", async (t) => {
  const { database, name, url } = await open(t, { statementTimeoutMs: 50 });
  const work = database.transaction(async (connection) => {
    await connection.query("SET statement_timeout = 0");
    await connection.query("SELECT pg_sleep(1)");
  });
  await assert.rejects(work, { code: "database_busy", message: "Query read timeout" });
  await backendPid(database);
  await gone(url, name, "query LIKE 'SELECT pg_sleep%'");
});

test("no free connection within the bound is busy, not a wait", async (t) => {
  const { database } = await open(t, { maxConnections: 1, connectTimeoutMs: 1_000 });
  await database.transaction(async (connection) => {
    await connection.query("SELECT 1");
    await assert.rejects(database.query("SELECT 1"), { code: "database_busy" });
  });
});

test("a row's fault keeps the connection, and the transaction is undone", async (t) => {
  const { database } = await open(t, { maxConnections: 1 });
  const first = await backendPid(database);
  await database.query("CREATE TABLE checked (x integer CHECK (x > 0))");
  const work = database.transaction(async (connection) => {
    await connection.query("INSERT INTO checked VALUES (1)");
    await connection.query("INSERT INTO checked VALUES (0)");
  });
  await assert.rejects(work, { code: "row_fault", message: /^23514: / });
  assert.deepEqual(await database.query("SELECT x FROM checked"), []);
  assert.equal(await backendPid(database), first);
});

test("a read-only server is busy and costs the connection: it is a former primary", async (t) => {
  const { database } = await open(t, { maxConnections: 1 });
  await database.query("CREATE TABLE written (x integer)");
  const first = await backendPid(database);
  await database.query("SET default_transaction_read_only = on");
  await assert.rejects(database.query("INSERT INTO written VALUES (1)"), { code: "database_busy", message: /^25006: / });
  assert.notEqual(await backendPid(database), first);
  await database.query("INSERT INTO written VALUES (1)");
});

test("a COMMIT that the server answers with ROLLBACK is a fault, not a success", async (t) => {
  const { database } = await open(t);
  const work = database.transaction(async (connection) => {
    await connection.query("CREATE TABLE never (x integer)");
    await connection.query("SELECT 1 / 0").catch(() => undefined); // swallowed by mistake
  });
  await assert.rejects(work, { code: "database_fault", message: /COMMIT was answered with ROLLBACK/ });
});

test("bigints are numbers, and one that is not safe is refused rather than rounded", async (t) => {
  const { database } = await open(t);
  assert.deepEqual(await database.query("SELECT 9007199254740991::bigint AS x"), [{ x: 9_007_199_254_740_991 }]);
  await assert.rejects(database.query("SELECT 9007199254740993::bigint AS x"), { code: "database_fault", message: /larger than 2\^53/ });
});

test("a server that is not there is busy", async (t) => {
  const { database } = await open(t, { url: "postgres://x:y@127.0.0.1:1/z" });
  await assert.rejects(database.query("SELECT 1"), { code: "database_busy", message: /ECONNREFUSED/ });
});

test("every bigint that pg itself reads elsewhere is left as it is", () => {
  const parse = pg.types.getTypeParser(pg.types.builtins.INT8) as (text: string) => unknown;
  assert.equal(parse("1"), "1");
});
