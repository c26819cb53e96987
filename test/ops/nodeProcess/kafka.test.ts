// Owns the test of the command itself on a real Kafka and a real PostgreSQL: two nodes of one cell.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedKafka } from "../../support/kafka.ts";
import { eventually, execute } from "../../support/postgres.ts";
import { nothingLeft, runCommand, says, startCommand, withoutProc } from "../cli/lockstep.ts";
import { cellWithAccount, nodeEnvironment } from "./nodeFixture.ts";

test("two nodes share a new cell's topics; status sees both; the one that drains leaves its accounts to the other", { skip: withoutProc }, async (t) => {
  const { cell, database } = await cellWithAccount();
  const env = { ...nodeEnvironment(cell, database), KAFKA_BROKERS: (await sharedKafka()).join(",") };
  const [one, two] = await Promise.all(["one", "two"].map((name) => startCommand(t, ["node", "--node-name", name, "--partitions", "2"], { env })));
  if (one === undefined || two === undefined) throw new Error("two nodes");
  await Promise.all([says(one, "out", /^node one ready, http 127\.0\.0\.1:\d+\n/), says(two, "out", /^node two ready, http 127\.0\.0\.1:\d+\n/)]);

  const owned = async (node: string): Promise<number> => (await execute(database, "SELECT 1 FROM trading_accounts WHERE cell = $1 AND node = $2", [cell, node])).length;
  await eventually("both accounts have an owner", async () => (await owned("one")) + (await owned("two")) === 2);
  const status = await runCommand(t, ["status", "--json"], { env });
  assert.equal(status.code, 0, status.err);
  const report = JSON.parse(status.out) as { nodes: { node: string; live: boolean }[]; writers: { kind: string; partitions: unknown[] } };
  assert.deepEqual(report.nodes.map(({ node, live }) => [node, live]), [["one", true], ["two", true]]);
  assert.deepEqual([report.writers.kind, report.writers.partitions.length], ["known", 2]);

  one.child.kill("SIGTERM");
  const { code, err } = await one.ended;
  assert.equal(code, 0, err);
  await eventually("the other has both accounts", async () => (await owned("two")) === 2);
  two.child.kill("SIGTERM");
  assert.equal((await two.ended).code, 0, two.err());
  for (const command of [one, two]) await nothingLeft(command);
});
