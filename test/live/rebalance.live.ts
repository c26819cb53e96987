// Owns the case of a group whose members come and go all the time while records are written, as in a
// rolling deployment: nothing is left out, nothing is committed before it was handled.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { LogCase, textOf } from "../contract/logFixture.ts";
import { connection, kafkaFixture } from "../log/kafkaFixture.ts";
import { sharedKafka } from "../support/kafka.ts";

const PARTITIONS = 8;
const RECORDS = 20_000;
const CHANGES = 12;
const PATIENCE_MS = 90_000;

test("20,000 records while members of a group join, leave and are killed in turn: each is handled before it is committed, and none is left out", async (t) => {
  const brokers = await sharedKafka();
  const fixture = await kafkaFixture(t);
  const c = new LogCase(fixture, PATIENCE_MS);
  const topic = await c.topic({ partitions: PARTITIONS });
  const group = `rebalance.${randomUUID()}`;
  const handled = new Set<string>();
  const faults: string[] = [];
  let deliveries = 0;

  const join = async (log: KafkaLog) => {
    const subscription = await log.consume({
      group,
      topics: [topic],
      from: "committed",
      async onBatch({ partition, records, next }) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        for (const record of records) handled.add(textOf(record));
        deliveries += records.length;
        await subscription.commit([{ topic, partition, offset: next }]).catch(() => undefined);
      },
      onGap: (gap) => faults.push(`gap ${JSON.stringify(gap)}`),
      onCrash: (error) => faults.push(error.message),
    });
    return { log, subscription };
  };

  const members = [await join(connection(t, brokers)), await join(connection(t, brokers))];
  const producer = fixture.log.producer({ maxBuffered: 500, delivery: "critical" });
  const writing = (async () => {
    for (let n = 0; n < RECORDS; n++) {
      const record = { topic, partition: n % PARTITIONS, key: `k${n % PARTITIONS}`, value: new TextEncoder().encode(`${n}`) };
      while (producer.append(record, (error) => error !== null && faults.push(error.message)) === "full") await producer.flush();
      if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 150));
    }
    await producer.close();
  })();
  for (let change = 0; change < CHANGES; change++) {
    const before = handled.size;
    members.push(await join(connection(t, brokers)));
    const leaving = members.shift();
    if (change % 3 === 2) leaving?.log.kill();
    else await leaving?.subscription.stop();
    await c.eventually("something new is handled", () => handled.size > before || handled.size === RECORDS);
  }
  await writing;
  await c.eventually("all of them are handled", () => handled.size === RECORDS);
  await c.eventually("and committed", async () => {
    const ends = await fixture.log.bounds(topic);
    const committed = new Map((await fixture.log.committed(group, topic)).map(({ partition, offset }) => [partition, offset]));
    return ends.every(({ partition, end }) => (committed.get(partition) ?? 0) === end);
  });
  assert.deepEqual(faults, []);
  t.diagnostic(`${deliveries - RECORDS} of ${RECORDS} records were handled twice`);
});
