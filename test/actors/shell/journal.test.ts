// Owns the cases of a node's journal: what reaches the replay topic and the log file, and what becomes of what does not.

import { test } from "node:test";
import assert from "node:assert/strict";
import { ReplayJournal } from "../../../actors/shell/journal.ts";
import { decode, REPLAY } from "../../../protocol/codec.ts";
import { accountId, bootId, epoch, nodeId } from "../../../protocol/ids.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import { TIMELINE_EVENTS, TRADE_EVENTS, type TimelineEntry, type TimelineEvent } from "../../../protocol/timeline.ts";
import { partitionOf } from "../../../protocol/topics.ts";
import { CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const PARTITIONS = 4;
const ME = { node: nodeId("node-1"), boot: bootId("boot-1") };
const SUBJECT = { account: accountId("f1"), epoch: epoch(7) };

/** A log by hand. */
class HandProducer implements Producer {
  readonly records: OutgoingRecord[] = [];
  says: AppendResult | Error = "accepted";
  settlesWith: Error | null | "never" = null;
  closed = 0;

  append(record: OutgoingRecord, onSettled?: (error: Error | null) => void): AppendResult {
    if (this.says instanceof Error) throw this.says;
    if (this.says !== "accepted") return this.says;
    this.records.push(record);
    if (this.settlesWith !== "never") onSettled?.(this.settlesWith);
    return "accepted";
  }
  get entries(): TimelineEntry[] {
    return this.records.map(({ value }) => decode(REPLAY, value ?? new Uint8Array(0)));
  }
  flush = (): Promise<void> => Promise.resolve();
  close(): Promise<void> {
    this.closed++;
    return this.settlesWith === "never" ? new Promise(() => undefined) : Promise.resolve();
  }
}

function telling(capacity = 1_000) {
  const clock = new FakeScheduler(1);
  const producer = new HandProducer();
  const logger = recordingLogger();
  const metrics = new CountingMetrics();
  const journal = new ReplayJournal({ me: ME, producer, topic: "replay", partitions: PARTITIONS, capacity, clock, logger, metrics });
  const orders = (count: number): void => {
    for (let n = 1; n <= count; n++) journal.note(SUBJECT, "order", { n });
  };
  return { clock, producer, logger, metrics, journal, orders };
}

test("an entry says who told it, when, and of whom; it lies with its account, one of the whole node with the node", async () => {
  const run = telling();
  await run.clock.advance(1_500);
  run.journal.note(SUBJECT, "order", { kind: "open", volume: 10 });
  run.journal.note(null, "fenced", { why: "deadline" });
  const atMs = run.clock.wallMs();
  await run.clock.advance(1_000);
  assert.deepEqual(run.producer.entries, [
    { atMs, ...ME, ...SUBJECT, event: "order", detail: { kind: "open", volume: 10 } },
    { atMs, ...ME, account: null, epoch: null, event: "fenced", detail: { why: "deadline" } },
  ]);
  assert.deepEqual(
    run.producer.records.map(({ topic, key, partition }) => [topic, key, partition]),
    [["replay", "f1", partitionOf("f1", PARTITIONS)], ["replay", "node-1", partitionOf("node-1", PARTITIONS)]],
  );
});

test("nothing is made in the turn of the telling; a burst is made in order, a bounded number in each turn, with others' work in between", async () => {
  const run = telling();
  run.orders(200);
  assert.equal(run.producer.records.length, 0);
  const made: number[] = [];
  await run.clock.until(() => {
    const before = made.reduce((sum, count) => sum + count, 0);
    made.push(run.producer.records.length - before);
    return run.producer.records.length === 200;
  });
  assert.ok(Math.max(...made) <= 64, `made in each turn: ${made.join(" ")}`);
  assert.deepEqual(run.producer.entries.map(({ detail }) => detail["n"]), Array.from({ length: 200 }, (_, index) => index + 1));
});

test("what finds no room is counted, and there is room again afterwards", async () => {
  const run = telling(10);
  run.orders(25);
  assert.equal(run.metrics.of("replay_dropped"), 15);
  await run.clock.advance(1);
  assert.equal(run.producer.records.length, 10);
  run.orders(10);
  await run.clock.advance(1);
  assert.deepEqual([run.producer.records.length, run.metrics.of("replay_dropped")], [20, 15]);
});

for (const [what, says] of [["is full", "full"], ["is closed", "stopped"], ["breaks", new Error("broken")]] as const) {
  test(`a log that ${what} costs the entries, which are counted, and nobody hears of it`, async () => {
    const run = telling();
    run.producer.says = says;
    run.orders(3);
    await run.clock.advance(1);
    assert.equal(run.metrics.of("replay_dropped"), 3);
    run.producer.says = "accepted";
    run.orders(1);
    await run.clock.advance(1);
    assert.equal(run.producer.records.length, 1);
  });
}

test("what the log accepted and did not keep is counted", async () => {
  const run = telling();
  run.producer.settlesWith = new Error("not sent");
  run.orders(2);
  await run.clock.advance(1);
  assert.equal(run.metrics.of("replay_dropped"), 2);
});

test("the life of a node and its accounts is in the log file in the turn in which it is told, single trades only for whoever debugs", async () => {
  const run = telling();
  for (const event of Object.keys(TIMELINE_EVENTS) as TimelineEvent[]) run.journal.note(SUBJECT, event, {});
  const told = (level: string): unknown[] => run.logger.lines.filter((line) => line.level === level).map(({ fields }) => (fields as { readonly timeline: TimelineEntry }).timeline.event);
  const lives = Object.keys(TIMELINE_EVENTS).filter((event) => !TRADE_EVENTS.has(event as TimelineEvent));
  assert.deepEqual(told("info"), lives);
  assert.deepEqual(told("debug"), []);
  await run.clock.advance(1);
  assert.deepEqual(told("info"), lives);
  assert.deepEqual(new Set(told("debug")), TRADE_EVENTS);
  assert.equal(run.logger.lines.find(({ fields }) => "timeline" in fields && (fields.timeline as TimelineEntry).event === "renewed")?.text, "the lease was renewed");
});

test("a clean stop hands over everything that waits; what is told afterwards is counted", async () => {
  const run = telling();
  run.orders(150);
  await elapsed(run.clock, run.journal.close());
  assert.deepEqual([run.producer.records.length, run.producer.closed], [150, 1]);
  run.orders(1);
  await run.clock.advance(1);
  assert.deepEqual([run.producer.records.length, run.metrics.of("replay_dropped")], [150, 1]);
});

test("a log that never answers does not keep a node from stopping", async () => {
  const run = telling();
  run.producer.settlesWith = "never";
  run.orders(1);
  await elapsed(run.clock, run.journal.close());
  assert.deepEqual(run.logger.lines.filter(({ level }) => level === "warn").map(({ text }) => text), ["the end of the timeline did not reach the replay topic"]);
});
