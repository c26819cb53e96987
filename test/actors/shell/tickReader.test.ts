// Owns the cases of reading the masters' ticks and books from the log.

import { test } from "node:test";
import assert from "node:assert/strict";
import { TickReader } from "../../../actors/shell/tickReader.ts";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { BOOK, encode, TICK } from "../../../protocol/codec.ts";
import { accountId } from "../../../protocol/ids.ts";
import type { Book, Tick } from "../../../protocol/ticks.ts";
import { partitionOf, topicName, topicSpecs } from "../../../protocol/topics.ts";
import { alive, book, masterPosition, tick, ticket } from "../core/examples.ts";
import { CELL, CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingJournal } from "../../support/recordingJournal.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const topics = { ticks: topicName(CELL, "master-ticks"), books: topicName(CELL, "master-books") };
const MASTER = accountId("master");
const PARTITIONS = 3;

/** A reader and what it tells: `tick 6`, `book 5: 1 2`, `unsynced`. */
async function reading(seed = 1) {
  const clock = new FakeScheduler(seed);
  const log = new MemoryLog({ clock, random: clock.random, limits: MEMORY_LOG_LIMITS });
  await elapsed(clock, log.ensureTopics(topicSpecs(CELL, PARTITIONS)));
  const producer = log.producer({ maxBuffered: 1_000, delivery: "critical" });
  const told: string[] = [];
  const metrics = new CountingMetrics();
  const journal = recordingJournal();
  const crashes: Error[] = [];
  const reader = new TickReader({
    log, group: "ticks", topics, clock, logger: recordingLogger(), metrics, journal, bookAheadMs: 2_000,
    handlers: {
      onTick: ({ seq }) => told.push(`tick ${seq}`),
      onBook: (_, fold) => told.push(`book ${fold.seq}: ${[...fold.positions.keys()].join(" ")}`),
      onAlive: () => undefined,
      onUnsynced: () => told.push("unsynced"),
    },
    onCrash: (error) => crashes.push(error),
  });
  const append = (topic: string, key: string, value: Uint8Array | null): void => void producer.append({ topic, partition: partitionOf(MASTER, PARTITIONS), key, value });
  return {
    clock, log, reader, told, metrics, journal, crashes,
    tick: (of: Tick) => append(topics.ticks, MASTER, encode(TICK, of)),
    book: (of: Book) => append(topics.books, `${MASTER}/${of.epoch}`, encode(BOOK, of)),
    raw: (topic: string, value: Uint8Array | null) => append(topic, MASTER, value),
    start: () => elapsed(clock, reader.start()),
    settle: () => clock.advance(100),
  };
}

const trade = (number: number) => masterPosition({ masterTicket: ticket(number), ticket: ticket(number) });

test("at the start books are read to their end, then ticks from where they ended", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const run = await reading(seed);
    run.tick(tick(1, 4));
    run.book(book(1, 4, [trade(1)]));
    run.book(book(1, 5, [trade(1), trade(2)]));
    await run.settle();
    await run.start();
    run.tick(tick(1, 6));
    await run.settle();
    assert.deepEqual(run.told, ["book 6: 1 2 6", "tick 6"], `seed ${seed}`);
    assert.notEqual(run.reader.foldOf(MASTER), null);
  }
});

test("a book from before the start is not taken for the present: a tick behind it that was not read may follow", async () => {
  const run = await reading();
  run.book(book(1, 4, [trade(1)]));
  run.tick(tick(1, 5));
  await run.settle();
  await run.start();
  await run.settle();
  assert.deepEqual([run.told, run.reader.foldOf(MASTER)], [[], null]);
  run.tick(alive(1, 5));
  await run.settle();
  assert.deepEqual(run.told, []);
  run.book(book(1, 5, [trade(1), trade(5)]));
  await run.settle();
  assert.deepEqual(run.told, ["book 5: 1 5"]);
});

test("a log without books is read at once", async () => {
  const run = await reading();
  await run.start();
  run.tick(tick(1, 1));
  run.book(book(1, 1, [trade(1)]));
  await run.settle();
  assert.deepEqual(run.told, ["book 1: 1"]);
});

test("a hole is told, and the book that closes it brings the ticks behind it", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.tick(tick(1, 7));
  await run.settle();
  assert.equal(run.reader.foldOf(MASTER), null);
  run.book(book(1, 6, [trade(6)]));
  await run.settle();
  assert.deepEqual(run.told, ["book 5: ", "unsynced", "book 7: 6 7", "tick 7"]);
  assert.deepEqual(run.journal.notes.map(({ subject, event, detail }) => [subject?.account, subject?.epoch, event, detail["seq"], detail["knownSeq"] ?? null]), [[MASTER, 1, "refolded", 5, null], [MASTER, 1, "gap", 7, 5], [MASTER, 1, "refolded", 7, null]]);
  assert.equal(run.metrics.of("ticks_gap"), 1);
});

test("the book that closes a hole may have come before the tick that shows it", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.book(book(1, 7, [trade(7)]));
  await run.settle();
  assert.deepEqual(run.told, ["book 5: "], "ticks may still come");
  run.tick(tick(1, 8));
  await run.settle();
  assert.deepEqual(run.told.slice(1), ["unsynced", "book 8: 7 8", "tick 8"]);
});

test("a book that stays ahead of the ticks replaces the fold after a while", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.book(book(1, 7, [trade(7)]));
  await run.clock.advance(1_900);
  assert.deepEqual(run.told, ["book 5: "]);
  await run.clock.advance(400);
  assert.deepEqual(run.told, ["book 5: ", "book 7: 7"]);
});

test("a book that was ahead is dropped when its ticks come after all", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.book(book(1, 6, [trade(6)]));
  await run.settle();
  run.tick(tick(1, 6));
  await run.clock.advance(5_000);
  assert.deepEqual(run.told, ["book 5: ", "tick 6"]);
});

test("a record that cannot be read is a gap for its master; a book that cannot be read, and a tombstone, are passed over", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.raw(topics.books, new Uint8Array([1]));
  run.raw(topics.books, null);
  await run.settle();
  assert.deepEqual(run.told, ["book 5: "]);
  run.raw(topics.ticks, new Uint8Array([1, 2, 3]));
  await run.settle();
  assert.deepEqual([run.told, run.metrics.of("ticks_unreadable"), run.crashes], [["book 5: ", "unsynced"], 2, []]);
  run.tick(alive(1, 5));
  await run.settle();
  assert.deepEqual(run.told.at(-1), "book 5: ", "the sign of life proves that nothing was lost");
});

test("ticks of a lower epoch are counted and not told", async () => {
  const run = await reading();
  await run.start();
  run.book(book(2, 5));
  await run.settle();
  run.tick(tick(1, 99));
  await run.settle();
  assert.deepEqual([run.told, run.metrics.of("ticks_stale")], [["book 5: "], 1]);
  const stale = run.journal.notes.find(({ event }) => event === "stale");
  assert.deepEqual([stale?.subject?.epoch, stale?.detail["seq"], stale?.detail["knownEpoch"], stale?.detail["knownSeq"]], [1, 99, 2, 5]);
});

test("a stopped reader leaves neither group nor timers", async () => {
  const run = await reading();
  await run.start();
  run.book(book(1, 5));
  await run.settle();
  run.book(book(1, 7));
  await run.settle();
  await elapsed(run.clock, run.reader.stop());
  assert.equal(run.clock.pending, 0);
  assert.deepEqual(await elapsed(run.clock, run.log.committed("ticks", topics.ticks)), []);
});
