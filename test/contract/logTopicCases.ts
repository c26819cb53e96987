// Owns the contract's cases about topics and bounds.

import assert from "node:assert/strict";
import type { DeclareCase } from "./logContract.ts";
import { numbered } from "./logFixture.ts";

export function topicCases(test: DeclareCase): void {
  test("a topic that exists as wanted is left as it is", async (c) => {
    const spec = c.spec();
    await c.log.ensureTopics([spec]);
    await c.write(spec.name, 0, ["kept"]);
    await c.log.ensureTopics([spec]);
    assert.deepEqual(await c.log.bounds(spec.name), [
      { partition: 0, start: 0, end: 1 },
      { partition: 1, start: 0, end: 0 },
    ]);
  });

  const differing = [
    { setting: "partitions", other: { partitions: 3 }, says: /partitions: expected 3, found 2/ },
    { setting: "cleanup", other: { cleanup: "compact", retentionMs: null }, says: /cleanup: expected compact, found delete/ },
    { setting: "retention", other: { retentionMs: 3_600_000 }, says: /retentionMs: expected 3600000, found 604800000/ },
  ] as const;
  for (const { setting, other, says } of differing) {
    test(`a topic with other ${setting} is refused with expected and found`, async (c) => {
      const spec = c.spec();
      await c.log.ensureTopics([spec]);
      await assert.rejects(c.log.ensureTopics([{ ...spec, ...other }]), (error: Error) => {
        assert.equal((error as { code?: unknown }).code, "configuration");
        assert.match(error.message, says);
        assert.ok(error.message.includes(spec.name));
        return true;
      });
    });
  }

  test("a compacted topic with a retention is refused: its only record would go too", async (c) => {
    await assert.rejects(c.log.ensureTopics([c.spec({ cleanup: "compact", retentionMs: 1000 })]), { code: "configuration" });
  });

  test("a refused list of topics creates none of them", async (c) => {
    const known = c.spec();
    await c.log.ensureTopics([known]);
    const fresh = c.spec();
    await assert.rejects(c.log.ensureTopics([fresh, { ...known, partitions: 5 }]), { code: "configuration" });
    await assert.rejects(c.log.bounds(fresh.name), { code: "configuration" });
  });

  test("an empty partition begins and ends at 0, and ends higher by one for each record", async (c) => {
    const topic = await c.topic();
    assert.deepEqual(await c.log.bounds(topic), [
      { partition: 0, start: 0, end: 0 },
      { partition: 1, start: 0, end: 0 },
    ]);
    await c.write(topic, 1, numbered("r", 7));
    assert.deepEqual(await c.log.bounds(topic), [
      { partition: 0, start: 0, end: 0 },
      { partition: 1, start: 0, end: 7 },
    ]);
  });

  test("trimming moves the start and leaves the end", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 0, numbered("r", 5));
    await c.fixture.trim({ topic, partition: 0, offset: 3 });
    assert.deepEqual((await c.log.bounds(topic))[0], { partition: 0, start: 3, end: 5 });
  });

  test("a time has its first record in each partition, or the end where none is that young", async (c) => {
    const topic = await c.topic();
    await c.write(topic, 1, numbered("r", 3));
    const read = await c.read({ group: c.groupName(), topics: [topic], from: [{ topic, partition: 0, offset: 0 }, { topic, partition: 1, offset: 0 }] });
    await c.eventually("the first records", () => read.records.length === 3);
    const [first, , last] = read.records.map(({ timestampMs }) => timestampMs);
    assert.ok(first !== undefined && last !== undefined);
    const offsets = async (wallMs: number) => (await c.log.since(topic, wallMs)).map(({ partition, offset }) => [partition, offset]);
    assert.deepEqual(await offsets(first - 1_000), [[0, 0], [1, 0]]);
    assert.deepEqual(await offsets(first), [[0, 0], [1, 0]]);
    assert.deepEqual(await offsets(last + 1), [[0, 0], [1, 3]]);
    await c.eventually("a later time", () => Date.now() > last + 1);
    await c.write(topic, 1, ["late"]);
    assert.deepEqual(await offsets(last + 1), [[0, 0], [1, 3]]);
    await c.eventually("the late record", () => read.records.length === 4);
    assert.deepEqual(await offsets((read.records[3]?.timestampMs ?? 0) + 1), [[0, 0], [1, 4]]);
    await read.stop();
  });

  test("a topic that does not exist has no bounds and no readers", async (c) => {
    const { name } = c.spec();
    await assert.rejects(c.log.bounds(name), { code: "configuration" });
    await assert.rejects(c.read({ group: c.groupName(), topics: [name], from: "committed" }), { code: "configuration" });
  });
}
