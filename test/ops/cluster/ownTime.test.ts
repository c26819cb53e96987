// Owns the tests of own times that are added up from several nodes' metrics.

import assert from "node:assert/strict";
import { test } from "node:test";
import { factsToRowsIn, merged, ownTimesIn, timesOf } from "../../../ops/cluster/ownTime.ts";
import { PrometheusMetrics } from "../../../ops/metrics/prometheus.ts";
import { systemClock } from "../../../ops/clock.ts";

/** A page as a node shows it, after orders with these own times. */
async function pageOf(...timesMs: readonly number[]): Promise<string> {
  const metrics = new PrometheusMetrics(systemClock);
  for (const ms of timesMs) metrics.ownTime({ signalMs: ms - 0.2, decideMs: 0.1, laneMs: 0.1 });
  const { text } = await metrics.page();
  metrics.stop();
  return text;
}

test("a page is read as the node wrote it: the whole span alone", async () => {
  const times = ownTimesIn(await pageOf(1.2, 1.3, 8));
  assert.deepEqual([times.get(0.001), times.get(0.0015), times.get(0.0075), times.get(0.01), times.get(Infinity)], [0, 2, 2, 3, 3]);
});

test("the nodes' orders are counted together, and quantiles lie between the borders", async () => {
  const histogram = merged([ownTimesIn(await pageOf(1.2, 1.3)), ownTimesIn(await pageOf(4.5, 30, 31)), ownTimesIn("")]);
  const { p50, p95, count } = timesOf(histogram);
  assert.equal(count, 5);
  assert.ok(p50 > 4 && p50 <= 5, `${p50}`);
  assert.ok(p95 > 30 && p95 <= 50, `${p95}`);
});

test("a quantile is interpolated within its bucket", () => {
  const histogram = new Map([[0.001, 0], [0.002, 10], [0.004, 20], [Infinity, 20]]);
  assert.deepEqual(timesOf(histogram), { p50: 2, p95: 3.8, count: 20 });
});

test("beyond the last border only that border is known", () => assert.deepEqual(timesOf(new Map([[1, 0], [Infinity, 4]])), { p50: 1_000, p95: 1_000, count: 4 }));
test("without orders there are none", () => assert.deepEqual(timesOf(merged([])), { p50: 0, p95: 0, count: 0 }));

test("the ways of facts to their rows are read beside them", async () => {
  const metrics = new PrometheusMetrics(systemClock);
  metrics.factsWritten([12, 45, 47, -3]);
  metrics.ownTime({ signalMs: 1, decideMs: 1, laneMs: 1 });
  const { text } = await metrics.page();
  metrics.stop();
  const ways = factsToRowsIn(text);
  assert.deepEqual([ways.get(0.005), ways.get(0.015), ways.get(0.04), ways.get(0.05), ways.get(Infinity)], [1, 2, 2, 4, 4]);
});
