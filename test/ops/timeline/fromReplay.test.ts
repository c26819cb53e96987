// Owns reading the replay topic of the in-memory log and of a real Kafka, and a log that says nothing any more.

import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupView } from "../../../log/kafka/groupView.ts";
import { KAFKA_LOG_LIMITS } from "../../../log/kafka/limits.ts";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import { readReplay } from "../../../ops/timeline/fromReplay.ts";
import { accountId, cellId } from "../../../protocol/ids.ts";
import { partitionOf, postmortemGroup, topicName, topicSpecs } from "../../../protocol/topics.ts";
import { connection } from "../../log/kafkaFixture.ts";
import { elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { silent } from "../../support/silent.ts";
import { replayCases } from "./replayCases.ts";

replayCases("in memory", (t) => {
  // Random batch lengths: nothing may depend on where a batch ends.
  const log = new MemoryLog({ clock: systemClock, random: systemRandom, limits: MEMORY_LOG_LIMITS });
  t.after(() => log.close());
  return Promise.resolve({ log, left: (groups) => Promise.resolve(groups.filter((name) => log.store.findGroup(name) !== null)) });
});

replayCases("Kafka", async (t) => {
  const brokers = await sharedKafka();
  const view = new GroupView({ brokers, clientId: "test", clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  t.after(() => view.close());
  return { log: connection(t, brokers), left: async (groups) => (await view.namesOf("lockstep.pm-")).filter((name) => groups.includes(name)) };
});

test("a log that stops answering is not waited for without end, and the group is taken away all the same", async () => {
  const clock = new FakeScheduler(1);
  const log = new MemoryLog({ clock, limits: MEMORY_LOG_LIMITS });
  const [cell, follower] = [cellId("main"), accountId("f1")];
  await elapsed(clock, log.ensureTopics(topicSpecs(cell, 1)));
  log.producer({ maxBuffered: 1, delivery: "critical" }).append({ topic: topicName(cell, "replay"), partition: partitionOf(follower, 1), key: follower, value: null });
  const deleted: string[] = [];
  const deaf = { bounds: log.bounds.bind(log), since: log.since.bind(log), consume: () => Promise.resolve({ commit: () => Promise.resolve(), fetchedAtMs: () => 0, stop: () => Promise.resolve() }), deleteGroup: (name: string) => Promise.resolve(void deleted.push(name)) };
  const reading = readReplay({ log: { ...log, ...deaf } as unknown as MemoryLog, cell, follower, fromMs: 0, toMs: clock.wallMs(), id: "x", clock });
  await assert.rejects(elapsed(clock, reading), { code: "unreachable" });
  assert.deepEqual(deleted, [postmortemGroup(cell, "x.follower")]);
  assert.equal(clock.pending, 0);
});
