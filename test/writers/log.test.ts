// Owns the cases of writers that are behind, double, moved or frozen: what stands in the rows is decided by the log's
// order alone, whoever writes it, how often, and however late.

import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { ticket, type Epoch } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { partitionOf } from "../../protocol/topics.ts";
import { account, adopted, claiming, FOLLOWER, link, MASTER, me, pairEvent, renewing, shortRows } from "../contract/storageFixture.ts";
import { connection } from "../log/kafkaFixture.ts";
import { sharedKafka } from "../support/kafka.ts";
import { ground, patiently, type Ground } from "./ground.ts";

const trade = (epoch: number, n: number, number: number, more: Parameters<typeof pairEvent>[1] = {}): PairEvent => pairEvent([epoch, n], { masterTicket: ticket(number), ...more });
const CLOSED = { status: "Closed", reason: "manual" } as const;

/** Lets a case hold a writer's next batch, as one that is frozen holds it. */
function holder(): { readonly wrap: (pairs: PairStore) => PairStore; readonly held: () => number; thaw(): void } {
  let held = 0;
  let thaw = (): void => undefined;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  const wrap = (pairs: PairStore): PairStore => ({
    ...pairs,
    async write(events) {
      held += 1;
      await thawed;
      return pairs.write(events);
    },
  });
  return { wrap, held: () => held, thaw };
}

test("a clean stop whose last rows arrive after the release: they go in, until the next owner's marker", async (t) => {
  const g = await ground(t, { epochs: 0 });
  const { registry } = g.storage;
  await registry.renew(me("a"), renewing());
  const mine = (await registry.claim(me("a"), claiming())).find((held) => held.account === FOLLOWER.id);
  assert.ok(mine !== undefined);
  const a = mine.epoch;
  await g.say([adopted(a), trade(a, 1, 1)]);
  assert.equal(await registry.release(me("a"), mine, 0), true);
  const { metrics } = await g.start();
  await g.caughtUp();
  await g.say([trade(a, 2, 2), trade(a, 3, 1, CLOSED)]);
  await g.caughtUp();
  assert.deepEqual(await shortRows(g.storage), [`1/1 Closed ${a}.3`, `2/1 Open ${a}.2`]);
  await registry.renew(me("b"), renewing());
  const b = (await registry.claim(me("b"), claiming())).find((held) => held.account === FOLLOWER.id)?.epoch ?? (0 as Epoch);
  assert.ok(b > a);
  await g.say([trade(a, 4, 3), adopted(b), trade(a, 5, 4), trade(a, 6, 2, CLOSED)]);
  await g.caughtUp();
  assert.deepEqual(await shortRows(g.storage), [`1/1 Closed ${a}.3`, `2/1 Closed ${a}.6`, `3/1 Open ${a}.4`]);
  assert.deepEqual([metrics.of("rows_fenced"), metrics.of("rows_rejected")], [1, 0]);
});

test("a writer that was frozen with an old batch and thaws when its successor has written much more changes nothing", async (t) => {
  const g = await ground(t, { epochs: 2 });
  await g.say([adopted(1), trade(1, 1, 1), trade(1, 2, 2)]);
  const frozen = holder();
  const ownLog = connection(t, await sharedKafka());
  const old = await g.start({ log: ownLog, wrap: frozen.wrap });
  await patiently("the old batch is in its hands", () => frozen.held() > 0);
  ownLog.kill(); // the group hears of it no more: its partition moves
  await g.start();
  await g.caughtUp();
  await g.say([trade(1, 3, 1, CLOSED), adopted(2), trade(2, 1, 2, { opening: 2 }), trade(2, 2, 3)]);
  await g.caughtUp();
  const expected = ["1/1 Closed 1.3", "2/1 Superseded 1.2", "2/2 Open 2.1", "3/1 Open 2.2"];
  assert.deepEqual(await shortRows(g.storage), expected);
  frozen.thaw();
  await patiently("its batch has met the rows", () => old.metrics.of("rows_fenced") === 2);
  assert.deepEqual([await shortRows(g.storage), old.metrics.of("rows_written"), old.metrics.of("rows_rejected"), old.writer.waiting], [expected, 0, 0, null]);
  assert.equal(await g.storage.pairs.projectedEpoch(FOLLOWER.id), 2, "its marker does not lower the fence");
});

test("a rebalance in the middle of a batch: the partition moves while it is written, and every row is there once", async (t) => {
  const g = await ground(t, { partitions: 2 });
  const brokers = await sharedKafka();
  const frozen = holder();
  await g.say(Array.from({ length: 50 }, (_, index) => trade(1, index + 1, index + 1)), 0);
  await g.say(Array.from({ length: 50 }, (_, index) => trade(1, index + 101, index + 101)), 1);
  const first = await g.start({ wrap: frozen.wrap, log: connection(t, brokers) });
  await patiently("it has batches of both partitions", () => frozen.held() >= 2);
  const second = await g.start({ log: connection(t, brokers) });
  await patiently("one of them has moved, and is written there", () => second.metrics.of("rows_written") >= 50);
  frozen.thaw();
  await g.say([trade(1, 201, 201)], 0);
  await g.say([trade(1, 202, 202)], 1);
  await g.caughtUp();
  const rows = (await g.storage.pairs.rowsOf(FOLLOWER.id)).map(({ pair }) => Number(pair.masterTicket));
  assert.deepEqual(rows, [...Array.from({ length: 50 }, (_, index) => index + 1), ...Array.from({ length: 50 }, (_, index) => index + 101), 201, 202]);
  assert.equal(first.metrics.of("rows_written") + second.metrics.of("rows_written"), 102);
  assert.deepEqual([first.metrics.of("rows_rejected"), second.metrics.of("rows_rejected")], [0, 0]);
});

test("two writers on one partition, each at its own pace, end as one does", async (t) => {
  const g = await ground(t, { epochs: 3 });
  const events = Array.from({ length: 300 }, (_, index): PairEvent => {
    const [epoch, number] = [1 + Math.floor(index / 100), 1 + (index % 17)];
    return index % 100 === 0 ? adopted(epoch) : trade(epoch, index, number, { opening: epoch, ...(index % 11 === 0 ? CLOSED : {}) });
  });
  const runs = [await g.start({ group: "one" }), await g.start({ group: "two" })];
  for (let from = 0; from < events.length; from += 7) await g.say(events.slice(from, from + 7));
  await g.caughtUp("one");
  await g.caughtUp("two");
  const both = await g.storage.pairs.rowsOf(FOLLOWER.id);
  const alone = await replayed(t, events);
  assert.deepEqual(both, alone.rows);
  assert.deepEqual([alone.rejected, ...runs.map(({ metrics }) => metrics.of("rows_rejected"))], [0, 0, 0]);
});

/** The same events by one writer, on tables of their own. */
async function replayed(t: Parameters<typeof ground>[0], events: readonly PairEvent[]): Promise<{ readonly rows: Awaited<ReturnType<Ground["storage"]["pairs"]["rowsOf"]>>; readonly rejected: number }> {
  const g = await ground(t, { epochs: 3 });
  await g.say(events);
  const { metrics } = await g.start();
  await g.caughtUp();
  return { rows: await g.storage.pairs.rowsOf(FOLLOWER.id), rejected: metrics.of("rows_rejected") };
}

test("partitions do not wait for one another: a follower whose row is locked holds up no follower of another partition", async (t) => {
  const others = Array.from({ length: 8 }, (_, index) => account(`other${index}`, "follower", 10 + index));
  const links = others.map(({ id }, index) => link(`link${index}`, MASTER.id, id, 8_000 + index));
  const g = await ground(t, { partitions: 4, accounts: [MASTER, FOLLOWER, ...others], links: [link("link", MASTER.id, FOLLOWER.id, 7_001), ...links] });
  const place = (follower: string): number => partitionOf(follower, 4);
  const far = others.find(({ id }) => place(id) !== place(FOLLOWER.id));
  const farLink = links.find(({ follower }) => follower === far?.id);
  assert.ok(far !== undefined && farLink !== undefined);
  const { writer } = await g.start({ statementTimeoutMs: 500 });
  await g.say([trade(1, 1, 1)], place(FOLLOWER.id));
  await g.caughtUp();
  const session = new pg.Client({ connectionString: g.url });
  session.on("error", () => undefined);
  await session.connect();
  t.after(() => session.end());
  await session.query("BEGIN");
  await session.query("SELECT 1 FROM pairs FOR UPDATE");
  await g.say([trade(1, 2, 1)], place(FOLLOWER.id));
  await patiently("its rows wait", () => (writer.waiting?.why ?? null) !== null);
  for (let n = 1; n <= 5; n++) {
    await g.say([trade(1, n, n, { link: farLink.id, follower: far.id })], place(far.id));
    await patiently("the other's row is in", async () => (await g.storage.pairs.rowsOf(far.id)).length === n);
  }
  assert.deepEqual(writer.waiting?.partitions, [place(FOLLOWER.id)]);
  await session.query("ROLLBACK");
  await g.caughtUp();
  assert.deepEqual(await shortRows(g.storage), ["1/1 Open 1.2"]);
});
