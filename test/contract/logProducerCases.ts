// Owns the contract's cases about producers.

import assert from "node:assert/strict";
import type { DeclareCase } from "./logContract.ts";
import { bytesOf, numbered } from "./logFixture.ts";

const LARGE_BYTES = 1_000_000;

export function producerCases(test: DeclareCase): void {
  test("records of one producer keep their order within each partition", async (c) => {
    const topic = await c.topic({ partitions: 3 });
    const producer = c.log.producer({ maxBuffered: 300, delivery: "critical" });
    const sent: string[][] = [[], [], []];
    for (const [index, text] of numbered("r", 300).entries()) {
      const partition = index % 3;
      sent[partition]?.push(text);
      assert.equal(producer.append({ topic, partition, key: `key-${partition}`, value: bytesOf(text) }), "accepted");
    }
    await producer.flush();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("300 records", () => read.records.length >= 300);
    for (const partition of [0, 1, 2]) {
      assert.deepEqual(read.texts(partition), sent[partition]);
      const offsets = read.records.filter((record) => record.partition === partition).map((record) => record.offset);
      assert.deepEqual(offsets, Array.from({ length: 100 }, (_, offset) => offset));
    }
  });

  test("records handed over while a send is in flight follow it in order", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 200, delivery: "critical" });
    const texts = numbered("r", 120);
    let next = 0;
    // Each answer hands over three more: some are waiting at every send.
    const append = (count: number) => {
      for (const text of texts.slice(next, (next += count))) {
        assert.equal(producer.append({ topic, partition: 0, key: "key", value: bytesOf(text) }, () => append(3)), "accepted");
      }
    };
    append(2);
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("120 records", () => read.records.length >= 120);
    assert.deepEqual(read.texts(), texts);
    await producer.close();
  });

  test("an accepted record settles once, and flush waits for all that were accepted before it", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 50, delivery: "critical" });
    const settled = new Map<string, (Error | null)[]>(numbered("r", 50).map((text) => [text, []]));
    for (const text of settled.keys()) producer.append({ topic, partition: 0, key: text, value: bytesOf(text) }, (error) => settled.get(text)?.push(error));
    await producer.flush();
    for (const answers of settled.values()) assert.deepEqual(answers, [null]);
    await producer.flush();
    await producer.close();
  });

  test("row 46: a producer that another process makes for the same partition puts nobody out, whichever was first: who may speak is the epoch's to say", async (c) => {
    const topic = await c.topic();
    const other = await c.fixture.another();
    const said: string[] = [];
    for (const [first, second] of [[c.log, other], [other, c.log]] as const) {
      // One attempt each: whoever was put out would not come back by a second one, unseen.
      const producers = [first, second].map((log) => log.producer({ maxBuffered: 5, delivery: "best_effort" }));
      for (const producer of [...producers, ...producers]) {
        const text = `r-${said.length}`;
        said.push(text);
        assert.equal(await new Promise((settled) => producer.append({ topic, partition: 0, key: "key", value: bytesOf(text) }, settled)), null);
      }
      for (const producer of producers) await producer.close();
    }
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("all of them", () => read.records.length >= said.length);
    assert.deepEqual(read.texts(), said);
  });

  test("a full buffer is an answer: the record was not taken, and the next is once there is room", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 5, delivery: "critical" });
    const append = (text: string) => producer.append({ topic, partition: 0, key: text, value: bytesOf(text) });
    assert.deepEqual(numbered("r", 8).map(append), [...Array<string>(5).fill("accepted"), ...Array<string>(3).fill("full")]);
    await producer.flush();
    assert.equal(append("later"), "accepted");
    await producer.close();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("6 records", () => read.records.length >= 6);
    assert.deepEqual(read.texts(), [...numbered("r", 5), "later"]);
  });

  test("close lets what was accepted settle; afterwards every append says stopped", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 10, delivery: "critical" });
    const answers: (Error | null)[] = [];
    for (const text of numbered("r", 10)) producer.append({ topic, partition: 0, key: text, value: bytesOf(text) }, (error) => answers.push(error));
    const closing = producer.close();
    assert.equal(producer.append({ topic, partition: 0, key: "late", value: null }), "stopped");
    await closing;
    assert.deepEqual(answers, Array(10).fill(null));
    assert.equal(producer.append({ topic, partition: 0, key: "late", value: null }), "stopped");
    assert.deepEqual((await c.log.bounds(topic))[0], { partition: 0, start: 0, end: 10 });
  });

  test("a record for a partition that is not there settles with an error, and its neighbours go in", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 3, delivery: "critical" });
    const answers: (Error | null)[] = [];
    for (const partition of [0, 9, 1]) producer.append({ topic, partition, key: "key", value: bytesOf("value") }, (error) => answers.push(error));
    await producer.close();
    assert.equal(answers.filter((error) => error === null).length, 2);
    assert.equal(answers.filter((error) => error instanceof Error).length, 1);
    assert.deepEqual((await c.log.bounds(topic)).map(({ end }) => end), [1, 1]);
  });

  test("a record's bytes are those of the hand-over, whatever becomes of the buffer", async (c) => {
    const topic = await c.topic();
    const producer = c.log.producer({ maxBuffered: 2, delivery: "critical" });
    const buffer = bytesOf("before");
    producer.append({ topic, partition: 0, key: "first", value: buffer });
    producer.append({ topic, partition: 0, key: "second", value: buffer });
    buffer.set(bytesOf("after!"));
    await producer.close();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("2 records", () => read.records.length >= 2);
    assert.deepEqual(read.texts(), ["before", "before"]);
  });

  test("a record of 1 MB comes back byte for byte", async (c) => {
    const topic = await c.topic();
    const value = Uint8Array.from({ length: LARGE_BYTES }, (_, index) => (index * 31) % 251);
    const producer = c.log.producer({ maxBuffered: 1, delivery: "critical" });
    producer.append({ topic, partition: 0, key: "large", value }, (error) => assert.equal(error, null));
    await producer.close();
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("the record", () => read.records.length >= 1);
    assert.equal(Buffer.compare(read.records[0]?.value ?? new Uint8Array(), value), 0);
  });

  test("a tombstone arrives as null, an empty value as empty, and the key with each", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, [null, ""], "the key");
    const read = await c.read({ group: c.groupName(), topics: [topic], from: "committed" });
    await c.eventually("2 records", () => read.records.length >= 2);
    assert.equal(read.records[0]?.value, null);
    assert.equal(read.records[1]?.value?.length, 0);
    assert.deepEqual(read.records.map((record) => record.key), ["the key", "the key"]);
  });
}
