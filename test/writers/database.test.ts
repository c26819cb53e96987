// Owns the cases of a database that breaks under a writer: connections, commits, whole servers. Numbers are those of the
// known faults of such systems.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { systemClock } from "../../ops/clock.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../ops/postgres/embedded.ts";
import { epoch, ticket, type Epoch } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { adopted, FOLLOWER, pairEvent, shortRows } from "../contract/storageFixture.ts";
import { silent } from "../support/silent.ts";
import type { AtCommit } from "./databaseProxy.ts";
import { ground, patiently, type Ground } from "./ground.ts";

const trades = (from: number, to: number): PairEvent[] => Array.from({ length: to - from + 1 }, (_, index) => pairEvent([1, from + index], { masterTicket: ticket(from + index) }));
const countOf = async (g: Ground): Promise<number> => (await g.storage.pairs.rowsOf(FOLLOWER.id)).length;
/** A session of the case's own that holds a row until it is told to let go. */
async function holding(t: TestContext, g: Ground): Promise<{ free(): Promise<void> }> {
  const client = new pg.Client({ connectionString: g.url });
  client.on("error", () => undefined);
  await client.connect();
  t.after(() => client.end());
  await client.query("BEGIN");
  await client.query("SELECT 1 FROM pairs FOR UPDATE");
  return { free: async () => void (await client.query("ROLLBACK")) };
}
const waitingForLock = async (g: Ground, name: string): Promise<boolean> => (await g.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", [name])).length > 0;
const terminate = (g: Ground, name: string, state: string): Promise<unknown> => g.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND state = $2", [name, state]);

for (const [name, at, isDone] of [["before the server hears of it", "before", false], ["between COMMIT and its answer", "reply", true]] as const satisfies readonly (readonly [string, AtCommit, boolean])[]) {
  test(`faults 58 and 60: a connection that is cut ${name}: read back by key, each row stored and counted exactly once`, async (t) => {
    const g = await ground(t, { epochs: 2 });
    let commits = 0;
    await g.say([...trades(1, 20), pairEvent([1, 21], { masterTicket: ticket(1), status: "Closed", reason: "manual" }), adopted(2), ...trades(22, 24)]);
    const { metrics } = await g.start({ atCommit: () => ((commits += 1) === 1 ? at : "pass") });
    await g.caughtUp();
    assert.deepEqual([await countOf(g), metrics.of("rows_written"), metrics.of("rows_fenced"), metrics.of("rows_rejected")], [20, 21, 3, 0]);
    assert.equal(metrics.of("commits_unknown"), 1);
    assert.equal(commits, isDone ? 1 : 2, "what is done is not written again");
    assert.deepEqual([await g.storage.pairs.projectedEpoch(FOLLOWER.id), (await g.sql("SELECT 1 FROM copy_events")).length], [2, 1]);
  });
}

test("fault 53: the database is killed in the middle of a fallback: nothing is kept aside that is not bad, the batch is written when it is back", async (t) => {
  const server = await ownServer(t);
  const g = await ground(t, { url: server.url() });
  const bad = { volume: -1 as VolumeUnits };
  await g.say([...trades(1, 99), pairEvent([1, 100], { masterTicket: ticket(100), ...bad }), ...trades(101, 200)]);
  let writes = 0;
  const { writer, metrics } = await g.start({
    wrap: (pairs) => ({
      ...pairs,
      async write(events) {
        if ((writes += 1) === 4) server.kill();
        return pairs.write(events);
      },
    }),
  });
  await patiently("rows wait for the database", () => (writer.waiting?.why ?? null) !== null);
  assert.ok(writes >= 4, "the fallback was under way");
  assert.equal(metrics.of("rows_rejected"), 0);
  await server.restart();
  await g.caughtUp();
  assert.deepEqual([await countOf(g), (await g.rejected()).map(({ code, event }) => [code, event.n]), metrics.of("rows_rejected")], [199, [["23514", 100]], 1]);
});

test("fault 82: idle connections are terminated, all of them: the process lives, and the next rows go in", async (t) => {
  const g = await ground(t);
  const { applicationName } = await g.start();
  await g.say(trades(1, 5));
  await g.caughtUp();
  await terminate(g, applicationName, "idle");
  await g.say(trades(6, 10));
  await g.caughtUp();
  assert.equal(await countOf(g), 10);
});

test("fault 83: a connection is terminated while it is in use: the process lives, the batch is tried again, nothing is kept aside", async (t) => {
  const g = await ground(t);
  const { applicationName, metrics } = await g.start();
  await g.say(trades(1, 1));
  await g.caughtUp();
  const lock = await holding(t, g);
  await g.say([pairEvent([1, 9], { masterTicket: ticket(1) }), ...trades(2, 5)]);
  await patiently("the statement waits for the lock", () => waitingForLock(g, applicationName));
  await terminate(g, applicationName, "active");
  await patiently("it is tried again", () => metrics.of("batches_retried") > 0);
  await lock.free();
  await g.caughtUp();
  assert.deepEqual([await countOf(g), await g.rejected(), metrics.of("rows_written")], [5, [], 6]);
});

test("faults 84 and 86: a database that swallows everything: the driver gives up, the connection is thrown away, and after it heals rows go in by new ones", async (t) => {
  const g = await ground(t);
  const pids = async (): Promise<unknown[]> => (await g.sql("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")).map(({ pid }) => pid);
  await countOf(g);
  const lookers = await pids();
  const { proxy, metrics, writer, applicationName } = await g.start({ statementTimeoutMs: 300 });
  await g.say(trades(1, 3));
  await g.caughtUp();
  const before = (await g.sql("SELECT pid FROM pg_stat_activity WHERE application_name = $1", [applicationName])).map(({ pid }) => pid).filter((pid) => !lookers.includes(pid));
  assert.equal(before.length, 1);
  proxy.swallow();
  await g.say(trades(4, 6));
  await patiently("the driver gave up", () => metrics.of("batches_retried") >= 2);
  assert.ok((writer.waiting?.why ?? "") !== "" && writer.waiting?.isFault === false);
  proxy.open();
  await g.caughtUp();
  assert.deepEqual([await countOf(g), await g.rejected()], [6, []]);
  await patiently("the old backends are gone", async () => (await pids()).every((pid) => !before.includes(pid)));
});

test("a writer that leaves while its statement is swallowed is waited for by nobody: the next one writes what it read", async (t) => {
  const g = await ground(t);
  const { proxy, writer } = await g.start({ statementTimeoutMs: 60_000 });
  await g.say(trades(1, 3));
  await g.caughtUp();
  proxy.swallow();
  await g.say(trades(4, 6));
  await patiently("a statement is under way", () => writer.waiting !== null);
  await writer.stop();
  assert.equal(writer.waiting?.why, null, "it is under way still");
  await g.start();
  await g.caughtUp();
  assert.deepEqual([await countOf(g), await g.rejected()], [6, []]);
  proxy.cut();
});

test("a statement that the server gives up for a lock costs no row", async (t) => {
  const g = await ground(t);
  const { metrics } = await g.start({ statementTimeoutMs: 200 });
  await g.say(trades(1, 1));
  await g.caughtUp();
  const lock = await holding(t, g);
  await g.say([pairEvent([1, 9], { masterTicket: ticket(1) })]);
  await patiently("it was given up", () => metrics.of("batches_retried") >= 2);
  await lock.free();
  await g.caughtUp();
  assert.deepEqual([await shortRows(g.storage), await g.rejected()], [["1/1 Open 1.9"], []]);
});

test("fault 87: connections that lead to a server that only reads are thrown away, and no row is kept aside", async (t) => {
  const g = await ground(t);
  const { applicationName, metrics } = await g.start();
  const name = new URL(g.url).pathname.slice(1);
  await g.say(trades(1, 2));
  await g.caughtUp();
  await g.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await terminate(g, applicationName, "idle");
  await g.say(trades(3, 5));
  await patiently("it was refused", () => metrics.of("batches_retried") >= 2);
  await g.sql(`BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = off; COMMIT`);
  await g.caughtUp();
  assert.deepEqual([await countOf(g), await g.rejected()], [5, []]);
});

test("fault 88: a promoted server has lost its last epoch: what was said under it stays out, the next owner's epoch lies above it", async (t) => {
  const g = await ground(t, { epochs: 3 });
  const lost = 3 as Epoch;
  const next = epoch(2 ** 32 + 1); // the second timeline's first, whatever the standby knew of the last ones
  await g.sql("UPDATE trading_accounts SET epoch = $2 WHERE id = $1", [FOLLOWER.id, next]);
  const { metrics } = await g.start();
  await g.say([adopted(next), pairEvent([next, 1], { masterTicket: ticket(1) }), pairEvent([lost, 7], { masterTicket: ticket(1) }), pairEvent([lost, 8], { masterTicket: ticket(2) })]);
  await g.caughtUp();
  assert.deepEqual([await shortRows(g.storage), metrics.of("rows_fenced")], [[`1/1 Open ${next}.1`], 2]);
});

/** A PostgreSQL of the case's own, which may be killed. */
async function ownServer(t: TestContext): Promise<{ url(): string; kill(): void; restart(): Promise<void> }> {
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  const start = (): Promise<EmbeddedPostgres> => startEmbeddedPostgres({ stateDir, logger: silent, clock: systemClock });
  let server = await start();
  t.after(async () => {
    await server.stop();
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  });
  const pid = Number((await readFile(join(stateDir, "pg", "data", "postmaster.pid"), "utf8")).split("\n")[0]);
  return {
    url: () => server.url,
    kill: () => void process.kill(pid, "SIGKILL"),
    async restart() {
      await server.stop();
      server = await start();
    },
  };
}
