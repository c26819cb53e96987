// Owns the cases of reading a window of the replay topic, for the in-memory log and for a real Kafka: what is
// written through the journal is found again.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import { ReplayJournal } from "../../../actors/shell/journal.ts";
import { systemClock } from "../../../ops/clock.ts";
import { readReplay, type ReplayFound, type ReplayWindow } from "../../../ops/timeline/fromReplay.ts";
import { encode, pack, REPLAY } from "../../../protocol/codec.ts";
import { accountId, bootId, cellId, epoch, nodeId } from "../../../protocol/ids.ts";
import type { EventLog, Producer } from "../../../protocol/ports/log.ts";
import type { TimelineDetail, TimelineEntry, TimelineEvent } from "../../../protocol/timeline.ts";
import { partitionOf, postmortemGroup, topicName, topicSpecs } from "../../../protocol/topics.ts";
import type { WallMs } from "../../../protocol/units.ts";
import { silent } from "../../support/silent.ts";
import { until } from "../../support/until.ts";

export interface ReplayUnderTest {
  readonly log: EventLog;
  /** Those of these groups that there are now. */
  left(groups: readonly string[]): Promise<readonly string[]>;
}

const PARTITIONS = 4;
const FOLLOWER = accountId("f1");
const uncounted = { count: () => undefined, ownTime: () => undefined, factsWritten: () => undefined };

/** A cell of the case's own, with tools to tell and to read. */
async function telling(t: TestContext, { log, left }: ReplayUnderTest) {
  const cell = cellId(`pm-${randomUUID()}`);
  const topic = topicName(cell, "replay");
  await log.ensureTopics(topicSpecs(cell, PARTITIONS));
  const producer = log.producer({ maxBuffered: 10_000, delivery: "critical" });
  t.after(() => producer.close());
  const startMs = systemClock.wallMs();
  const raw = (key: string, value: Uint8Array): void => void producer.append({ topic, partition: partitionOf(key, PARTITIONS), key, value });
  return {
    cell,
    topic,
    startMs,
    /** As if it had been told `afterMs` after the start. */
    told(afterMs: number, node: string, account: string | null, event: TimelineEvent, detail: TimelineDetail = {}): void {
      const entry: TimelineEntry = { atMs: (startMs + afterMs) as WallMs, node: nodeId(node), boot: bootId(`${node}-boot`), account: account === null ? null : accountId(account), epoch: account === null ? null : epoch(3), event, detail };
      raw(account ?? node, encode(REPLAY, entry));
    },
    raw,
    async read(more: Partial<ReplayWindow> = {}): Promise<ReplayFound> {
      await producer.flush();
      const id = randomUUID();
      const found = await readReplay({ log, cell, follower: FOLLOWER, fromMs: startMs, toMs: startMs + 60_000, id, clock: systemClock, ...more });
      assert.deepEqual(await left(["follower", "others"].map((pass) => postmortemGroup(cell, `${id}.${pass}`))), []);
      return found;
    },
  };
}

const shown = ({ entries }: ReplayFound): string[] => entries.map(({ node, account, event, detail }) => [node, account ?? "*", event, ...Object.values(detail)].join(" "));

/** A node's name whose entries lie in the same partition. */
const besides = (key: string): string => Array.from({ length: 100 }, (_, n) => `other${n}`).find((name) => partitionOf(name, PARTITIONS) === partitionOf(key, PARTITIONS)) ?? "";

export function replayCases(name: string, create: (t: TestContext) => Promise<ReplayUnderTest>): void {
  describe(`${name}: a window of the replay topic`, () => {
    test("what a journal was told is found again, whole and in order", async (t) => {
      const under = await create(t);
      const run = await telling(t, under);
      const me = { node: nodeId("n1"), boot: bootId("b1") };
      // Not best effort, as in a node: the case is about what arrives, not about what a busy machine loses.
      const producer = under.log.producer({ maxBuffered: 1_000, delivery: "critical" });
      let taken = 0;
      const counting: Producer = { append: (record, onSettled) => (taken++, producer.append(record, onSettled)), flush: () => producer.flush(), close: () => producer.close() };
      const journal = new ReplayJournal({ me, producer: counting, topic: run.topic, partitions: PARTITIONS, capacity: 1_000, clock: systemClock, logger: silent, metrics: uncounted });
      journal.note({ account: FOLLOWER, epoch: epoch(3) }, "claimed", { settleLeftMs: 0 });
      for (let n = 1; n <= 300; n++) journal.note({ account: FOLLOWER, epoch: epoch(3) }, "order", { n, priceLimit: null, late: false });
      journal.note(null, "fenced", { why: "deadline" });
      await until("everything is handed over", () => taken === 302);
      await producer.flush();
      await journal.close();
      const { entries, nodes, unknownVersions, unreadable, cut } = await run.read();
      assert.deepEqual(entries.map(({ event, detail }) => [event, detail["n"] ?? null]), [["claimed", null], ...Array.from({ length: 300 }, (_, index) => ["order", index + 1]), ["fenced", null]]);
      assert.deepEqual(entries[1], { atMs: entries[1]?.atMs, ...me, account: FOLLOWER, epoch: 3, event: "order", detail: { n: 1, priceLimit: null, late: false } });
      assert.deepEqual({ nodes, unknownVersions, unreadable, cut }, { nodes: ["n1"], unknownVersions: 0, unreadable: 0, cut: false });
    });

    test("of a follower, its masters and its nodes, and of nobody else", async (t) => {
      const run = await telling(t, await create(t));
      run.told(1, "n1", "m1", "said", { seq: 1 });
      run.told(2, "n1", "f1", "tick", { master: "m1", decision: "open" });
      run.told(3, "n2", "m1", "gap", { seq: 9 }); // a node that never held it
      run.told(4, "n1", "m1", "gap", { seq: 8 });
      run.told(5, "n1", null, "renewed");
      run.told(6, besides("n1"), null, "renewed"); // read, since it lies in the same partition, and not shown
      run.told(7, "n1", "f2", "order", { master: "m2" });
      run.told(8, "n1", "m2", "said", { seq: 1 });
      run.told(9, "n3", "f1", "claimed");
      run.told(10, "n3", null, "lifted");
      run.told(11, "n2", "m1", "claimed");
      const found = await run.read();
      assert.deepEqual(shown(found), ["n1 m1 said 1", "n1 f1 tick m1 open", "n1 m1 gap 8", "n1 * renewed", "n3 f1 claimed", "n3 * lifted", "n2 m1 claimed"]);
      assert.deepEqual([found.nodes, found.masters], [["n1", "n3"], ["m1"]]);
    });

    test("what was sent again, since its answer was lost, is one", async (t) => {
      const run = await telling(t, await create(t));
      for (let sent = 0; sent < 2; sent++) for (const n of [1, 2]) run.told(n, "n1", "f1", "order", { n });
      run.told(2, "n2", "f1", "order", { n: 2 });
      const found = await run.read({ maxEntries: 3 });
      assert.deepEqual([shown(found), found.cut], [["n1 f1 order 1", "n1 f1 order 2", "n2 f1 order 2"], false]);
    });

    test("only of the time that was asked for, its borders included", async (t) => {
      const run = await telling(t, await create(t));
      for (const ms of [0, 1_000, 2_000, 3_000, 4_000]) run.told(ms, "n1", "f1", "order", { ms });
      assert.deepEqual(shown(await run.read({ fromMs: run.startMs + 1_000, toMs: run.startMs + 3_000 })), ["n1 f1 order 1000", "n1 f1 order 2000", "n1 f1 order 3000"]);
    });

    test("what a newer release wrote, and nobody's bytes, are counted once each and the rest is read", async (t) => {
      const run = await telling(t, await create(t));
      // A node whose partition is the follower's: it is read twice.
      const node = besides(FOLLOWER);
      run.told(1, node, "f1", "order", { n: 1 });
      run.raw("f1", pack({ schema: "replay", version: 99, value: {} }));
      run.raw("f1", new Uint8Array([0xc1, 0]));
      run.raw("f1", pack({ schema: "replay", version: 1, value: { atMs: "soon", node: null, boot: null, account: null, epoch: null, event: "order", detail: {} } }));
      run.told(2, node, "f1", "order", { n: 2 });
      run.told(3, node, null, "renewed");
      const found = await run.read();
      assert.deepEqual([found.unknownVersions, found.unreadable], [1, 2]);
      assert.deepEqual(shown(found), [`${node} f1 order 1`, `${node} f1 order 2`, `${node} * renewed`]);
    });

    test("no more than may be kept, and that there is more is told", async (t) => {
      const run = await telling(t, await create(t));
      for (let n = 1; n <= 5; n++) run.told(n, "n1", "f1", "order", { n });
      assert.deepEqual([(await run.read({ maxEntries: 5 })).cut, (await run.read({ maxEntries: 5 })).entries.length], [false, 5]);
      const cut = await run.read({ maxEntries: 4 });
      assert.deepEqual([cut.cut, cut.entries.length], [true, 4]);
    });

    test("of a follower that nobody told of there is nothing", async (t) => {
      const run = await telling(t, await create(t));
      assert.deepEqual(await run.read(), { entries: [], nodes: [], masters: [], unknownVersions: 0, unreadable: 0, cut: false });
      run.told(1, "n1", "f2", "order");
      assert.deepEqual((await run.read()).entries, []);
    });

    test("a cell that never was has no such topic", async (t) => {
      const { log } = await create(t);
      await assert.rejects(readReplay({ log, cell: cellId("nobody-s"), follower: FOLLOWER, fromMs: 0, toMs: 1, id: "x", clock: systemClock }), { code: "configuration" });
    });
  });
}
