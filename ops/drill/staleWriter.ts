// Owns the drill of a writer that is behind: A copies while its database is gone, B adopts and says a live pair of
// its own, A comes back and flushes. Real log, real database, the node's own registry, event sink and writer.
//
// 1. What stands in the rows at the end is decided by the log's order alone: whoever writes it, and however late.
// 2. An order of events is a round of its own, in a cell of its own, of which nothing is left.

import type { EventSink } from "../../actors/shell/eventSink.ts";
import { BARRIER_LATE_MS } from "../../actors/shell/takeover.ts";
import { WriterActor } from "../../actors/shell/writerActor.ts";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Epoch } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import { topicName, topicSpecs, writersGroup } from "../../protocol/topics.ts";
import { pause } from "../../protocol/waiting.ts";
import { openStorage } from "../../storage/storage.ts";
import { openGround, type Ground } from "../cluster/ground.ts";
import type { Environment } from "../credentials.ts";
import { Ends } from "../ends.ts";
import { resolveKafka } from "../kafka/resolve.ts";
import { DEFAULT_NODE_LIMITS } from "../nodeLimits.ts";
import { resolveDatabase } from "../postgres/resolve.ts";
import { totalLag, writerLag } from "../writerLag.ts";
import { databaseAddress, databaseThrough } from "./databaseWire.ts";
import { Proxy } from "./proxy.ts";
import { ACCOUNTS, acquire, CountedMetrics, FOLLOWER, LINK, said, sinkOf } from "./staleOwners.ts";

export const STALE_WRITER = "stale-writer";
export const STALE_ORDERS = ["before_marker", "after_marker", "barrier_timed_out"] as const;
export type StaleOrder = (typeof STALE_ORDERS)[number];

/** `master ticket/opening status epoch.n` */
export type ShortRow = string;

export interface StaleRound {
  readonly order: StaleOrder;
  readonly epochs: { readonly a: number; readonly b: number };
  readonly barrier: { readonly passed: boolean; readonly waitedMs: number };
  /** Before A's database was gone, and when the writers have nothing left to do. */
  readonly rows: { readonly before: readonly ShortRow[]; readonly after: readonly ShortRow[]; readonly expected: readonly ShortRow[] };
  readonly writer: { readonly of: "A" | "B"; readonly lag: number; readonly waiting: string | null; readonly written: number; readonly fenced: number; readonly rejected: number };
  readonly violations: readonly string[];
  readonly verdict: "ok" | "failed";
}

export interface StaleReport {
  readonly drill: typeof STALE_WRITER;
  readonly rounds: readonly StaleRound[];
  readonly verdict: "ok" | "failed";
}

export interface StaleWriterOptions {
  readonly run: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly say: (line: string) => void;
  readonly interrupt: AbortSignal;
}

const CELLS = "lockstep-drill-";
const LIMIT_MS = 90_000;
const LOOK_MS = 100;

/** @throws LockstepError `configuration`, `unreachable`, `stopped` when it was interrupted */
export async function drillStaleWriter(options: StaleWriterOptions): Promise<StaleReport> {
  const ends = new Ends();
  try {
    const database = await resolveDatabase(options);
    ends.add(() => database.stop());
    const kafka = await resolveKafka(options);
    ends.add(() => kafka.stop());
    const env = { ...options.env, DATABASE_URL: database.url, KAFKA_BROKERS: kafka.brokers.join(",") };
    const rounds: StaleRound[] = [];
    for (const order of STALE_ORDERS) {
      options.say(`${order}: A's database is gone, B takes over, A comes back`);
      rounds.push(await playRound(order, { ...options, env, run: `${options.run}-${rounds.length}` }));
    }
    return { drill: STALE_WRITER, rounds, verdict: rounds.every(({ verdict }) => verdict === "ok") ? "ok" : "failed" };
  } finally {
    for (const failure of await ends.run()) options.logger.error({ error: messageOf(failure) }, "the drill did not end cleanly");
  }
}

async function playRound(order: StaleOrder, options: StaleWriterOptions): Promise<StaleRound> {
  const ends = new Ends();
  try {
    const ground = await openGround({ cells: CELLS, keepsRows: false, partitions: 1, ...options }, ends); // 2
    return await new Round(order, options, ground, ends).play();
  } finally {
    for (const failure of await ends.run()) options.logger.error({ order, error: messageOf(failure) }, "the round did not end cleanly");
  }
}

class Round {
  readonly #order: StaleOrder;
  readonly #options: StaleWriterOptions;
  readonly #ground: Ground;
  readonly #ends: Ends;
  readonly #metrics = new CountedMetrics();

  constructor(order: StaleOrder, options: StaleWriterOptions, ground: Ground, ends: Ends) {
    this.#order = order;
    this.#options = options;
    this.#ground = ground;
    this.#ends = ends;
  }

  async play(): Promise<StaleRound> {
    const { clock } = this.#options;
    const { storage, log, cell } = this.#ground;
    await storage.directory.put(ACCOUNTS, [LINK]);
    await log.ensureTopics(topicSpecs(cell, 1));
    const a = await acquire(storage.registry, "a", clock);
    const path = await this.#pathOfA();
    // Whose node has the partition: with A's the rows wait for A's database, and B's barrier with them.
    const of = this.#order === "barrier_timed_out" ? "A" : "B";
    const writer = this.#writer(of === "A" ? path.pairs : storage.pairs);
    await writer.start();
    this.#ends.add(() => writer.stop());

    const sinks = { a: this.#sink(), b: this.#sink() };
    await this.#say(sinks.a, [said.marker(a), said.open(a, 1, 2), said.open(a, 2, 4)]);
    await this.#until("A's first rows", async () => (await this.#rows()).length === 2);
    const before = await this.#rows();

    path.cut();
    const flush = [said.open(a, 3, 1), said.closed(a, 4, 2), said.skipped(a, 5, 3)];
    if (this.#order !== "after_marker") await this.#say(sinks.a, flush);
    const b = await acquire(storage.registry, "b", clock);
    await this.#say(sinks.b, [said.marker(b)]);
    const barrier = await this.#barrier(b);
    // B knows of A's skip if it was a row when the barrier passed; else it opens that trade by its own decision, and under the same opening.
    const knowsSkip = this.#order === "before_marker";
    await this.#say(sinks.b, [said.open(b, 1, 1, 2), said.open(b, 2, 4), ...(knowsSkip ? [] : [said.open(b, 3, 3)])]);
    if (this.#order === "after_marker") await this.#say(sinks.a, flush);
    path.heal();

    await this.#until("the writer's end of work", async () => totalLag(await writerLag(log, cell)) === 0 && writer.waiting === null);
    const isStale = this.#order === "after_marker";
    const expected = [...(isStale ? [] : [`1/1 Superseded ${a}.3`]), `1/2 Open ${b}.1`, `2/1 Closed ${a}.4`, knowsSkip ? `3/1 Skipped ${a}.5` : `3/1 Open ${b}.3`, `4/1 Open ${b}.2`];
    const rows = { before, after: await this.#rows(), expected };
    const { written, fenced, rejected } = this.#metrics.rows();
    const state = { of, lag: totalLag(await writerLag(log, cell)), waiting: writer.waiting?.why ?? null, written, fenced, rejected } as const;
    const violations = [
      rows.after.join() === expected.join() ? null : `rows: expected ${expected.join(", ")}; found ${rows.after.join(", ")}`,
      barrier.passed === (of === "B") ? null : `barrier: ${barrier.passed ? "passed" : "did not pass"}`,
      (await storage.pairs.projectedEpoch(FOLLOWER)) === b ? null : "the writer did not reach B's marker",
      fenced === (isStale ? 2 : 0) ? null : `fenced: ${fenced} rows`,
      rejected === 0 ? null : `rejected: ${rejected} rows`,
    ].filter((violation) => violation !== null);
    return { order: this.#order, epochs: { a, b }, barrier, rows, writer: state, violations, verdict: violations.length === 0 ? "ok" : "failed" };
  }

  /** A's own way to the database, which can be cut. */
  async #pathOfA() {
    const { databaseUrl, cell } = this.#ground;
    const proxy = await Proxy.open(databaseAddress(databaseUrl));
    this.#ends.add(() => proxy.close());
    const storage = await openStorage({ url: databaseThrough(proxy, databaseUrl), cell, logger: this.#options.logger, maxConnections: 2, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 });
    this.#ends.add(() => storage.close());
    return { pairs: storage.pairs, cut: () => void (proxy.passage = "cut"), heal: () => void (proxy.passage = "open") };
  }

  #writer(pairs: Ground["storage"]["pairs"]): WriterActor {
    const { clock, random, logger } = this.#options;
    const { log, cell } = this.#ground;
    const onCrash = (error: Error): void => logger.error({ error: messageOf(error) }, "the writer has ended");
    return new WriterActor({ log, pairs, clock, random, logger, metrics: this.#metrics, group: writersGroup(cell), topic: topicName(cell, "pair-events"), batchRows: DEFAULT_NODE_LIMITS.writerRows, batchMs: DEFAULT_NODE_LIMITS.writerMs, onCrash });
  }

  #sink(): EventSink {
    const { log, cell } = this.#ground;
    const producer = log.producer({ maxBuffered: DEFAULT_NODE_LIMITS.buffered, delivery: "critical" });
    this.#ends.add(() => producer.close());
    return sinkOf(producer, cell, this.#options.clock, this.#metrics);
  }

  /** Resolves when the log has them. */
  async #say(sink: EventSink, events: readonly PairEvent[]): Promise<void> {
    for (const event of events) sink.publish(event);
    await sink.flush();
  }

  /** As a node's takeover waits for it. */
  async #barrier(epoch: Epoch): Promise<StaleRound["barrier"]> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    for (;;) {
      const passed = (await this.#ground.storage.pairs.projectedEpoch(FOLLOWER)) >= epoch;
      const waitedMs = Math.round(clock.monotonicMs() - startedMs);
      if (passed || waitedMs >= BARRIER_LATE_MS) return { passed, waitedMs };
      await this.#pause();
    }
  }

  async #rows(): Promise<ShortRow[]> {
    return (await this.#ground.storage.pairs.rowsOf(FOLLOWER)).map(shortRow);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + LIMIT_MS;
    while (!(await isSo())) {
      if (clock.monotonicMs() > untilMs) throw new LockstepError("unreachable", `${this.#order}: waited ${LIMIT_MS / 1_000} s in vain for ${what}`);
      await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    if (this.#options.interrupt.aborted) throw new LockstepError("stopped", "the drill was interrupted");
    await pause(this.#options.clock, LOOK_MS);
  }
}

const shortRow = ({ epoch, n, pair }: PairRow): ShortRow => `${pair.masterTicket}/${pair.opening} ${pair.status} ${epoch}.${n}`;
