// Owns the cases of a Kafka that dies and comes back, and of one that stands still: nothing that was
// acknowledged is lost, nobody waits for ever, and everybody goes on by himself.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test, type TestContext } from "node:test";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import type { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import { systemClock } from "../../ops/clock.ts";
import { messageOf } from "../../protocol/errors.ts";
import { LogCase, textOf } from "../contract/logFixture.ts";
import { connection } from "../log/kafkaFixture.ts";
import { ownKafka } from "../support/ownKafka.ts";

const PATIENCE_MS = 90_000;
const PARTITIONS = 4;
const EVERY_MS = 20;
const FROZEN_MS = 20_000;
/** How long it is gone: longer than every bound of a client's the second time. */
const AWAY_MS = [0, 60_000];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes all the time, and notes what was acknowledged; two members of a group read it and commit, and one reader of its own. */
async function traffic(t: TestContext, log: KafkaLog, others: readonly KafkaLog[]) {
  const topic = `live.${randomUUID()}`;
  await log.ensureTopics([{ name: topic, partitions: PARTITIONS, cleanup: "delete", retentionMs: null }]);
  const c = new LogCase({ log, another: async () => log, trim: async () => undefined, compact: async () => undefined, member: async () => Promise.reject(new Error("not here")) }, PATIENCE_MS);
  const group = c.groupName();
  const alone = await c.read({ group: c.groupName(), topics: [topic], from: [] });
  const members = await Promise.all(others.map((other) => committing(other, group, topic)));
  const producer = log.producer({ maxBuffered: 500, delivery: "critical" });
  const acknowledged: string[] = [];
  const seen = { refused: 0, full: 0 };
  const state = { isWriting: true };
  let written = 0;
  const writing = (async () => {
    while (state.isWriting) {
      const text = `${written}`;
      const result = producer.append({ topic, partition: written % PARTITIONS, key: `k${written % PARTITIONS}`, value: new TextEncoder().encode(text) }, (error) => {
        if (error === null) acknowledged.push(text);
        else seen.refused += 1;
      });
      if (result === "full") seen.full += 1;
      else written += 1;
      await pause(EVERY_MS);
    }
  })();
  const stop = async (): Promise<void> => {
    state.isWriting = false;
    await writing;
    await producer.close();
  };
  t.after(stop);
  const missing = (texts: readonly string[]): readonly string[] => {
    const known = new Set(texts);
    return acknowledged.filter((text) => !known.has(text));
  };
  /** Says what did not arrive, and what the reader said of itself. */
  const hasAll = async (whose: string, texts: () => readonly string[], crashes: () => readonly Error[]): Promise<void> => {
    await c.eventually(`${whose} has all`, () => missing(texts()).length === 0).catch((error: unknown) => {
      const lost = missing(texts());
      assert.fail(`${messageOf(error)}: ${lost.length} of ${acknowledged.length} are missing, from ${lost[0]} to ${lost.at(-1)}, of partitions ${[...new Set(lost.map((text) => Number(text) % PARTITIONS))].join(", ")}; it crashed ${crashes().map(messageOf).join(", ")}`);
    });
  };
  return {
    c, alone, members, acknowledged, seen, stop,
    /** Everything that was acknowledged has reached the reader of its own, and the group, whose members have committed it. */
    async arrives() {
      await stop();
      await hasAll("the reader of its own", () => alone.texts(), () => alone.crashes);
      await hasAll("the group", () => members.flatMap((member) => member.texts), () => members.flatMap(({ crashes }) => crashes));
      await c.eventually("and has committed it", async () => {
        const ends = await log.bounds(topic);
        const committed = new Map((await log.committed(group, topic)).map(({ partition, offset }) => [partition, offset]));
        return ends.every(({ partition, end }) => (committed.get(partition) ?? 0) === end);
      });
      for (let partition = 0; partition < PARTITIONS; partition++) {
        // One that was not acknowledged may come late all the same: it lay in the broker's socket.
        const known = new Set(acknowledged);
        const firsts = [...new Set(alone.texts(partition))].filter((text) => known.has(text)).map(Number);
        assert.deepEqual(firsts, [...firsts].sort((a, b) => a - b), "what was acknowledged is in order");
      }
      assert.deepEqual([...alone.crashes, ...members.flatMap(({ crashes }) => crashes)], []);
      assert.deepEqual(alone.gaps, []);
    },
  };
}

async function committing(log: KafkaLog, group: string, topic: string) {
  const texts: string[] = [];
  const crashes: Error[] = [];
  const subscription = await log.consume({
    group,
    topics: [topic],
    from: "committed",
    async onBatch({ partition, records, next }) {
      texts.push(...records.map(textOf));
      await subscription.commit([{ topic, partition, offset: next }]).catch(() => undefined);
    },
    onGap: (gap) => crashes.push(new Error(`gap ${JSON.stringify(gap)}`)),
    onCrash: (error) => crashes.push(error),
  });
  return { texts, crashes };
}

test("a Kafka that is killed and comes back, at once and after a minute: what was acknowledged arrives, and everybody goes on", async (t) => {
  const kafka = await ownKafka(t);
  const run = await traffic(t, connection(t, kafka.brokers), [connection(t, kafka.brokers), connection(t, kafka.brokers)]);
  for (const awayMs of AWAY_MS) {
    const before = run.acknowledged.length;
    await run.c.eventually("traffic", () => run.acknowledged.length > before + 50);
    kafka.kill();
    await pause(awayMs);
    await kafka.restart();
  }
  const after = run.acknowledged.length;
  await run.c.eventually("traffic again", () => run.acknowledged.length > after + 50);
  await run.arrives();
});

test("a Kafka that stands still for 20 s: appends are answered at once all the time, readers fall silent, and everybody goes on", async (t) => {
  const kafka = await ownKafka(t);
  const run = await traffic(t, connection(t, kafka.brokers, { ...KAFKA_LOG_LIMITS, sendMs: 6_000 }), [connection(t, kafka.brokers), connection(t, kafka.brokers)]);
  await run.c.eventually("traffic", () => run.acknowledged.length > 50);
  kafka.freeze();
  const frozenAtMs = performance.now();
  let longestTurnMs = 0;
  while (performance.now() - frozenAtMs < FROZEN_MS) {
    const beganMs = performance.now();
    await pause(50);
    longestTurnMs = Math.max(longestTurnMs, performance.now() - beganMs);
  }
  const silenceMs = systemClock.monotonicMs() - run.alone.fetchedAtMs();
  kafka.thaw();
  assert.ok(silenceMs > FROZEN_MS / 2, "silence shows");
  assert.ok(run.seen.refused + run.seen.full > 0, "what the log did not take was answered, not forgotten");
  t.diagnostic(`longest pause of the event loop beside a frozen log: ${Math.round(longestTurnMs)} ms; not sent ${run.seen.refused}, full ${run.seen.full}`);
  const after = run.acknowledged.length;
  await run.c.eventually("traffic again", () => run.acknowledged.length > after + 50);
  await run.arrives();
});
