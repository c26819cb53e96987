// Owns one run of the suite: one PostgreSQL and one Kafka for all files, node:test for each, nothing left behind.
//
// 1. A signal while they start ends the run as soon as they have started.
//
// Arguments name files or folders below test/; without any, all of it runs. `--live` runs the live cases
// (`*.live.ts`) instead: real processes, long waits, one file at a time.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../ops/clock.ts";
import { Ends } from "../ops/ends.ts";
import { startLocalKafka, type LocalKafka, type LocalKafkaOptions } from "../ops/kafka/localKafka.ts";
import { readBrokers } from "../ops/kafka/resolve.ts";
import { SIGNALS } from "../ops/launch.ts";
import { openLogger } from "../ops/logging.ts";
import { startEmbeddedPostgres } from "../ops/postgres/embedded.ts";
import { isLockstepError, messageOf } from "../protocol/errors.ts";
import { borrowJars } from "./support/kafkaJars.ts";

const TESTS = dirname(fileURLToPath(import.meta.url));
const SUITE = { ending: ".test.ts", concurrentFiles: 2, fileTimeoutMs: 180_000 };
const LIVE = { ending: ".live.ts", concurrentFiles: 1, fileTimeoutMs: 420_000 };
type Suite = typeof SUITE;
/** What a demo of two followers asks for: tests that boot an executor in their own process fit into it. */
const POOL_THREADS = 48;

async function testFiles(wanted: readonly string[], { ending }: Suite): Promise<string[]> {
  const all = (await readdir(TESTS, { recursive: true })).filter((file) => file.endsWith(ending)).map((file) => join(TESTS, file));
  const roots = wanted.map((path) => resolve(path));
  const chosen = roots.length === 0 ? all : all.filter((file) => roots.some((root) => file === root || file.startsWith(root + sep)));
  if (chosen.length === 0) throw new Error(`no test files in ${wanted.join(", ")}`);
  return chosen.sort();
}

/** What the files are told: where the servers are. */
type Servers = Readonly<Record<"LOCKSTEP_TEST_DATABASE_URL" | "LOCKSTEP_TEST_KAFKA_BROKERS", string>>;

function runTests(files: readonly string[], servers: Servers, { concurrentFiles, fileTimeoutMs }: Suite): Promise<number> {
  const args = ["--import", "tsx", "--test", "--test-reporter=spec", `--test-concurrency=${concurrentFiles}`, `--test-timeout=${fileTimeoutMs}`, ...files];
  const env = { ...process.env, ...servers, UV_THREADPOOL_SIZE: String(POOL_THREADS) };
  const child = spawn(process.execPath, args, { stdio: "inherit", env });
  onSignal = (signal) => void child.kill(signal);
  return new Promise((done, failed) => {
    child.once("error", failed);
    child.once("exit", (code) => done(code ?? 1));
  });
}

async function startServers(stateDir: string, ends: Ends): Promise<Servers> {
  const options = { stateDir, logger: openLogger({ level: "warn", file: null }), clock: systemClock };
  const postgres = startEmbeddedPostgres(options).then((server) => {
    ends.add(() => server.stop());
    return server.url;
  });
  const kafka = startKafka(options).then((server) => {
    ends.add(() => server.stop());
    return server.brokers.join(",");
  });
  await Promise.allSettled([postgres, kafka]); // one that fails leaves the other to be stopped
  return { LOCKSTEP_TEST_DATABASE_URL: await postgres, LOCKSTEP_TEST_KAFKA_BROKERS: await kafka };
}

async function startKafka(options: LocalKafkaOptions): Promise<Pick<LocalKafka, "brokers" | "stop">> {
  const named = process.env["KAFKA_BROKERS"];
  if (named !== undefined) return { brokers: readBrokers(named), stop: () => Promise.resolve() };
  await borrowJars(options.stateDir, options.logger);
  return startLocalKafka(options);
}

let onSignal: (signal: NodeJS.Signals) => void = () => (isTold = true); // (1)
let isTold = false;

async function main(): Promise<number> {
  for (const signal of SIGNALS) process.on(signal, (signal) => onSignal(signal));
  const args = process.argv.slice(2);
  const suite = args.includes("--live") ? LIVE : SUITE;
  const files = await testFiles(args.filter((arg) => arg !== "--live"), suite);
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-tests-"));
  const ends = new Ends();
  ends.add(() => rm(stateDir, { recursive: true, force: true }));
  try {
    const servers = await startServers(stateDir, ends);
    return isTold ? 1 : await runTests(files, servers, suite);
  } finally {
    for (const failure of await ends.run()) process.stderr.write(`test run: ${messageOf(failure)}\n`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!isLockstepError(error)) throw error;
  process.stderr.write(`test run: ${error.message}\n`);
  process.exitCode = 2;
}
