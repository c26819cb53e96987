// Owns the cases of a connection to Kafka that goes wrong, with a man in the middle: answers that are
// swallowed, garbled or cut, and what a producer and a reader make of them.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { systemClock } from "../../ops/clock.ts";
import { API } from "../../ops/drill/kafkaWire.ts";
import { LogCase } from "../contract/logFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { kafkaProxy, type KafkaProxy } from "../support/kafkaProxy.ts";
import { connection, kafkaFixture } from "./kafkaFixture.ts";

const PATIENCE_MS = 60_000;
const QUICK = { ...KAFKA_LOG_LIMITS, requestMs: 1_000, sendMs: 6_000 };

/** A log through the proxy, and one beside it that shows what is there. */
async function through(t: TestContext) {
  const [broker = ""] = await sharedKafka();
  const proxy: KafkaProxy = await kafkaProxy(broker);
  t.after(() => proxy.close());
  const beside = new LogCase(await kafkaFixture(t), PATIENCE_MS);
  return { proxy, beside, log: connection(t, proxy.brokers, QUICK) };
}

test("one swallowed produce answer: what was in the send is there, what came after it too, in order", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const producer = log.producer({ maxBuffered: 100, delivery: "critical" });
  let swallowed = 0;
  proxy.onResponse = (api) => (api === API.produce && swallowed++ === 0 ? "swallow" : "pass");
  const answers: (Error | null)[] = [];
  const append = (text: string): void => void producer.append({ topic, partition: 0, key: "key", value: new TextEncoder().encode(text) }, (error) => answers.push(error));
  append("first");
  append("second");
  await producer.flush();
  append("third");
  await producer.flush();
  assert.ok(swallowed > 1, "the answer was swallowed and the send repeated");
  assert.deepEqual(answers, [null, null, null]);
  const read = await beside.read({ group: beside.groupName(), topics: [topic], from: "committed" });
  await beside.eventually("the last of them", () => read.texts().includes("third"));
  assert.deepEqual([...new Set(read.texts())], ["first", "second", "third"]);
});

test("produce answers that never come settle as unreachable within the bound, and nothing waits behind them for ever", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const producer = log.producer({ maxBuffered: 2, delivery: "critical" });
  proxy.onResponse = (api) => (api === API.produce ? "swallow" : "pass");
  const codes: (string | null)[] = [];
  const append = (text: string) => producer.append({ topic, partition: 0, key: "key", value: new TextEncoder().encode(text) }, (error) => codes.push((error as { code?: string } | null)?.code ?? null));
  assert.deepEqual([append("a"), append("b"), append("c")], ["accepted", "accepted", "full"]);
  await producer.flush();
  assert.deepEqual(codes, ["unreachable", "unreachable"]);
  proxy.onResponse = () => "pass";
  assert.equal(append("d"), "accepted");
  await producer.flush();
  assert.equal(codes.at(-1), null, "the log answers again");
});

test("best effort: one attempt, nothing held up, and what is lost is told so that it can be counted", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const replay = log.producer({ maxBuffered: 3, delivery: "best_effort" });
  let produced = 0;
  proxy.onRequest = (api) => (produced += Number(api === API.produce));
  proxy.onResponse = (api) => (api === API.produce ? "swallow" : "pass");
  let lost = 0;
  const append = (text: string): void => {
    if (replay.append({ topic, partition: 0, key: "key", value: new TextEncoder().encode(text) }, (error) => (lost += Number(error !== null))) === "full") lost += 1;
  };
  for (const text of ["a", "b", "c", "d", "e"]) append(text);
  assert.equal(lost, 2, "full is an answer at once");
  await replay.flush();
  assert.equal(lost, 5);
  assert.equal(produced, 2, "each send was tried once");
});

test("critical sends ask for every replica in sync", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const acks = new Set<number>();
  proxy.onRequest = (api, frame) => {
    if (api !== API.produce) return;
    // Header: length, api, version, correlation, client id; then the transactional id (none: -1), then acks.
    const clientIdLength = frame.readInt16BE(12);
    acks.add(frame.readInt16BE(14 + clientIdLength + 2));
  };
  for (const delivery of ["critical", "best_effort"] as const) {
    const producer = log.producer({ maxBuffered: 1, delivery });
    producer.append({ topic, partition: 0, key: "key", value: null });
    await producer.close();
  }
  assert.deepEqual([...acks], [-1, 1]);
});

test("connections that are cut while records are sent: every record that settled well is there, in order", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 2 });
  const producer = log.producer({ maxBuffered: 1_000, delivery: "critical" });
  const settled: string[] = [];
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 20; n++) {
      const text = `${round * 20 + n}`;
      producer.append({ topic, partition: n % 2, key: `k${n % 2}`, value: new TextEncoder().encode(text) }, (error) => error === null && settled.push(text));
    }
    if (round % 3 === 1) {
      proxy.cut();
      proxy.mend();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await producer.close();
  assert.equal(settled.length, 200, "a cut is over before the bound");
  const read = await beside.read({ group: beside.groupName(), topics: [topic], from: "committed" });
  await beside.eventually("all of them", () => new Set(read.texts()).size === 200);
  for (const partition of [0, 1]) {
    const firsts = [...new Set(read.texts(partition))].map(Number);
    assert.deepEqual(firsts, [...firsts].sort((a, b) => a - b), "a repeat never overtakes");
  }
});

test("a reader whose connections are cut goes on where it was", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const read = await beside.read({ group: beside.groupName(), topics: [topic], from: [] }, undefined, log);
  await beside.write(topic, 0, ["before"]);
  await beside.eventually("the first", () => read.texts().includes("before"));
  proxy.cut();
  await beside.write(topic, 0, ["meanwhile"]);
  proxy.mend();
  await beside.write(topic, 0, ["after"]);
  await beside.eventually("the last", () => read.texts().includes("after"));
  assert.deepEqual([...new Set(read.texts())], ["before", "meanwhile", "after"]);
  assert.deepEqual([read.gaps.length, read.crashes.length], [0, 0]);
});

test("a commit whose answer does not come is no commit that counts as one", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  await beside.write(topic, 0, ["r"]);
  const read = await beside.read({ group: beside.groupName(), topics: [topic], from: "committed" }, undefined, log);
  await beside.eventually("the record", () => read.records.length === 1);
  proxy.onResponse = (api) => (api === API.offsetCommit ? "swallow" : "pass");
  await assert.rejects(read.commit([{ topic, partition: 0, offset: 1 }]));
  proxy.onResponse = () => "pass";
  await beside.eventually("the next one counts", () => read.commit([{ topic, partition: 0, offset: 1 }]).then(() => true, () => false));
});

test("answers that nobody can read end a subscription through onCrash instead of in silence", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 1 });
  const read = await beside.read({ group: beside.groupName(), topics: [topic], from: [] }, undefined, log);
  await beside.write(topic, 0, ["before"]);
  await beside.eventually("the first", () => read.texts().includes("before"));
  const heardAtMs = read.fetchedAtMs();
  // A length of records that the frame does not have.
  proxy.onResponse = (api, frame) => (api === API.fetch ? Buffer.concat([frame.subarray(0, 8), Buffer.alloc(frame.length - 8, 0x7f)]) : "pass");
  await beside.write(topic, 0, ["unreadable"]);
  await beside.eventually("its end, or silence that the watch sees", () => read.crashes.length === 1 || performance.now() > heardAtMs + 1_000_000);
  assert.equal(read.crashes.length, 1);
});

test("a broker that cannot be reached at the start is an error, not a wait for ever", async (t) => {
  const { proxy, log } = await through(t);
  proxy.cut();
  await assert.rejects(connection(t, proxy.brokers, { ...QUICK, askMs: 2_000 }).bounds(`none.${randomUUID()}`), { code: "unreachable" });
  await log.close();
});

test("a member that is alive and cannot find out where to read hears nothing of the log, for its watch to see", async (t) => {
  const { proxy, beside, log } = await through(t);
  const topic = await beside.topic({ partitions: 2 });
  const group = beside.groupName();
  await beside.write(topic, 0, ["r"]);
  const read = await beside.read({ group, topics: [topic], from: "committed" }, undefined, log);
  await beside.eventually("the record", () => read.records.length === 1);
  // Else the client asks by itself, and is not alive while it waits.
  await read.commit([0, 1].map((partition) => ({ topic, partition, offset: 1 - partition })));
  proxy.onResponse = (api) => (api === API.listOffsets ? "swallow" : "pass");
  // Another one comes: a new stay begins, and with it the question where to read.
  await beside.read({ group, topics: [topic], from: "committed" });
  const silentMs = (): number => systemClock.monotonicMs() - read.fetchedAtMs();
  await beside.eventually("silence for longer than a rebalance and several heartbeats", () => silentMs() > KAFKA_LOG_LIMITS.rebalanceMs + 4 * KAFKA_LOG_LIMITS.heartbeatMs);
  proxy.onResponse = () => "pass";
  await beside.eventually("signs of life again", () => silentMs() < KAFKA_LOG_LIMITS.heartbeatMs);
  assert.deepEqual(read.crashes, []);
});
