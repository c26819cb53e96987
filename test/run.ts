// Owns one run of the suite: one PostgreSQL for all files, node:test for each, nothing left behind.
//
// Arguments name files or folders below test/; without any, all of it runs.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../ops/clock.ts";
import { openLogger } from "../ops/logging.ts";
import { startEmbeddedPostgres } from "../ops/postgres/embedded.ts";

const TESTS = dirname(fileURLToPath(import.meta.url));
const CONCURRENT_FILES = 2;
const FILE_TIMEOUT_MS = 180_000;
/** What a demo of two followers asks for: tests that boot an executor in their own process fit into it. */
const POOL_THREADS = 48;

async function testFiles(wanted: readonly string[]): Promise<string[]> {
  const all = (await readdir(TESTS, { recursive: true })).filter((file) => file.endsWith(".test.ts")).map((file) => join(TESTS, file));
  const roots = wanted.map((path) => resolve(path));
  const chosen = roots.length === 0 ? all : all.filter((file) => roots.some((root) => file === root || file.startsWith(root + sep)));
  if (chosen.length === 0) throw new Error(`no test files in ${wanted.join(", ")}`);
  return chosen.sort();
}

function runTests(files: readonly string[], databaseUrl: string): Promise<number> {
  const args = ["--import", "tsx", "--test", "--test-reporter=spec", `--test-concurrency=${CONCURRENT_FILES}`, `--test-timeout=${FILE_TIMEOUT_MS}`, ...files];
  const env = { ...process.env, LOCKSTEP_TEST_DATABASE_URL: databaseUrl, UV_THREADPOOL_SIZE: String(POOL_THREADS) };
  const child = spawn(process.execPath, args, { stdio: "inherit", env });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", forward);
  process.on("SIGTERM", forward);
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("exit", (code) => done(code ?? 1));
  });
}

async function main(): Promise<number> {
  const files = await testFiles(process.argv.slice(2));
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-tests-"));
  try {
    const server = await startEmbeddedPostgres({ stateDir, logger: openLogger({ level: "warn", file: null }), clock: systemClock });
    try {
      return await runTests(files, server.url);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

process.exitCode = await main();
