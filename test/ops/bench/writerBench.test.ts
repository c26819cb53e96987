// Owns the writer's bench, small: that it measures what it says, and when its promise counts as broken.

import assert from "node:assert/strict";
import { test } from "node:test";
import { benchWriter, writerBenchFaults, type WriterBenchReport } from "../../../ops/bench/writerBench.ts";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";

test("every row of every kind goes the whole way, and nothing is left of the bench", async (t) => {
  const env = { DATABASE_URL: await freshDatabase(t), KAFKA_BROKERS: (await sharedKafka()).join(",") };
  const said: string[] = [];
  const report = await benchWriter({ rows: 2_000, run: `t${process.pid}`, env, clock: systemClock, random: systemRandom, logger: silent, say: (line) => said.push(line) });
  assert.deepEqual([Object.keys(report), Object.keys(report.rowsPerSecond), Object.keys(report.ratio)], [["rowsPerSecond", "ratio", "rssMiB"], ["writer", "bare", "oneIn10000Bad", "onePercentBad"], ["clean", "oneIn10000Bad", "onePercentBad"]]);
  assert.equal(report.rssMiB.length, 20);
  for (const number of [...Object.values(report.rowsPerSecond), ...Object.values(report.ratio), ...report.rssMiB]) assert.ok(number > 0);
  assert.ok(said.some((line) => line.startsWith("one bad row in 100:")));
});

test("the promise: 0.4 clean, 0.3 with one bad row in 10,000, and memory that does not grow", () => {
  const flat = Array.from({ length: 20 }, (_, sample) => 200 + (sample % 3) * 10);
  const good: WriterBenchReport = { rowsPerSecond: { writer: 4, bare: 10, oneIn10000Bad: 3, onePercentBad: 1 }, ratio: { clean: 0.4, oneIn10000Bad: 0.3, onePercentBad: 0.01 }, rssMiB: flat };
  assert.deepEqual(writerBenchFaults(good), []);
  assert.match(writerBenchFaults({ ...good, ratio: { ...good.ratio, clean: 0.39 } }).join(), /^clean: 0.39/);
  assert.match(writerBenchFaults({ ...good, ratio: { ...good.ratio, oneIn10000Bad: 0.29 } }).join(), /^one bad row/);
  assert.match(writerBenchFaults({ ...good, rssMiB: flat.map((mib, sample) => mib + sample * 12) }).join(), /^memory grows/);
});
