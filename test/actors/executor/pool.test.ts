// Owns the tests of the thread pool: its counted size, its reserve, its boot.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("./inChild.ts", import.meta.url));

/** Runs a scenario with a pool of so many threads; rejects with what the child said on standard error. */
function inChild(poolThreads: number, scenario: string, lanes: number, reserve: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, UV_THREADPOOL_SIZE: String(poolThreads) };
    execFile(process.execPath, ["--import", "tsx", SCRIPT, scenario, String(lanes), String(reserve)], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout));
      else reject(new Error(stderr || error.message));
    });
  });
}

test("1000 lanes and their reserve are there when they are counted", async () => {
  assert.deepEqual(await inChild(1_016, "count", 1_000, 16), { counted: 1_016 });
});

test("the number is counted, not echoed: a process that has 40 threads cannot boot 100 lanes, whatever its environment says then", async () => {
  await assert.rejects(inChild(40, "lie", 100, 16), /need 116 threads in the pool, counted 40: set UV_THREADPOOL_SIZE/);
});

test("a trip with 100 calls made and 100 waiting leaves the threads as they are, and makes no call more (faults 91, 92)", async () => {
  const report = (await inChild(116, "trip", 100, 16)) as { before: unknown; after: unknown; lost: number };
  assert.deepEqual(report.after, report.before);
  assert.deepEqual({ ...report, before: 0, after: 0 }, { before: 0, after: 0, lost: 0, unknown: 100, dropped: 100, made: 100 });
});

test("with every lane hung, a reconnect to a database by its host name still works", async () => {
  const report = await inChild(12, "hung", 8, 4);
  assert.deepEqual(report, { peer: "127.0.0.1", inFlightBefore: 8, inFlightAfter: 8 });
});
