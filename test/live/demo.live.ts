// Owns the demo on a real Kafka, as a user runs it: the same verdict as in memory, and nothing of it is left
// in Kafka.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Kafka, logLevel } from "kafkajs";
import type { DemoReport } from "../../ops/demo/report.ts";
import { nothingLeft, startCommand, withoutProc } from "../ops/cli/lockstep.ts";
import { sharedKafka } from "../support/kafka.ts";
import { eventually } from "../support/postgres.ts";

/** Names of topics and groups of demos that Kafka has now. */
async function namesIn(t: TestContext, brokers: readonly string[]): Promise<() => Promise<string[]>> {
  const admin = new Kafka({ clientId: "lockstep test", brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  return async () => [...(await admin.listTopics()), ...(await admin.listGroups()).groups.map(({ groupId }) => groupId)].filter((name) => name.includes("lockstep-demo-"));
}

for (const trouble of [[], ["--chaos", "--seed", "7"]]) {
  test(`${["demo --kafka", ...trouble].join(" ")}: the verdict is ok, it ends, and its topics and groups are gone afterwards`, { skip: withoutProc }, async (t) => {
    const brokers = await sharedKafka();
    const names = await namesIn(t, brokers);
    assert.deepEqual(await names(), []);
    const command = await startCommand(t, ["demo", "--kafka", "--json", ...trouble], { env: { KAFKA_BROKERS: brokers.join(",") } });
    const during = new Set<string>();
    const looking = setInterval(() => void names().then((now) => now.forEach((name) => during.add(name)), () => undefined), 1_000);
    const { code, out, err } = await command.ended.finally(() => clearInterval(looking));
    const { verdict, violations } = JSON.parse(out) as DemoReport;
    assert.deepEqual([verdict, violations, code], ["ok", [], 0], err);
    await nothingLeft(command);
    assert.ok(during.size > 0, "they were there");
    await eventually("its topics and groups are gone", async () => (await names()).length === 0);
  });
}
