// Owns the cases of noticing that accounts or links were changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DirectoryWatch } from "../../../actors/shell/directoryWatch.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import type { DirectoryState } from "../../../protocol/ports/storage.ts";
import { elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

/** A directory whose answers take `delayMs`, and a watch on it. */
function setting() {
  const clock = new FakeScheduler(1);
  const database = { version: 1, down: false, delayMs: 10, asked: 0, read: 0, underWay: 0, most: 0 };
  const answer = async <T>(value: () => T): Promise<T> => {
    database.most = Math.max(database.most, ++database.underWay);
    await new Promise<void>((resolve) => void clock.after(database.delayMs, resolve));
    database.underWay--;
    if (database.down) throw new LockstepError("database_busy", "no connection");
    return value();
  };
  const told: number[] = [];
  const logger = recordingLogger();
  const watch = new DirectoryWatch({
    directory: {
      version: () => (database.asked++, answer(() => database.version)),
      read: () => (database.read++, answer((): DirectoryState => ({ version: database.version, accounts: [], links: [], parked: new Map() }))),
    },
    clock,
    logger,
    everyMs: 1_000,
    onState: ({ version }) => told.push(version),
  });
  return { clock, database, watch, told, logger };
}

test("the first state is told at the start, a change within two seconds, and nothing in between", async () => {
  const { clock, database, watch, told } = setting();
  await elapsed(clock, watch.start());
  await clock.advance(10_000);
  assert.deepEqual([told, database.read], [[1], 1]);
  database.version = 5;
  await clock.advance(2_000);
  assert.deepEqual(told, [1, 5]);
  watch.stop();
});

test("a database that does not answer changes nothing and is said once; afterwards changes are seen again", async () => {
  const { clock, database, watch, told, logger } = setting();
  await elapsed(clock, watch.start());
  database.down = true;
  database.version = 2;
  await clock.advance(60_000);
  assert.deepEqual([told, logger.lines.filter(({ text }) => /cannot be read/.test(text)).length], [[1], 1]);
  database.down = false;
  await clock.advance(2_000);
  assert.deepEqual(told, [1, 2]);
  watch.stop();
});

test("one look at a time, however long it takes", async () => {
  const { clock, database, watch, told } = setting();
  await elapsed(clock, watch.start());
  database.delayMs = 30_000;
  database.version = 2;
  await clock.advance(100_000);
  assert.deepEqual([database.most, told], [1, [1, 2]]);
  watch.stop();
});

test("whoever asks is told the whole although the version is the same, and again if it asks meanwhile", async () => {
  const { clock, database, watch, told } = setting();
  await elapsed(clock, watch.start());
  watch.ask();
  await clock.advance(5);
  watch.ask();
  await clock.advance(100);
  assert.deepEqual(told, [1, 1, 1]);
  database.down = true;
  watch.ask();
  await clock.advance(3_000);
  database.down = false;
  await clock.advance(1_100);
  assert.deepEqual(told, [1, 1, 1, 1]);
  watch.stop();
});

test("a directory that cannot be read at the start is a fault of the start", async () => {
  const { clock, database, watch } = setting();
  database.down = true;
  await assert.rejects(elapsed(clock, watch.start()), { code: "database_busy" });
  assert.equal(clock.pending, 0);
});

test("after the stop nothing is told, and no timer is left", async () => {
  const { clock, database, watch, told } = setting();
  await elapsed(clock, watch.start());
  watch.ask();
  await clock.advance(5);
  watch.stop();
  database.version = 2;
  await clock.advance(10_000);
  assert.deepEqual([told, clock.pending], [[1], 0]);
});
