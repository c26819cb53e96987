// Owns `lockstep kafka`: what it prints, that a signal ends it and its server, and Kafka's own tools.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { kafkaCommand, kafkaToolCommand } from "../../../ops/commands/kafka.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { silent } from "../../support/silent.ts";
import { readFirst, sandbox, write } from "./members.ts";

test("it prints the address, as JSON when asked, and runs until SIGTERM; records and address are the same when it runs again", async (t) => {
  const box = await sandbox(t);
  const printed = new PassThrough({ encoding: "utf8" });
  const env = { ...process.env, LOCKSTEP_STATE_DIR: box.base, KAFKA_BROKERS: "not.this.one:1" };
  const end = kafkaCommand({ json: true }, { out: printed, env, logger: silent, clock: systemClock });
  const { brokers } = JSON.parse(await Promise.race([printed.take(1).toArray().then(String), end.then(() => "null")])) as { brokers: string[] };
  await write(brokers, "kept", "a record");
  process.kill(process.pid, "SIGTERM");
  process.kill(process.pid, "SIGINT"); // a terminal and npx: one ctrl-C, two signals
  assert.equal(await end, 0);
  assert.deepEqual(await box.pids(), []);
  const again = await box.start();
  assert.deepEqual(again.brokers, brokers);
  assert.equal(await readFirst(brokers, "kept", "readers"), "a record");
});

test("Kafka's own tool shows who reads what, and how far behind", async () => {
  const brokers = await sharedKafka();
  const topic = `tool-${randomUUID()}`;
  await write(brokers, topic, "a record");
  let table = "";
  const env = { ...process.env, KAFKA_BROKERS: brokers.join(",") };
  await readFirst(brokers, topic, topic, async () => {
    assert.equal(await kafkaToolCommand("groups", ["--describe", "--group", topic], { out: { write: (text) => (table += text) }, env, logger: silent, clock: systemClock }), 0);
  });
  const [names, values] = table.trim().split("\n").map((line) => line.trim().split(/\s+/));
  const row = Object.fromEntries((names ?? []).map((name, index) => [name, values?.[index]]));
  assert.deepEqual([row["GROUP"], row["TOPIC"], row["PARTITION"], row["LOG-END-OFFSET"]], [topic, topic, "0", "1"]);
  assert.match(row["LAG"] ?? "", /^[01-]$/); // the reader may not have committed yet
  assert.match(row["CONSUMER-ID"] ?? "", /^test-/);
});
