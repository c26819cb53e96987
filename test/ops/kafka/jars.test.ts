// Owns fetching Kafka's jars: once, whole or not at all. A script stands in for Maven.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { jarsFolder, kafkaJars } from "../../../ops/kafka/jars.ts";
import { CLONE_FOLDER } from "../../../ops/local/stateFolder.ts";
import { eventually } from "../../support/postgres.ts";
import { ended, isRunning } from "../../support/processes.ts";
import { silent } from "../../support/silent.ts";
import { MEMBER, sandbox } from "./members.ts";

/** A Maven that makes two jars, notes its calls, and does what `then` says. */
async function scripted(t: TestContext, then = "") {
  const box = await sandbox(t, { jars: false });
  const calls = join(box.base, "calls");
  await writeFile(calls, "");
  const behave = async (then: string): Promise<void> => {
    const script = `#!/bin/sh
for word in "$@"; do case "$word" in -DoutputDirectory=*) folder="\${word#*=}";; esac; done
mkdir "$folder"; echo one > "$folder/one.jar"; echo two > "$folder/two.jar"; echo $$ >> "${calls}"
${then}
`;
    await writeFile(join(box.base, "mvn"), script);
    await chmod(join(box.base, "mvn"), 0o755);
  };
  await behave(then);
  const env = { PATH: `${box.base}:/bin:/usr/bin` };
  return {
    box,
    behave,
    fetch: () => kafkaJars({ stateDir: box.stateDir, env, logger: silent, clock: systemClock }),
    calls: async () => (await readFile(calls, "utf8")).trim().split("\n").filter((line) => line !== ""),
    names: async () => (await readdir(jarsFolder(box.stateDir))).filter((name) => name !== "lock"),
  };
}

test("two that ask at once fetch once; a jar that is no longer whole is fetched again", async (t) => {
  const maven = await scripted(t);
  const [folder, same] = await Promise.all([maven.fetch(), maven.fetch()]);
  assert.equal(folder, same);
  assert.equal((await maven.calls()).length, 1);
  await writeFile(join(folder, "two.jar"), "tw");
  assert.equal(await maven.fetch(), folder);
  assert.equal(await readFile(join(folder, "two.jar"), "utf8"), "two\n");
  assert.equal((await maven.calls()).length, 2);
  assert.equal((await maven.names()).length, 1);
});

test("a fetch that failed says why and is not used; the next one is", async (t) => {
  const maven = await scripted(t, `echo "[ERROR] no route to anywhere"; exit 1`);
  await assert.rejects(maven.fetch(), { code: "unreachable", message: "Maven could not fetch Kafka (code 1): no route to anywhere. KAFKA_BROKERS names a Kafka of yours" });
  await maven.behave("");
  await maven.fetch();
  assert.equal((await maven.names()).length, 1);
});

test("a Maven whose Lockstep was killed is ended by the next fetch, and what it left is removed", async (t) => {
  const maven = await scripted(t, "while :; do sleep 1; done");
  const victim = spawn(process.execPath, ["--import", "tsx", MEMBER], { cwd: CLONE_FOLDER, env: { PATH: `${maven.box.base}:${process.env["PATH"]}`, LOCKSTEP_STATE_DIR: maven.box.base }, stdio: "ignore" });
  await eventually("it fetches", async () => (await maven.calls()).length === 1);
  await ended(victim, () => victim.kill("SIGKILL"));
  const pid = Number((await maven.calls())[0]);
  assert.equal(isRunning(pid), true);
  await maven.behave("");
  await maven.fetch();
  assert.equal(isRunning(pid), false);
  assert.equal((await maven.names()).length, 1);
});
