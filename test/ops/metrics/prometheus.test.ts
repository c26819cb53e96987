// Owns the tests of the metrics page: names, phases, gauges, bounds.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { OWN_TIME_BUCKETS_S, PrometheusMetrics, WARM_UP_MS } from "../../../ops/metrics/prometheus.ts";
import type { NodeState } from "../../../ops/nodeState.ts";
import { accountId, epoch } from "../../../protocol/ids.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import { COUNTERS, type CounterName } from "../../../protocol/ports/metrics.ts";

/** A clock that stands until it is moved; its timers never run. */
class StandingClock implements Clock {
  nowMs = 1_000;
  wallMs(): number {
    return this.nowMs;
  }
  monotonicMs(): number {
    return this.nowMs;
  }
  after(): { cancel: () => void } {
    return { cancel: () => undefined };
  }
  soon(): void {}
}

function metricsOf(t: TestContext): { readonly metrics: PrometheusMetrics; readonly clock: StandingClock; readonly lines: () => Promise<ReadonlyMap<string, string>> } {
  const clock = new StandingClock();
  const metrics = new PrometheusMetrics(clock);
  t.after(() => metrics.stop());
  const lines = async (): Promise<ReadonlyMap<string, string>> => {
    const { text } = await metrics.page();
    return new Map(text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)]));
  };
  return { metrics, clock, lines };
}

const account = (id: string, role: "master" | "follower", actor: NodeState["accounts"][number]["actor"]): NodeState["accounts"][number] => ({ account: accountId(id), role, actor, epoch: epoch(1) });
const STATE: NodeState = {
  fenced: false, leaseLeftMs: 40_500, accounts: [account("m", "master", "settled"), account("f1", "follower", "settled"), account("f2", "follower", "settled"), account("f3", "follower", "connecting")],
  masters: 3, mastersSynced: 2, logSilentMs: 1, logOk: true, rowsWaitingMs: 1_500, rowsRefused: null, blockedPartitions: [], executor: { lanes: 128, poolThreads: 144, inFlight: 3, waiting: 7, stranded: 0, hosts: 2, hostsLost: 0 },
};

describe("the metrics page", () => {
  test("has every counter from the start, and counts", async (t) => {
    const { metrics, lines } = metricsOf(t);
    metrics.count("orders_dropped");
    metrics.count("rows_written", 41);
    const page = await lines();
    for (const name of Object.keys(COUNTERS) as CounterName[]) assert.equal(page.get(`lockstep_${name}_total`), { orders_dropped: "1", rows_written: "41" }[name as string] ?? "0", name);
  });

  test("own time by span, the first two minutes apart from the rest", async (t) => {
    const { metrics, clock, lines } = metricsOf(t);
    clock.nowMs += WARM_UP_MS - 1;
    metrics.ownTime({ signalMs: 1, decideMs: 0.4, laneMs: 7 });
    clock.nowMs += 1;
    metrics.ownTime({ signalMs: 2, decideMs: 0.2, laneMs: 0.1 });
    const page = await lines();
    const at = (span: string, phase: string, le: number | "+Inf"): string | undefined => page.get(`lockstep_own_time_seconds_bucket{le="${le}",span="${span}",phase="${phase}"}`);
    assert.deepEqual([at("total", "warmup", 0.0075), at("total", "warmup", 0.01), at("total", "steady", 0.002), at("total", "steady", 0.003)], ["0", "1", "0", "1"]);
    for (const span of ["signal", "decide", "lane", "total"]) for (const phase of ["warmup", "steady"]) assert.equal(at(span, phase, "+Inf"), "1");
    assert.equal(Number(page.get(`lockstep_own_time_seconds_sum{span="total",phase="warmup"}`)).toFixed(6), "0.008400");
  });

  test("buckets are dense where the quantiles are: between neighbours there is at most a factor of two up to 100 ms", () => {
    assert.deepEqual([OWN_TIME_BUCKETS_S[0], OWN_TIME_BUCKETS_S.at(-1)], [0.0005, 1]);
    for (const [index, bucket] of OWN_TIME_BUCKETS_S.entries()) {
      const before = OWN_TIME_BUCKETS_S[index - 1];
      if (before !== undefined && bucket <= 0.1) assert.ok(bucket / before <= 2, `${before} to ${bucket}`);
    }
  });

  test("samples that do not fit are counted, not kept", async (t) => {
    const { metrics, lines } = metricsOf(t);
    for (let sent = 0; sent < 10_005; sent++) metrics.ownTime({ signalMs: 1, decideMs: 1, laneMs: 1 });
    const page = await lines();
    assert.equal(page.get("lockstep_own_time_lost_total"), "5");
    assert.equal(page.get(`lockstep_own_time_seconds_count{span="total",phase="warmup"}`), "10000");
  });

  test("gauges show the node's state, and nothing while it starts", async (t) => {
    const { metrics, lines } = metricsOf(t);
    const gauges = ["lease_left_seconds", "fenced", "log_ok", "masters_heard", "masters_synced", "rows_waiting_seconds", "writer_blocked_partitions", "executor_waiting", "executor_in_flight", "executor_lanes", "executor_threads", "writer_lag_records"];
    const shown = async (): Promise<(string | undefined)[]> => {
      const page = await lines();
      return gauges.map((name) => page.get(`lockstep_${name}`));
    };
    assert.deepEqual(await shown(), gauges.map(() => "Nan"));
    metrics.watch(() => STATE);
    metrics.setWriterLag(9);
    assert.deepEqual(await shown(), ["40.5", "0", "1", "3", "2", "1.5", "0", "7", "3", "128", "144", "9"]);
  });

  test("accounts are counted by role and state, and no label names one", async (t) => {
    const { metrics, lines } = metricsOf(t);
    metrics.watch(() => STATE);
    const page = await lines();
    const held = [...page].filter(([name, value]) => name.startsWith("lockstep_accounts_held") && value !== "0").sort();
    assert.deepEqual(held, [
      [`lockstep_accounts_held{role="follower",actor="connecting"}`, "1"],
      [`lockstep_accounts_held{role="follower",actor="settled"}`, "2"],
      [`lockstep_accounts_held{role="master",actor="settled"}`, "1"],
    ]);
    for (const name of page.keys()) if (name.startsWith("lockstep_")) assert.doesNotMatch(name, /"(?:m|f\d)"/);
  });
});
