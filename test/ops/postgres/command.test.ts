// Owns `lockstep postgres`: what it prints, and that a signal ends it and its server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { postgresCommand } from "../../../ops/commands/postgres.ts";
import { eventually, execute } from "../../support/postgres.ts";
import { isRunning } from "../../support/processes.ts";
import { sandbox } from "./members.ts";
import { silent } from "../../support/silent.ts";

test("it prints the URL, as JSON when asked, and runs until SIGTERM", async (t) => {
  const box = await sandbox(t);
  let output = "";
  const env = { LOCKSTEP_STATE_DIR: box.base, DATABASE_URL: "postgres://not.this.one/x" };
  const end = postgresCommand({ json: true }, { out: { write: (text) => (output += text) }, env, logger: silent, clock: systemClock });
  await eventually("the URL is printed", async () => output.endsWith("\n"));
  const { url } = JSON.parse(output) as { url: string };
  assert.deepEqual(await execute(url, "SELECT 1 AS x"), [{ x: 1 }]);
  const pid = await box.serverPid();
  process.kill(process.pid, "SIGTERM");
  assert.equal(await end, 0);
  assert.equal(isRunning(pid), false);
});
