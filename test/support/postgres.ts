// Owns the database of the tests: a real PostgreSQL, started once, and a database of its own for
// each test that asks.
//
// 1. The server is the one of LOCKSTEP_TEST_DATABASE_URL (set for a whole run), else of DATABASE_URL; a
//    file that is run alone starts the embedded one in a temporary folder and takes it away again.
// 2. A test's database is dropped after the test, a file's after all of them, whoever is still connected.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import pg from "pg";
import { systemClock } from "../../ops/clock.ts";
import { startEmbeddedPostgres } from "../../ops/postgres/embedded.ts";
import { silent } from "./silent.ts";

let shared: Promise<string> | null = null;

/** What is to be undone when the file's tests are over, last first. A hook made within a test would belong to that test. */
const undo: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const work of undo.reverse()) await work();
});

/** The URL of a server on which databases may be made; the same one throughout a process. */
export function sharedPostgres(): Promise<string> {
  shared ??= start();
  return shared;
}

async function start(): Promise<string> {
  const given = process.env["LOCKSTEP_TEST_DATABASE_URL"] ?? process.env["DATABASE_URL"];
  if (given !== undefined) return given;
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  undo.push(() => rm(stateDir, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({ stateDir, logger: silent, clock: systemClock });
  undo.push(() => server.stop());
  return server.url;
}

/** An empty database that lives as long as the test; returns its URL. */
export function freshDatabase(t: Pick<TestContext, "after">): Promise<string> {
  return makeDatabase((drop) => t.after(drop));
}

let ofFile: Promise<string> | null = null;

/** A database that all tests of this file share; empty when it is first asked for. */
export function fileDatabase(): Promise<string> {
  ofFile ??= makeDatabase((drop) => undo.push(drop));
  return ofFile;
}

async function makeDatabase(afterwards: (drop: () => Promise<unknown>) => void): Promise<string> {
  const server = await sharedPostgres();
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  await execute(server, `CREATE DATABASE ${name}`);
  afterwards(() => execute(server, `DROP DATABASE ${name} WITH (FORCE)`)); // (2)
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

const PATIENCE_MS = 15_000;

/** Asks again and again until it is so; fails with the text when it is not in 15 s. */
export async function eventually(text: string, condition: () => Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (!(await condition())) {
    if (systemClock.monotonicMs() > endMs) assert.fail(`waited ${PATIENCE_MS} ms in vain until ${text}`);
    await new Promise((resolve) => systemClock.after(5, () => resolve(null)));
  }
}
