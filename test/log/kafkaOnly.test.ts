// Owns the cases that only a real Kafka can show: topics that somebody made otherwise, records that
// are no client of ours's, members that work for longer than a session, and what is left behind.

import assert from "node:assert/strict";
import kafkajs from "kafkajs";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { TickReader } from "../../actors/shell/tickReader.ts";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { systemClock } from "../../ops/clock.ts";
import { latch, LogCase, numbered, type Read } from "../contract/logFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { recordingJournal } from "../support/recordingJournal.ts";
import { silent } from "../support/silent.ts";
import { connection, kafkaFixture } from "./kafkaFixture.ts";

const PATIENCE_MS = 60_000;
const DAY_MS = 86_400_000;

const FOREIGN_TOPICS: readonly { readonly how: string; readonly configs: Readonly<Record<string, string>>; readonly cleanup: "delete" | "compact"; readonly says: RegExp }[] = [
  { how: "a compacted topic that also deletes", configs: { "cleanup.policy": "compact,delete" }, cleanup: "compact", says: /cleanup: expected compact, found compact,delete/ },
  { how: "a topic that deletes where it should be compacted", configs: { "cleanup.policy": "delete" }, cleanup: "compact", says: /cleanup: expected compact, found delete; retentionMs: expected none, found 604800000/ },
  { how: "a topic with a bound in bytes", configs: { "retention.ms": String(7 * DAY_MS), "retention.bytes": "1000000" }, cleanup: "delete", says: /retention.bytes: expected none, found 1000000/ },
  { how: "a topic that lets its records go sooner", configs: { "retention.ms": "3600000" }, cleanup: "delete", says: /retentionMs: expected 604800000, found 3600000/ },
];

for (const { how, configs, cleanup, says } of FOREIGN_TOPICS) {
  test(`${how} is refused by name, and the others of the list are not made`, async (t) => {
    const { admin, log } = await kafkaFixture(t);
    const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
    const spec = c.spec({ cleanup, retentionMs: cleanup === "compact" ? null : 7 * DAY_MS });
    const fresh = c.spec();
    await admin.createTopics({ topics: [{ topic: spec.name, numPartitions: 2, configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })) }] });
    await assert.rejects(log.ensureTopics([fresh, spec]), (error: Error) => {
      assert.equal((error as { code?: unknown }).code, "configuration");
      assert.match(error.message, says);
      assert.ok(error.message.includes(spec.name));
      return true;
    });
    assert.ok(!(await admin.listTopics()).includes(fresh.name));
  });
}

test("a topic with fewer copies than asked for is refused", async (t) => {
  const { log } = await kafkaFixture(t);
  const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  const spec = c.spec();
  await log.ensureTopics([spec]);
  const careful = connection(t, await sharedKafka(), KAFKA_LOG_LIMITS, { replicationFactor: 3, minInsyncReplicas: 2 });
  await assert.rejects(careful.ensureTopics([spec]), /replicationFactor: expected at least 3, found 1; minInsyncReplicas: expected at least 2, found 1/);
});

test("nodes that start together may make the same topics", async (t) => {
  const brokers = await sharedKafka();
  const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  const specs = [c.spec(), c.spec({ cleanup: "compact", retentionMs: null }), c.spec()];
  await Promise.all(Array.from({ length: 5 }, () => connection(t, brokers).ensureTopics(specs)));
  for (const { name } of specs) assert.equal((await c.log.bounds(name)).length, 2);
});

test("records of other clients, without a key or with headers, come as they are", async (t) => {
  const brokers = await sharedKafka();
  const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  const topic = await c.topic({ partitions: 1 });
  const foreign = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING }).producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await foreign.connect();
  t.after(() => foreign.disconnect());
  await foreign.send({ topic, messages: [{ key: null, value: "no key" }, { key: "k", value: null, headers: { who: "somebody" } }] });
  await foreign.send({ topic, messages: [{ key: "k", value: "compressed" }], compression: kafkajs.CompressionTypes.GZIP });
  const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
  await c.eventually("all three", () => read.records.length === 3);
  assert.deepEqual(read.records.map(({ key }) => key), ["", "k", "k"]);
  assert.deepEqual(read.texts(), ["no key", "(tombstone)", "compressed"]);
});

test("a handler that works for longer than a session keeps its partition, and its commit counts", async (t) => {
  const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  const topic = await c.topic({ partitions: 1 });
  const group = c.groupName();
  const slow = latch();
  await c.write(topic, 0, ["r"]);
  const first = await c.read({ group, topics: [topic], from: "committed" }, () => slow.opened);
  await c.eventually("the batch", () => first.batches.length === 1);
  const spare = await c.read({ group, topics: [topic], from: "committed" }, undefined, await c.fixture.another());
  const untilMs = systemClock.monotonicMs() + KAFKA_LOG_LIMITS.sessionMs + 2 * KAFKA_LOG_LIMITS.heartbeatMs;
  // A spare member that has a partition of its own would show a rebalance; the sole reader's signs of life go on.
  await c.eventually("more than a session", () => systemClock.monotonicMs() > untilMs);
  assert.ok(systemClock.monotonicMs() - first.fetchedAtMs() < KAFKA_LOG_LIMITS.sessionMs, "it is alive all the while");
  slow.open();
  const holder = spare.batches.length === 0 ? first : spare;
  await holder.commit([{ topic, partition: 0, offset: 1 }]);
  assert.deepEqual(await c.log.committed(group, topic), [{ topic, partition: 0, offset: 1 }]);
});

for (const from of ["committed", []] as const) {
  test(`a topic that was made anew is read from its start, and what is gone is told (${from === "committed" ? "a group that commits" : "a group of one's own"})`, async (t) => {
    const log = connection(t, await sharedKafka());
    const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
    const spec = c.spec({ partitions: 1 });
    await log.ensureTopics([spec]);
    const read: Read = await c.read({ group: c.groupName(), topics: [spec.name], from }, async (batch) => {
      if (from === "committed") await read.commit([{ topic: spec.name, partition: 0, offset: batch.next }]);
    });
    await c.write(spec.name, 0, numbered("old", 20));
    await c.eventually("20 records", () => read.records.length === 20);
    await log.deleteTopics([spec.name]);
    await c.eventually("it is made anew", () => log.ensureTopics([spec]).then(() => true, () => false));
    await c.write(spec.name, 0, numbered("new", 12));
    await c.eventually("it is told", () => read.gaps.some(({ start }) => start === 0));
    await c.write(spec.name, 0, numbered("more", 20));
    await c.eventually("what is there now", () => [...numbered("new", 12), ...numbered("more", 20)].every((text) => read.texts().includes(text)));
    assert.deepEqual(read.crashes, []);
  });
}

test("a tick reader leaves no group behind", async (t) => {
  const { admin, log } = await kafkaFixture(t);
  const c = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  const topics = { ticks: await c.topic(), books: await c.topic({ cleanup: "compact", retentionMs: null }) };
  const group = `ticks.${randomUUID()}`;
  const nobody = { onTick: () => undefined, onAlive: () => undefined, onBook: () => undefined, onUnsynced: () => undefined };
  const reader = new TickReader({ log, group, topics, clock: systemClock, logger: silent, metrics: { count: () => undefined, ownTime: () => undefined, factsWritten: () => undefined }, journal: recordingJournal(), bookAheadMs: 2_000, handlers: nobody, onCrash: () => undefined });
  const groups = async (): Promise<string[]> => (await admin.listGroups()).groups.map(({ groupId }) => groupId);
  await reader.start();
  assert.ok((await groups()).includes(group));
  await reader.stop();
  assert.ok(!(await groups()).includes(group));
});
