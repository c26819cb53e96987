// Owns the cases of how much a writer has in its hands, of how far it lets the log run ahead, and of writers that die.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { KAFKA_LOG_LIMITS } from "../../log/kafka/limits.ts";
import { totalLag, writerLag } from "../../ops/writerLag.ts";
import { ticket } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { FOLLOWER, pairEvent } from "../contract/storageFixture.ts";
import { connection } from "../log/kafkaFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { ground, patiently, type Ground, type RunOptions } from "./ground.ts";

const trades = (from: number, to: number): PairEvent[] => Array.from({ length: to - from + 1 }, (_, index) => pairEvent([1, from + index], { masterTicket: ticket(from + index) }));
const tickets = async (g: Ground): Promise<number[]> => (await g.storage.pairs.rowsOf(FOLLOWER.id)).map(({ pair }) => Number(pair.masterTicket));

test("a database that stands still slows the reading and nobody else: what is said is in the log, a writer has a batch of each partition, and how far it is behind shows", async (t) => {
  const g = await ground(t, { partitions: 2 });
  const sizes: number[] = [];
  let goOn = (): void => undefined;
  const stoodStill = new Promise<void>((resolve) => (goOn = resolve));
  const wrap = (pairs: PairStore): PairStore => ({
    ...pairs,
    async write(events) {
      sizes.push(events.length);
      await stoodStill;
      return pairs.write(events);
    },
  });
  const { metrics, writer } = await g.start({ wrap });
  for (const partition of [0, 1]) await g.say(trades(1 + partition * 5_000, partition * 5_000 + 1), partition);
  await patiently("it has something of both", () => sizes.length === 2);
  // Whoever tells waits for the log alone.
  for (const partition of [0, 1]) await g.say(trades(2 + partition * 5_000, partition * 5_000 + 5_000), partition);
  assert.equal(totalLag(await writerLag(g.log, g.cell)), 10_000);
  assert.deepEqual([sizes, writer.waiting?.partitions], [[1, 1], [0, 1]], "nothing more is asked for");
  goOn();
  await g.caughtUp();
  assert.ok(Math.max(...sizes) <= KAFKA_LOG_LIMITS.maxBatchRecords, `batches of ${Math.max(...sizes)}`);
  assert.equal(totalLag(await writerLag(g.log, g.cell)), 0);
  assert.deepEqual([(await tickets(g)).length, metrics.of("rows_written"), metrics.of("rows_fenced"), writer.waiting], [10_000, 10_000, 0, null]);
});

/** Where a writer is killed; what of its batch is in the tables then. */
const DEATHS: readonly (readonly [name: string, isDone: boolean, how: (kill: () => void) => RunOptions])[] = [
  ["before its rows", false, (kill) => dying(async () => kill())],
  ["before the COMMIT of its rows", false, (kill) => ({ atCommit: () => (kill(), "before") })],
  ["after the COMMIT, before its offsets", true, (kill) => dying(async (write) => (await write(), kill()))],
];

test("a writer that is killed at any point: what the log has is rows, each counted once, by whoever reads on", async (t) => {
  await Promise.all(DEATHS.map((death) => killed(t, ...death))); // together: each waits for the log to notice
});

async function killed(t: TestContext, name: string, isDone: boolean, how: (kill: () => void) => RunOptions): Promise<void> {
  const brokers = await sharedKafka();
  const g = await ground(t);
  const log = connection(t, brokers);
  let isDead = false;
  const kill = (): void => {
    isDead = true;
    log.kill();
  };
  await g.say(trades(1, 300));
  const first = await g.start({ log, ...how(kill) });
  await patiently(`${name}: it is dead`, () => isDead);
  first.proxy.cut();
  await first.writer.stop();
  assert.equal((await tickets(g)).length, isDone ? 300 : 0, name);
  const second = await g.start({ log: connection(t, brokers) });
  await g.say(trades(301, 310));
  await g.caughtUp();
  assert.deepEqual(await tickets(g), Array.from({ length: 310 }, (_, index) => index + 1), name);
  assert.deepEqual([second.metrics.of("rows_written"), second.metrics.of("rows_fenced"), second.metrics.of("rows_rejected")], isDone ? [10, 300, 0] : [310, 0, 0], name);
}

/** Its first batch is its last: nothing of it is heard after what `work` does. */
function dying(work: (write: () => Promise<unknown>) => Promise<void>): RunOptions {
  return {
    wrap: (pairs) => ({
      ...pairs,
      async write(events) {
        await work(() => pairs.write(events));
        return new Promise(() => undefined);
      },
    }),
  };
}
