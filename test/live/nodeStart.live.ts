// Owns the case of a node that is told to end while its parent starts the local Kafka: no Kafka is left with
// nobody in it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startCommand, withoutProc } from "../ops/cli/lockstep.ts";
import { sandbox } from "../ops/kafka/members.ts";
import { eventually } from "../support/postgres.ts";

const skip = withoutProc !== false ? withoutProc : process.env["KAFKA_BROKERS"] === undefined ? false : "KAFKA_BROKERS names another Kafka";

for (const signal of ["SIGTERM", "SIGHUP"] as const) {
  test(`${signal} while lockstep node starts the local Kafka: exit code 0, and it is gone`, { skip }, async (t) => {
    const box = await sandbox(t);
    const command = await startCommand(t, ["node"], { env: { LOCKSTEP_STATE_DIR: box.base } });
    await eventually("Kafka's process is there", async () => (await box.pids()).length > 0);
    command.child.kill(signal);
    const { code, out, err } = await command.ended;
    assert.deepEqual([code, out], [0, ""], err);
    assert.deepEqual(await box.pids(), []);
  });
}
