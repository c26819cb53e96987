// Owns the Kafka of the tests: a real one, started once.
//
// 1. It is the one of LOCKSTEP_TEST_KAFKA_BROKERS (set for a whole run), else of KAFKA_BROKERS; a file
//    that is run alone starts a local one in a temporary folder and takes it away again.
// 2. Cases use topics and groups of their own names; nobody's are deleted for them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { systemClock } from "../../ops/clock.ts";
import { startLocalKafka } from "../../ops/kafka/localKafka.ts";
import { readBrokers } from "../../ops/kafka/resolve.ts";
import { borrowJars } from "./kafkaJars.ts";
import { silent } from "./silent.ts";

let shared: Promise<readonly string[]> | null = null;

/** What is to be undone when the file's tests are over, last first. */
const undo: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const work of undo.reverse()) await work();
});

/** The brokers of a Kafka that takes any topic; the same ones throughout a process. */
export function sharedKafka(): Promise<readonly string[]> {
  shared ??= start();
  return shared;
}

async function start(): Promise<readonly string[]> {
  const given = process.env["LOCKSTEP_TEST_KAFKA_BROKERS"] ?? process.env["KAFKA_BROKERS"];
  if (given !== undefined) return readBrokers(given);
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  undo.push(() => rm(stateDir, { recursive: true, force: true, maxRetries: 5 }));
  await borrowJars(stateDir);
  const kafka = await startLocalKafka({ stateDir, logger: silent, clock: systemClock });
  undo.push(() => kafka.stop());
  return kafka.brokers;
}
