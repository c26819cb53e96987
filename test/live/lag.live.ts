// Owns the case of a reader that is a million records behind: it catches up under a small heap, and
// a handler that is slow on one partition holds up nobody else's.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { systemClock } from "../../ops/clock.ts";
import { connection } from "../log/kafkaFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { silent } from "../support/silent.ts";

const RECORDS = 1_000_000;
const PARTITIONS = 8;
const VALUE_BYTES = 300;
const HEAP_MB = 96;
/** What the heap's cap does not cover: code, sockets' buffers, and the responses being taken apart. */
const RSS_MB = 400;
const THIS_FILE = fileURLToPath(import.meta.url);

interface Told {
  readonly count: number;
  readonly perPartition: readonly number[];
  readonly inOrder: boolean;
  readonly rssMb: number;
  /** Of the slow partition, when all the others had reached their end. */
  readonly slowWhenOthersDone: number;
}

async function reader(brokers: readonly string[], topic: string): Promise<void> {
  const log = new KafkaLog({ brokers, clientId: "lag", replication: { replicationFactor: 1, minInsyncReplicas: 1 }, clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  const ends = (await log.bounds(topic)).map(({ end }) => end);
  const perPartition = new Array<number>(PARTITIONS).fill(0);
  let inOrder = true;
  let rssMb = 0;
  let slowWhenOthersDone = -1;
  let whole = (): void => undefined;
  const done = new Promise<void>((resolve) => (whole = resolve));
  const group = `lag.${randomUUID()}`;
  const subscription = await log.consume({
    group,
    topics: [topic],
    from: ends.map((_, partition) => ({ topic, partition, offset: 0 })),
    async onBatch({ partition, records, next }) {
      inOrder &&= records[0]?.offset === perPartition[partition];
      perPartition[partition] = next;
      rssMb = Math.max(rssMb, process.memoryUsage.rss() / 2 ** 20);
      if (slowWhenOthersDone < 0 && perPartition.every((at, index) => index === 0 || at === ends[index])) slowWhenOthersDone = perPartition[0] ?? 0;
      if (perPartition.every((at, index) => at === ends[index])) whole();
      // Partition 0 has a handler that is slow until the others are done.
      await new Promise((resolve) => setTimeout(resolve, partition === 0 && slowWhenOthersDone < 0 ? 200 : 0));
    },
    onGap: () => (inOrder = false),
    onCrash: (error) => {
      throw error;
    },
  });
  await done;
  await subscription.stop();
  await log.deleteGroup(group);
  await log.close();
  process.send?.({ count: perPartition.reduce((sum, at) => sum + at, 0), perPartition, inOrder, rssMb: Math.round(rssMb), slowWhenOthersDone } satisfies Told);
  process.disconnect();
}

async function behind(): Promise<void> {
  test("1,000,000 records behind, a heap of 96 MB: everything is read once and in order, memory stays flat, a slow partition holds up no other", async (t) => {
    const brokers = await sharedKafka();
    const log = connection(t, brokers);
    const topic = `lag.${randomUUID()}`;
    await log.ensureTopics([{ name: topic, partitions: PARTITIONS, cleanup: "delete", retentionMs: null }]);
    const producer = log.producer({ maxBuffered: 20_000, delivery: "critical" });
    const value = new Uint8Array(VALUE_BYTES).fill(7);
    let failed = 0;
    for (let n = 0; n < RECORDS; n++) {
      while (producer.append({ topic, partition: n % PARTITIONS, key: `k${n % 97}`, value }, (error) => (failed += Number(error !== null))) === "full") await producer.flush();
    }
    await producer.close();
    assert.equal(failed, 0);

    const told = await new Promise<Told>((resolve, reject) => {
      const child = fork(THIS_FILE, [JSON.stringify({ brokers, topic })], { execArgv: [`--max-old-space-size=${HEAP_MB}`, "--import", "tsx"] });
      t.after(() => child.kill("SIGKILL"));
      child.once("message", (message: Told) => resolve(message));
      child.once("exit", (code, signal) => reject(new Error(`the reader ended with ${code ?? signal}`)));
    });
    t.diagnostic(`resident memory at most ${told.rssMb} MB; the slow partition was at ${told.slowWhenOthersDone} of ${RECORDS / PARTITIONS} when the others were done`);
    await log.deleteTopics([topic]);
    assert.equal(told.count, RECORDS);
    assert.equal(told.inOrder, true);
    assert.ok(told.rssMb < RSS_MB, `${told.rssMb} MB`);
    assert.ok(told.slowWhenOthersDone < RECORDS / PARTITIONS / 2, "the others did not wait for the slow one");
  });
}

if (process.argv[1] === THIS_FILE && process.argv[2] !== undefined) {
  const { brokers, topic } = JSON.parse(process.argv[2]) as { readonly brokers: readonly string[]; readonly topic: string };
  await reader(brokers, topic);
} else {
  await behind();
}
