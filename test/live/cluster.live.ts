// Owns the cluster at the size that it is promised for, as a user runs it: three nodes, two masters, twelve
// followers, with and without a node that is replaced in the middle.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterReport } from "../../ops/cluster/report.ts";
import { nothingLeft, startCommand, withoutProc } from "../ops/cli/lockstep.ts";
import { sharedKafka } from "../support/kafka.ts";
import { freshDatabase } from "../support/postgres.ts";

const COMMAND = ["cluster", "--nodes", "3", "--followers", "12", "--masters", "2", "--for", "30s", "--json"];
const ACCOUNTS = ["m1", ...range(6).map((n) => `m1-f${n}`), "m2", ...range(6).map((n) => `m2-f${n}`)];
const PARTITIONS = 8;

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

for (const { how, args, nodes, moves } of [
  { how: "three nodes", args: [], nodes: ["n1", "n2", "n3"], moves: (count: number) => count >= 0 },
  { how: "three nodes, one of which is replaced in the middle", args: ["--churn"], nodes: ["n2", "n3", "n4"], moves: (count: number) => count > 0 },
]) {
  test(`${how}: every account is one node's, each of them writes, nothing is behind, everything was copied once`, { skip: withoutProc }, async (t) => {
    const [brokers, database] = await Promise.all([sharedKafka(), freshDatabase(t)]);
    const command = await startCommand(t, [...COMMAND, ...args], { env: { DATABASE_URL: database, KAFKA_BROKERS: brokers.join(",") } });
    const { code, out, err } = await command.ended;
    const report = JSON.parse(out) as ClusterReport;
    t.diagnostic(JSON.stringify(report));
    assert.deepEqual([report.verdict, report.violations, code], ["ok", [], 0], err);
    assert.deepEqual([report.doubleOwned, report.unowned, report.lag], [[], [], { writers: 0 }]);
    assert.deepEqual(report.nodes.map(({ node }) => node), nodes);
    assert.ok(report.nodes.every(({ writerPartitions }) => writerPartitions.length > 0), "each of them writes");
    assert.deepEqual(report.nodes.flatMap(({ accounts }) => accounts).sort(), ACCOUNTS);
    assert.deepEqual(report.nodes.flatMap(({ writerPartitions }) => writerPartitions).sort((a, b) => a - b), range(PARTITIONS).map((n) => n - 1));
    assert.ok(moves(report.moves), `${report.moves} moves`);
    assert.ok(report.orders > 0 && report.ownTimeMs.count > 0);
    await nothingLeft(command);
  });
}
