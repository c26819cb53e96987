// Owns the cases in which something around the orders fails: sessions, ticks, the log, the process.

import assert from "node:assert/strict";
import { decode, encode, TICK } from "../../../protocol/codec.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { topicName } from "../../../protocol/topics.ts";
import { points as at, tick, ticket } from "../core/examples.ts";
import { CELL, EURUSD, lots, MASTER } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

/** Every trade of the master has its one copy, alike in volume and stops. */
function assertCopied(scene: Scene): void {
  for (const trade of scene.master.positions.values()) {
    const copy = scene.copyOf(trade.ticket);
    assert.ok(copy !== null, `no copy of ${trade.ticket}`);
    assert.deepEqual([copy.volume, copy.stopLoss, copy.takeProfit], [trade.volume, trade.stopLoss, trade.takeProfit]);
  }
  assert.equal(scene.follower.positions.size, scene.master.positions.size);
}

scenario("a session lost in a burst is reconciled without a double and without a miss", { masterPlatform: "mt5", seeds: 30 }, async (scene) => {
  for (let index = 0; index < 10; index++) scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length >= 1 + Math.floor(scene.clock.random.next() * 9));
  await scene.clock.advance(scene.clock.random.next() * 30);
  scene.session.disconnect();
  await scene.clock.advance(40_000);
  await scene.rest();
  assertCopied(scene);
});

scenario("right after a reconnect an account that is still loading proves nothing", {}, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  scene.session.unsyncedSnapshots = 4;
  scene.session.disconnect();
  const second = scene.open(0.1);
  await scene.clock.until(() => scene.session.unsyncedSnapshots === 0, 20_000);
  assert.equal(scene.asked("open").length, 1);
  await scene.rest();
  assertCopied(scene);
  assert.ok(scene.copyOf(second.ticket) !== null);
});

scenario("what the master did while the follower was away is made good: part-closed, modified, closed, opened", { masterPlatform: "mt5" }, async (scene) => {
  const [part, modified, closed] = [scene.open(1), scene.open(0.2), scene.open(0.3)];
  await scene.rest();
  scene.session.disconnect();
  scene.master.close(part.ticket, "manual", lots(0.5));
  scene.master.modify(modified.ticket, at(109_000), at(111_000));
  scene.master.close(closed.ticket, "manual");
  scene.open(0.4);
  await scene.clock.advance(3_000);
  await scene.rest();
  assertCopied(scene);
});

scenario("a mailbox that takes nothing makes a gap of every tick: books and reconcile still copy all", { limits: { mailboxCapacity: 0 }, masterPlatform: "mt5" }, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  assert.ok(scene.node.metrics.of("mailbox_full") > 0);
  assertCopied(scene);
  scene.master.close(trade.ticket, "manual", lots(0.5));
  scene.open(0.2);
  await scene.rest();
  assertCopied(scene);
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assertCopied(scene);
});

/** A producer that loses what `loses` says: accepted, and then settled with an error. */
const losing = (producer: Producer, loses: (record: OutgoingRecord) => boolean): Producer => ({
  append(record, onSettled): AppendResult {
    if (!loses(record)) return producer.append(record, onSettled);
    onSettled?.(new LockstepError("unreachable", "lost on the way"));
    return "accepted";
  },
  flush: () => producer.flush(),
  close: () => producer.close(),
});

{
  const lost = { ticks: 0, books: 0 };
  const loses = ({ topic, value }: OutgoingRecord): boolean => {
    if (topic.endsWith("master-books")) return lost.books-- > 0;
    return topic.endsWith("master-ticks") && value !== null && decode(TICK, value).body.kind !== "alive" && lost.ticks-- > 0;
  };
  scenario("a tick and its book that the log lost are made good, though the master does nothing more", { wrapProducer: (producer) => losing(producer, loses) }, async (scene) => {
    Object.assign(lost, { ticks: 0, books: 0 });
    scene.open(0.1);
    await scene.rest();
    Object.assign(lost, { ticks: 1, books: 2 });
    scene.open(0.2);
    await scene.clock.advance(15_000);
    await scene.rest();
    assert.ok(scene.node.metrics.of("ticks_gap") > 0);
    assertCopied(scene);
  });
}

{
  const log = { down: false };
  scenario("a log that takes no events does not stop the trading, and gets them later", { wrapProducer: (producer) => losing(producer, ({ topic }) => log.down && topic.endsWith("pair-events")) }, async (scene) => {
    log.down = true;
    const trade = scene.open(0.1);
    const second = scene.open(0.2);
    await scene.rest();
    scene.master.close(second.ticket, "manual");
    await scene.rest();
    assertCopied(scene);
    assert.equal(await scene.row(trade.ticket), null);
    log.down = false;
    await scene.rest();
    assert.deepEqual([(await scene.row(trade.ticket))?.status, (await scene.row(second.ticket))?.status], ["Open", "Closed"]);
  });
}

{
  const database = { down: false };
  const options = {
    wrapPairs: (pairs: Scene["outside"]["storage"]["pairs"]) => ({
      ...pairs,
      write: (events: Parameters<typeof pairs.write>[0]) => (database.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : pairs.write(events)),
    }),
  };
  scenario("a database that is down does not stop the trading, and gets the rows later", options, async (scene) => {
    database.down = true;
    const trade = scene.open(0.1);
    await scene.clock.advance(20_000);
    assertCopied(scene);
    assert.equal(await scene.row(trade.ticket), null);
    database.down = false;
    await scene.clock.advance(40_000);
    assert.equal((await scene.row(trade.ticket))?.status, "Open");
  });
}

scenario("a process that dies between order and row: the next one adopts the copy by its tag", { seeds: 40 }, async (scene) => {
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length === 1);
  await scene.clock.advance(scene.clock.random.next() * 40);
  await scene.node.kill();
  await scene.boot();
  await scene.clock.advance(40_000);
  await scene.rest();
  assertCopied(scene);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.status, row?.followerTicket], ["Open", scene.copyOf(trade.ticket)?.ticket]);
});

scenario("a copy that completed while no process ran is recorded, not opened again", {}, async (scene) => {
  const [stopped, cancelled] = [scene.open(0.1), scene.open(0.2)];
  await scene.rest();
  await scene.node.kill();
  scene.follower.close(scene.copyOf(stopped.ticket)?.ticket ?? stopped.ticket, "stop_out");
  scene.master.close(cancelled.ticket, "manual");
  await scene.boot();
  await scene.clock.advance(10_000); // the dead writer's partitions are handed over
  await scene.rest();
  assert.equal(scene.asked("open").length, 2);
  assert.deepEqual([(await scene.row(stopped.ticket))?.reason, (await scene.row(cancelled.ticket))?.reason], ["stop_out", "master_closed"]);
});

scenario("a master's trade found late is opened while the price allows it, else skipped with the numbers", {}, async (scene) => {
  await scene.node.kill();
  const trade = scene.open(0.1);
  const moved = scene.clock.random.next() < 0.5;
  scene.follower.setQuote(EURUSD, moved ? 110_060 : 110_050);
  await scene.boot();
  await scene.clock.advance(45_000);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket) === null, moved);
  if (moved) assert.equal((await scene.row(trade.ticket))?.reason, "late_open_price_moved");
});

scenario("a master's trade older than the age limit is not opened late", {}, async (scene) => {
  await scene.node.kill();
  const trade = scene.open(0.1);
  await scene.clock.advance(90_000);
  await scene.boot();
  await scene.clock.advance(45_000);
  await scene.rest();
  assert.equal(scene.follower.asked.length, 0);
  assert.equal((await scene.row(trade.ticket))?.reason, "too_old");
});

scenario("a master that reconnects keeps its trades' identities, also of chains begun before the history it is shown", { masterPlatform: "mt4" }, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  const rest = scene.master.close(trade.ticket, "manual", lots(0.4));
  await scene.rest();
  scene.master.closed.length = 0; // history that is not shown any more
  scene.masterSession.unsyncedSnapshots = scene.seed % 3;
  scene.masterSession.disconnect();
  await scene.clock.advance(5_000);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.6));
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "close"]);
  scene.master.close(rest?.ticket ?? trade.ticket, "manual");
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
});

scenario("a master account that is still loading is not taken for an empty one", { seeds: 30 }, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  // A tick just before, so that a book is due while the master loads.
  scene.open(0.2);
  await scene.clock.advance(100);
  scene.masterSession.unsyncedSnapshots = 5;
  scene.masterSession.failSnapshots = 2;
  scene.masterSession.disconnect();
  await scene.clock.advance(1_500);
  const during = scene.open(0.3);
  await scene.clock.advance(10_000);
  await scene.rest();
  assertCopied(scene);
  assert.equal(scene.asked("close").length, 0);
  assert.ok(scene.copyOf(during.ticket) !== null);
});

scenario("ticks of a node that lost the master are a zombie's: they change nothing", {}, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  const producer = scene.node.log.producer({ maxBuffered: 10, delivery: "critical" });
  const body = { kind: "closed", masterTicket: ticket(1_001), reason: "manual", closePrice: at(1), digits: 5 } as const;
  producer.append({ topic: topicName(CELL, "master-ticks"), partition: 0, key: MASTER, value: encode(TICK, tick(0, 99, body)) });
  await scene.rest();
  assertCopied(scene);
  assert.equal(scene.node.metrics.of("ticks_stale"), 1);
});
