// Owns the published case of a stale writer, in its three orders, on a real log and a real database.

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { drillStaleWriter } from "../../../ops/drill/staleWriter.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";

test("A copies with its database gone, B adopts, A comes back: before B's marker, after it, and with B's barrier timed out", async (t) => {
  const env = { DATABASE_URL: await freshDatabase(t), KAFKA_BROKERS: (await sharedKafka()).join(",") };
  const report = await drillStaleWriter({ run: `t${process.pid}`, env, clock: systemClock, random: systemRandom, logger: silent, say: () => undefined, interrupt: new AbortController().signal });
  assert.deepEqual(report.rounds.flatMap(({ violations }) => violations), []);
  const closed = "2/1 Closed 1.4"; // the broker's fact, whoever says it and whenever
  assert.deepEqual(report.rounds.map(({ order, rows }) => [order, ...rows.after]), [
    ["before_marker", "1/1 Superseded 1.3", "1/2 Open 2.1", closed, "3/1 Skipped 1.5", "4/1 Open 2.2"],
    ["after_marker", "1/2 Open 2.1", closed, "3/1 Open 2.3", "4/1 Open 2.2"],
    ["barrier_timed_out", "1/1 Superseded 1.3", "1/2 Open 2.1", closed, "3/1 Open 2.3", "4/1 Open 2.2"],
  ]);
  assert.deepEqual(report.rounds.map(({ barrier, writer }) => [barrier.passed, writer.of, writer.lag, writer.waiting, writer.fenced, writer.rejected]), [
    [true, "B", 0, null, 0, 0],
    [true, "B", 0, null, 2, 0],
    [false, "A", 0, null, 0, 0],
  ]);
  assert.equal(report.verdict, "ok");
});
