// Owns what is said when there is no Kafka to be had, and that nothing is left behind then.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { startLocalKafka } from "../../../ops/kafka/localKafka.ts";
import { locateJava } from "../../../ops/kafka/programs.ts";
import { readBrokers, resolveKafka } from "../../../ops/kafka/resolve.ts";
import { portsOf, serverProperties } from "../../../ops/kafka/settings.ts";
import { toolName } from "../../../ops/kafka/tools.ts";
import { CLONE_FOLDER } from "../../../ops/local/stateFolder.ts";
import { silent } from "../../support/silent.ts";
import { sandbox } from "./members.ts";

const LOCKSTEP = join(CLONE_FOLDER, "ops", "bin", "lockstep.mjs");

test("without Java, or without Maven to fetch Kafka with: exit code 2, one line that says what to do, nothing made", async (t) => {
  const box = await sandbox(t, { jars: false });
  const programs = join(box.base, "programs");
  await mkdir(programs);
  const run = (): { readonly code: number | null; readonly said: string } => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [LOCKSTEP, "kafka"], { env: { PATH: programs, LOCKSTEP_STATE_DIR: join(box.base, "state") }, encoding: "utf8" });
    assert.equal(stdout, "");
    return { code: status, said: stderr };
  };
  const help = "Install Java 17 or newer and Maven, or set KAFKA_BROKERS\n";
  assert.deepEqual(run(), { code: 2, said: `lockstep: the local Kafka cannot run: no java in PATH or JAVA_HOME. ${help}` });
  await symlink(await locateJava(process.env), join(programs, "java"));
  assert.deepEqual(run(), { code: 2, said: `lockstep: the local Kafka cannot run: no mvn in PATH to fetch it with. ${help}` });
  for (const name of await readdir(join(box.base, "state"))) assert.deepEqual(await readdir(join(box.base, "state", name)), []);
});

test("a Java that is too old is named with its release", async (t) => {
  const box = await sandbox(t);
  const java = join(box.base, "java");
  await writeFile(java, `#!/bin/sh\necho 'openjdk version "11.0.2" 2019-01-15' >&2\n`);
  await chmod(java, 0o755);
  await assert.rejects(startLocalKafka({ stateDir: box.stateDir, logger: silent, clock: systemClock, env: { PATH: box.base } }), {
    code: "configuration",
    message: `the local Kafka cannot run: ${java} is of release 11. Install Java 17 or newer and Maven, or set KAFKA_BROKERS`,
  });
});

test("a folder whose path Kafka cannot use is refused by name", async (t) => {
  const box = await sandbox(t);
  await mkdir(join(box.stateDir, "a,b"));
  await symlink(join(box.stateDir, "kafka-jars"), join(box.stateDir, "a,b", "kafka-jars"));
  await assert.rejects(startLocalKafka({ stateDir: join(box.stateDir, "a,b"), logger: silent, clock: systemClock }), {
    code: "configuration",
    message: /a,b\/kafka cannot be used: Kafka needs a path without colon and comma. LOCKSTEP_STATE_DIR names another one/,
  });
});

test("KAFKA_BROKERS: what it names is used, nothing is fetched or started", async (t) => {
  const box = await sandbox(t, { jars: false });
  const kafka = await resolveKafka({ env: { PATH: "", LOCKSTEP_STATE_DIR: box.base, KAFKA_BROKERS: "one:9092, [::1]:9093" }, logger: silent, clock: systemClock });
  await kafka.stop();
  assert.deepEqual([kafka.source, kafka.brokers], ["KAFKA_BROKERS", ["one:9092", "[::1]:9093"]]);
  assert.deepEqual(await readdir(box.base), []);
});

test("KAFKA_BROKERS: text that is no host:port is refused with what was expected and found", () => {
  for (const text of ["", "one", "one:9092,", "one:0", "one:65536", "kafka://one:9092", "one:9092 two:9092", "::1:9092", "[one]:9092", "one..two:9092"]) {
    assert.throws(() => readBrokers(text), { code: "configuration", message: `KAFKA_BROKERS: expected host:port, or several separated by commas, found ${JSON.stringify(text)}` });
  }
});

test("a tool that there is not is refused with those that there are", () => {
  assert.throws(() => toolName("toString"), { code: "configuration", message: `expected one of Kafka's tools groups, topics, found "toString"` });
});

test("the ports of a server are read back from its properties; a path is written as Java reads it", () => {
  const text = serverProperties("/kä\\x", { broker: 1234, controller: 5678 });
  assert.deepEqual(portsOf(text), { broker: 1234, controller: 5678 });
  assert.match(text, /^log\.dir=\/k\\u00e4\\\\x$/m);
  assert.equal(portsOf(""), null);
});
