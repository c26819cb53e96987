// Owns the numbers of a node as Prometheus reads them: one registry, on the main thread.
//
// 1. Names: `lockstep_<name>_total` for what the code counts, gauges with their unit in the name.
// 2. Labels are few and closed: never an account, a symbol or a text.
// 3. Nothing is reckoned on the path of an order: samples of own time are put aside, and enter the
//    histogram in a turn of their own. What does not fit is counted, never waited for.
// 4. The first minutes of a process are a phase of their own: code is cold, sockets are new.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import { COUNTERS, type CounterName, type Metrics, type OwnTime } from "../../protocol/ports/metrics.ts";
import type { NodeState } from "../nodeState.ts";

/** What the gauges show; null while the node starts. */
export type StateSource = () => NodeState | null;

/** From half a millisecond to a second, dense where medians and 95th percentiles are. */
export const OWN_TIME_BUCKETS_S = [0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1];
/** From a few milliseconds to a writer that is minutes behind. */
export const FACT_TO_ROW_BUCKETS_S = [0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1, 2, 5, 15, 60, 300];
export const WARM_UP_MS = 120_000;
const KEPT_SAMPLES = 10_000;
const FEED_EVERY_MS = 250;
const LAG_EVERY_MS = 250;
const SPANS = ["signal", "decide", "lane"] as const;

type Phase = "warmup" | "steady";

export class PrometheusMetrics implements Metrics {
  readonly registry = new Registry();
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #counters: Readonly<Record<CounterName, Counter>>;
  readonly #ownTime: Histogram<"span" | "phase">;
  readonly #lost: Counter;
  readonly #factToRow: Histogram;
  #factAges: number[] = [];
  #samples: { readonly sample: OwnTime; readonly phase: Phase }[] = [];
  #feedTimer: Timer | null = null;
  #lagTimer: Timer | null = null;
  #lagMs = 0;
  #writerLag: number | null = null;
  #source: StateSource = () => null;

  constructor(clock: Clock) {
    const registers = [this.registry];
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    const counters = Object.entries(COUNTERS).map(([name, help]) => [name, new Counter({ name: `lockstep_${name}_total`, help, registers })]);
    this.#counters = Object.fromEntries(counters) as Record<CounterName, Counter>; // (1)
    this.#ownTime = new Histogram({
      name: "lockstep_own_time_seconds",
      help: "from the master broker's callback to the follower's order call: signal, decide, lane, and their total",
      labelNames: ["span", "phase"],
      buckets: OWN_TIME_BUCKETS_S,
      registers,
    });
    this.#factToRow = new Histogram({ name: "lockstep_fact_to_row_seconds", help: "from when a fact's owner heard of it to its committed row", buckets: FACT_TO_ROW_BUCKETS_S, registers });
    this.#lost = new Counter({ name: "lockstep_own_time_lost_total", help: "samples of own time and of facts' ages that were not kept", registers });
    this.#gauges();
    collectDefaultMetrics({ register: this.registry });
    this.#watchLag();
  }

  /** Where the gauges look from now on. */
  watch(source: StateSource): void {
    this.#source = source;
  }

  /** Events of the cell that no writer has written; null: not known. */
  setWriterLag(records: number | null): void {
    this.#writerLag = records;
  }

  count(name: CounterName, by = 1): void {
    this.#counters[name].inc(by);
  }

  ownTime(sample: OwnTime): void {
    if (this.#samples.length >= KEPT_SAMPLES) return this.#lost.inc(); // (3)
    const phase = this.#clock.monotonicMs() - this.#startedMs < WARM_UP_MS ? "warmup" : "steady"; // (4)
    this.#samples.push({ sample, phase });
    this.#feedTimer ??= this.#clock.after(FEED_EVERY_MS, () => this.#feed());
  }

  factsWritten(agesMs: readonly number[]): void {
    if (this.#factAges.length >= KEPT_SAMPLES) return this.#lost.inc(agesMs.length); // (3)
    this.#factAges.push(...agesMs);
    this.#feedTimer ??= this.#clock.after(FEED_EVERY_MS, () => this.#feed());
  }

  /** The page that Prometheus reads. */
  async page(): Promise<{ readonly contentType: string; readonly text: string }> {
    this.#feed();
    const text = await this.registry.metrics();
    this.#lagMs = 0;
    return { contentType: this.registry.contentType, text };
  }

  stop(): void {
    this.#feedTimer?.cancel();
    this.#lagTimer?.cancel();
    this.registry.clear();
  }

  #feed(): void {
    this.#feedTimer?.cancel();
    this.#feedTimer = null;
    const ages = this.#factAges;
    this.#factAges = [];
    for (const ageMs of ages) this.#factToRow.observe(Math.max(0, ageMs) / 1_000);
    const samples = this.#samples;
    this.#samples = [];
    for (const { sample, phase } of samples) {
      const times = [sample.signalMs, sample.decideMs, sample.laneMs];
      for (const [index, span] of SPANS.entries()) this.#ownTime.observe({ span, phase }, (times[index] ?? 0) / 1_000);
      this.#ownTime.observe({ span: "total", phase }, times.reduce((sum, ms) => sum + ms, 0) / 1_000);
    }
  }

  /** How late a timer comes is how long the loop was busy with something else. */
  #watchLag(): void {
    const dueMs = this.#clock.monotonicMs() + LAG_EVERY_MS;
    this.#lagTimer = this.#clock.after(LAG_EVERY_MS, () => {
      this.#lagMs = Math.max(this.#lagMs, this.#clock.monotonicMs() - dueMs);
      this.#watchLag();
    });
  }

  #gauges(): void {
    const ofState = (name: string, help: string, read: (state: NodeState) => number): void => {
      // While the node starts there is nothing to show, and an old value would be a lie.
      this.#gauge(name, help, () => {
        const state = this.#source();
        return state === null ? Number.NaN : read(state);
      });
    };
    ofState("lockstep_lease_left_seconds", "until the gate closes by itself; 0 while fenced", (state) => state.leaseLeftMs / 1_000);
    ofState("lockstep_fenced", "1 while this node cannot prove its lease", (state) => Number(state.fenced));
    ofState("lockstep_log_ok", "1 while the log answers", (state) => Number(state.logOk));
    ofState("lockstep_masters_heard", "masters that this node has heard of", (state) => state.masters);
    ofState("lockstep_masters_synced", "of those, how many are known to their last tick", (state) => state.mastersSynced);
    ofState("lockstep_rows_waiting_seconds", "how long the rows at hand have been waiting for the database", (state) => (state.rowsWaitingMs ?? 0) / 1_000);
    ofState("lockstep_rows_refused", "1 while the database refuses rows for no row's sake", (state) => Number(state.rowsRefused !== null));
    ofState("lockstep_writer_blocked_partitions", "partitions whose next event only a newer release can read", (state) => state.blockedPartitions.length);
    ofState("lockstep_executor_waiting", "calls that wait for a lane", (state) => state.executor.waiting);
    ofState("lockstep_executor_in_flight", "calls on a lane", (state) => state.executor.inFlight);
    ofState("lockstep_executor_lanes", "lanes", (state) => state.executor.lanes);
    ofState("lockstep_executor_threads", "threads that libuv's pool was counted to have", (state) => state.executor.poolThreads);
    this.#gauge("lockstep_writer_lag_records", "pair events of the cell that no writer has written", () => this.#writerLag ?? Number.NaN);
    this.#gauge("lockstep_event_loop_lag_seconds", "the longest that the loop was busy since the last page", () => this.#lagMs / 1_000);
    this.#accounts();
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({ name, help, registers: [this.registry], collect() {
      this.set(read());
    } });
  }

  /** (2): by role and by what became of them. */
  #accounts(): void {
    const source = (): NodeState | null => this.#source();
    new Gauge({
      name: "lockstep_accounts_held",
      help: "accounts that this node holds",
      labelNames: ["role", "actor"] as const,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const role of ["master", "follower"] as const) {
          for (const actor of ["starting", "connecting", "unsettled", "settled"] as const) {
            const count = source()?.accounts.filter((account) => account.role === role && account.actor === actor).length ?? 0;
            this.set({ role, actor }, count);
          }
        }
      },
    });
  }
}
