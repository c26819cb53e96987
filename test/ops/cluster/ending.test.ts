// Owns the test of how a cluster ends that nobody ended: all of it, by itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedKafka } from "../../support/kafka.ts";
import { nothingLeft, says, startCommand, withoutProc } from "../cli/lockstep.ts";

test("a cluster that is killed leaves nothing: its nodes, its brokers and its PostgreSQL end by themselves", { skip: withoutProc }, async (t) => {
  const env = { KAFKA_BROKERS: (await sharedKafka()).join(",") };
  const command = await startCommand(t, ["cluster", "--nodes", "1", "--followers", "1", "--masters", "1", "--for", "60s"], { database: "embedded", env });
  await says(command, "err", /^playing /m);
  assert.ok(command.left().length > 4, "the command, the brokers, a node's parent and child, PostgreSQL");
  command.child.kill("SIGKILL");
  await nothingLeft(command);
});
