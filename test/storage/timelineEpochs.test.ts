// Owns the cases on epochs after a fail-over, which no server of the tests goes through: the statements are told its timeline.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { epoch } from "../../protocol/ids.ts";
import type { Registry } from "../../protocol/ports/storage.ts";
import { openDatabase } from "../../storage/database.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import { postgresRegistry } from "../../storage/registry.ts";
import { NOT_TOLD } from "../../storage/server.ts";
import { claiming, me, MASTER, renewing, taking } from "../contract/storageFixture.ts";
import { FakeScheduler } from "../sim/scheduler.ts";
import { CONNECTION, migratedDatabase, postgresFixture } from "./postgresStorage.ts";

const alice = me("alice");
const FIRST_OF_SECOND = 2 ** 32 + 1;

/** One cell's registry as servers on these timelines give it, one after the other. */
async function registries(t: TestContext, ...timelines: readonly string[]): Promise<readonly Registry[]> {
  const fixture = await postgresFixture(t);
  await (await fixture.open()).directory.put([MASTER], []);
  const database = openDatabase({ ...CONNECTION, url: await migratedDatabase(), applicationName: "timelines" });
  t.after(() => database.close());
  return timelines.map((timeline) => postgresRegistry({ renewals: database, claims: database }, fixture.cell, timeline));
}

/** What a claim gives, then a take of it. */
async function acquired(registry: Registry): Promise<readonly number[]> {
  await registry.renew(alice, renewing());
  const claimed = await registry.claim(alice, claiming());
  const taken = await registry.take(alice, claimed, taking());
  return [...claimed, ...taken].map(({ epoch: at }) => at);
}

test("on a new timeline an acquisition's epoch is above all that the one before can have given", async (t) => {
  const [first, second] = await registries(t, "1", "2");
  assert.ok(first && second);
  assert.deepEqual(await acquired(first), [1, 2]);
  assert.deepEqual((await second.take(alice, [{ account: MASTER.id, epoch: epoch(2) }], taking())).map(({ epoch: at }) => at), [FIRST_OF_SECOND]);
  const [claims] = await registries(t, "2");
  assert.ok(claims);
  assert.deepEqual(await acquired(claims), [FIRST_OF_SECOND, FIRST_OF_SECOND + 1]);
});

test("a server that tells no timeline gives the first one's epochs", async (t) => {
  const [registry] = await registries(t, NOT_TOLD);
  assert.ok(registry);
  assert.deepEqual(await acquired(registry), [1, 2]);
});

test("the twin gives the same epochs before and after a fail-over", async () => {
  const database = new MemoryDatabase(new FakeScheduler(1));
  const { registry, directory } = database.storage("cell" as Parameters<MemoryDatabase["storage"]>[0]);
  await directory.put([MASTER], []);
  assert.deepEqual(await acquired(registry), [1, 2]);
  database.server.failOver(0);
  const [taken] = await registry.take(alice, [{ account: MASTER.id, epoch: epoch(2) }], taking());
  assert.ok(taken);
  assert.equal(taken.epoch, FIRST_OF_SECOND);
  await registry.release(alice, taken, 0);
  assert.deepEqual(await acquired(registry), [FIRST_OF_SECOND + 1, FIRST_OF_SECOND + 2]);
});
