// Owns the embedded PostgreSQL's life: started, shared, stopped, and started again after every
// kind of death.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CLONE_FOLDER } from "../../../ops/local/stateFolder.ts";
import { serviceUser } from "../../../ops/postgres/serviceUser.ts";
import { eventually, execute } from "../../support/postgres.ts";
import { isRunning } from "../../support/processes.ts";
import { isRoot, sandbox } from "./members.ts";

test("it answers, keeps its data and its password over a restart, and is gone after a stop", async (t) => {
  const box = await sandbox(t);
  const first = await box.start();
  await execute(first.url, "CREATE TABLE kept AS SELECT 7 AS x");
  const pid = await box.serverPid();
  await first.stop();
  await first.stop();
  assert.equal(isRunning(pid), false);
  const second = await box.start();
  assert.deepEqual(await execute(second.url, "SELECT x FROM kept"), [{ x: 7 }]);
  assert.equal(new URL(second.url).password, new URL(first.url).password);
  await assert.rejects(execute(second.url.replace(/:[0-9a-f]{48}@/, ":wrong@"), "SELECT 1"), { code: "28P01" });
});

test("processes that start at once on an empty folder share one server; the last one out stops it", async (t) => {
  const box = await sandbox(t);
  const [a, b] = await Promise.all([box.member(), box.member()]);
  const here = await box.start();
  assert.equal(a.answer.url, here.url);
  assert.equal(b.answer.url, here.url);
  const pid = await box.serverPid();
  await a.leave();
  await here.stop();
  assert.deepEqual(await execute(b.answer.url ?? "", "SELECT 1 AS x"), [{ x: 1 }]);
  await b.leave();
  assert.equal(isRunning(pid), false);
});

test("a process that was killed leaves its server behind; the next one adopts it and stops it", async (t) => {
  const box = await sandbox(t);
  const victim = await box.member();
  const pid = await box.serverPid();
  await victim.kill();
  assert.equal(isRunning(pid), true);
  const next = await box.start();
  assert.equal(await box.serverPid(), pid);
  assert.equal(next.url, victim.answer.url);
  await next.stop();
  assert.equal(isRunning(pid), false);
});

test("a server that was killed is started again at once, with what was committed, at its old port", async (t) => {
  const box = await sandbox(t);
  const first = await box.start();
  await execute(first.url, "CREATE TABLE kept AS SELECT 7 AS x");
  process.kill(await box.serverPid(), "SIGKILL");
  const second = await box.start();
  assert.deepEqual(await execute(second.url, "SELECT x FROM kept"), [{ x: 7 }]);
  assert.equal(second.url, first.url);
});

test("a pid file whose pid another process has by now stops nothing, and that process is left alone", async (t) => {
  const box = await sandbox(t);
  const first = await box.start();
  const pidFile = join(box.stateDir, "pg", "data", "postmaster.pid");
  const text = await readFile(pidFile, "utf8");
  await first.stop();
  // Of the server's own user: another user's process does not count for PostgreSQL.
  const stranger = spawn("sleep", ["600"], isRoot ? { ...(await serviceUser(CLONE_FOLDER)) } : {});
  t.after(() => stranger.kill());
  await writeFile(pidFile, text.replace(/^\d+/, `${stranger.pid}`));
  const second = await box.start();
  assert.deepEqual(await execute(second.url, "SELECT 1 AS x"), [{ x: 1 }]);
  await second.stop();
  assert.equal(isRunning(stranger.pid ?? -1), true);
});

test("a database that was half made when its process was killed is made anew", async (t) => {
  const box = await sandbox(t);
  const victim = box.launch();
  const folder = join(box.stateDir, "pg");
  const unfinished = async (): Promise<string[]> => (await readdir(folder).catch(() => [])).filter((name) => /^unfinished-[0-9a-f]+$/.test(name));
  await eventually("initdb is at work", async () => (await unfinished()).length > 0);
  victim.kill("SIGKILL");
  const server = await box.start();
  assert.deepEqual(await execute(server.url, "SELECT 1 AS x"), [{ x: 1 }]);
  assert.deepEqual(await unfinished(), []);
});
