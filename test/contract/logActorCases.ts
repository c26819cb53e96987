// Owns the contract's cases about what stands in a log that nobody would have put there: repeats, late
// records of a former owner, books that arrive out of their order, other releases' and other people's
// bytes. They go through the actors that read the log, since it is they who must bear it.

import assert from "node:assert/strict";
import { TickReader } from "../../actors/shell/tickReader.ts";
import { WriterActor } from "../../actors/shell/writerActor.ts";
import { systemClock, systemRandom } from "../../ops/clock.ts";
import { BOOK, encode, pack, PAIR_EVENT, TICK } from "../../protocol/codec.ts";
import { accountId, type Epoch } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import type { Book, Tick } from "../../protocol/ticks.ts";
import { alive, book, masterPosition, pair, tick, ticket } from "../actors/core/examples.ts";
import { recordingJournal } from "../support/recordingJournal.ts";
import { silent } from "../support/silent.ts";
import type { DeclareCase } from "./logContract.ts";
import type { LogCase } from "./logFixture.ts";

const MASTER = accountId("master");
const FOLLOWER = accountId("follower1");

export function actorCases(test: DeclareCase): void {
  test("ticks that are repeated are folded once", async (c) => {
    const run = await readingTicks(c);
    await run.begin([book(1, 4, [trade(1)])]);
    for (const seq of [5, 5, 6, 5, 6, 6]) await run.tick(tick(1, seq));
    await run.tick(tick(1, 7));
    await c.eventually("the last tick", () => run.told.includes("tick 7"));
    assert.deepEqual(run.ticks(), ["tick 5", "tick 6", "tick 7"]);
  });

  test("late records of a former owner change nothing, neither ticks nor books", async (c) => {
    const run = await readingTicks(c);
    await run.begin([book(2, 4, [trade(1)])]);
    await run.tick(tick(2, 5));
    await run.tick(tick(1, 90));
    await run.book(book(1, 99, [trade(8), trade(9)]));
    await run.tick(tick(2, 6));
    await c.eventually("the owner's tick", () => run.told.includes("tick 6"));
    assert.deepEqual(run.ticks(), ["tick 5", "tick 6"]);
    assert.deepEqual(run.open(), [1, 5, 6]);
  });

  test("books count by epoch and seq, not by arrival: a former owner's last book does not win by being last", async (c) => {
    const run = await readingTicks(c);
    await run.begin([book(3, 10, [trade(3)]), book(2, 50, [trade(2)]), book(3, 9, [trade(1)])], 3, 10);
    assert.deepEqual(run.open(), [3]);
    await run.tick(tick(3, 11));
    await c.eventually("the next tick", () => run.told.includes("tick 11"));
    assert.deepEqual(run.open(), [3, 11]);
  });

  test("rows 39, 46: two owners that count alike: of each epoch and seq one tick is told, the former owner's only from before its successor is heard of", async (c) => {
    for (const goesFirst of [true, false]) {
      const run = await readingTicks(c);
      await run.begin([book(1, 4, [trade(1)])]);
      const late = async (): Promise<void> => {
        for (let time = 0; time < 2; time += 1) await run.tick(tick(1, 5));
      };
      if (goesFirst) await late();
      await run.book(book(2, 4, [trade(1)]));
      await c.eventually("the successor is heard of", () => run.reader.foldOf(MASTER)?.epoch === 2);
      if (!goesFirst) await late();
      for (const seq of [5, 5, 6]) await run.tick(tick(2, seq));
      await late();
      await run.tick(tick(2, 7));
      await c.eventually("the last tick", () => run.told.includes("tick 7"));
      assert.deepEqual(run.versions, [...(goesFirst ? ["1/5"] : []), "2/5", "2/6", "2/7"]);
      await run.reader.stop();
    }
  });

  test("a zombie's book that compaction kept beside the owner's does not win at a restart", async (c) => {
    const run = await readingTicks(c);
    await run.book(book(5, 7, [trade(5)]));
    for (const seq of [1, 2, 3]) await run.book(book(4, seq, [trade(4)]));
    await c.fixture.compact(run.topics.books, () => run.book(book(4, 8, [trade(40)])));
    await run.begin([], 5, 7);
    assert.deepEqual(run.open(), [5]);
  });

  test("bytes that cannot be read, and a tick of another release, are a hole: nothing is concluded until the next book", async (c) => {
    for (const bytes of [new Uint8Array([0xc1, 0, 7]), pack({ schema: "tick", version: 99, value: {} }), null]) {
      const run = await readingTicks(c);
      await run.begin([book(1, 4, [trade(1)])]);
      await run.raw(run.topics.ticks, bytes);
      await c.eventually("the hole is seen", () => run.told.includes("unsynced"));
      await run.tick(tick(1, 6));
      await run.book(book(1, 6, [trade(1), trade(6)]));
      await c.eventually("the book closes it", () => run.reader.foldOf(MASTER)?.seq === 6);
      assert.deepEqual(run.ticks(), [], "nothing in the hole is traded as new");
      assert.deepEqual(run.open(), [1, 6]);
      await run.reader.stop();
    }
  });

  test("books that nobody can read are passed over", async (c) => {
    const run = await readingTicks(c);
    await run.raw(run.topics.books, new Uint8Array([0xc1]));
    await run.raw(run.topics.books, pack({ schema: "book", version: 99, value: {} }));
    await run.begin([book(1, 4, [trade(1)])]);
    assert.deepEqual(run.open(), [1]);
  });

  test("a writer passes nobody's bytes over, and stops before an event of a newer release; other partitions go on", async (c) => {
    const run = await writing(c);
    await run.raw(0, new Uint8Array([0xc1, 1]));
    await run.event(0, 1);
    await run.raw(0, pack({ schema: "pair-event", version: 99, value: {} }));
    await run.event(0, 2);
    await run.event(1, 3);
    await run.writer.start();
    await c.eventually("the other partition", () => run.rows.includes(3));
    await c.eventually("what is before it is committed", async () => (await c.log.committed(run.group, run.topic))[0]?.offset === 2);
    await run.event(1, 4);
    await c.eventually("the other partition goes on", () => run.rows.includes(4));
    assert.deepEqual(run.writer.blockedPartitions, [0]);
    assert.deepEqual([...run.rows].sort(), [1, 3, 4]);
    await run.writer.stop();
    assert.equal((await c.log.committed(run.group, run.topic))[0]?.offset, 2, "never committed past");
  });
}

const trade = (number: number) => masterPosition({ masterTicket: ticket(number), ticket: ticket(number) });
const uncounted: Metrics = { count: () => undefined, ownTime: () => undefined, factsWritten: () => undefined };

/** A tick reader on one partition, and what it tells. */
async function readingTicks(c: LogCase) {
  const topics = { ticks: await c.topic({ partitions: 1 }), books: await c.topic({ partitions: 1, cleanup: "compact", retentionMs: null }) };
  const told: string[] = [];
  /** `2/5`: epoch and seq of each tick that was told. */
  const versions: string[] = [];
  const reader = new TickReader({
    log: c.log, group: c.groupName(), topics, clock: systemClock, logger: silent, metrics: uncounted, journal: recordingJournal(), bookAheadMs: 2_000,
    handlers: {
      onTick({ epoch, seq }) {
        told.push(`tick ${seq}`);
        versions.push(`${epoch}/${seq}`);
      },
      onBook: (_, fold) => told.push(`book ${fold.seq}`),
      onAlive: () => undefined,
      onUnsynced: () => told.push("unsynced"),
    },
    onCrash: (error) => told.push(`crash ${error.message}`),
  });
  const write = async (topic: string, key: string, value: Uint8Array | null): Promise<void> => c.append({ topic, partition: 0, key, value });
  const run = {
    topics, told, versions, reader,
    tick: (of: Tick) => write(topics.ticks, MASTER, encode(TICK, of)),
    book: (of: Book) => write(topics.books, `${MASTER}/${of.epoch}`, encode(BOOK, of)),
    raw: (topic: string, value: Uint8Array | null) => write(topic, MASTER, value),
    ticks: () => told.filter((text) => text.startsWith("tick")),
    open: () => [...(reader.foldOf(MASTER)?.positions.keys() ?? [])].map(Number).sort((a, b) => a - b),
    /** Starts behind these books, with a live record that proves the state they end at. */
    async begin(books: readonly Book[], epoch = books.at(-1)?.epoch ?? 1, seq = books.at(-1)?.seq ?? 1) {
      for (const one of books) await run.book(one);
      await reader.start();
      await run.tick(alive(epoch, seq));
      await c.eventually("the master is known", () => reader.foldOf(MASTER) !== null);
    },
  };
  c.afterwards(() => reader.stop());
  return run;
}

/** A writer on two partitions, and the master tickets of the rows it wrote. */
async function writing(c: LogCase) {
  const topic = await c.topic({ partitions: 2 });
  const group = c.groupName();
  const rows: number[] = [];
  const pairs: Pick<PairStore, "write" | "reject"> = {
    async write(events: readonly PairEvent[]) {
      for (const event of events) if (event.kind === "pair") rows.push(event.pair.masterTicket);
      return { written: events.length, fenced: 0 };
    },
    reject: () => Promise.resolve(),
  };
  const writer = new WriterActor({ log: c.log, group, topic, pairs: pairs as PairStore, clock: systemClock, random: systemRandom, logger: silent, metrics: uncounted, batchRows: 50, batchMs: 20, onCrash: (error) => c.fail(error) });
  const raw = (partition: number, value: Uint8Array): Promise<void> => c.append({ topic, partition, key: FOLLOWER, value });
  return {
    topic, group, rows, writer, raw,
    event: (partition: number, number: number) => raw(partition, encode(PAIR_EVENT, { kind: "pair", follower: FOLLOWER, epoch: 1 as Epoch, n: number, pair: pair({ masterTicket: ticket(number) }) })),
  };
}
