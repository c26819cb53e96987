// Owns the cases of how an account's new owner comes to trade it: marker, session, barrier, settle time, and what
// becomes of an account that nobody can open a session for.

import assert from "node:assert/strict";
import { decodeOwnerEvent } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import type { AccountId, Ticket } from "../../../protocol/ids.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import type { PairRow, PairStore, Registry } from "../../../protocol/ports/storage.ts";
import { points as at } from "../core/examples.ts";
import { MASTER, type Node } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const SETTLE_MS = 30_000;

/** The causes for which one node planned. */
const causes = (node: Node): unknown[] => node.journal.of("plan").map(({ cause }) => cause);

/** Rows are not written while the database is `down`. */
const database = { down: false };
const wrapPairs = (pairs: PairStore): PairStore => ({ ...pairs, write: (events) => (database.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : pairs.write(events)) });

/** What its comment, and its price, said of a copy is gone: only its row knows it now. */
function anonymous(scene: Scene, ticket: Ticket): void {
  const position = scene.follower.positions.get(ticket) ?? assert.fail("it does not stand");
  scene.follower.positions.set(ticket, { ...position, comment: "", openPrice: at(120_000) });
}

/** A copy of which the database has no row yet and its broker no mark; its owner has gone in order, so that nothing is unsettled. */
async function orphaned(scene: Scene): Promise<{ readonly trade: Ticket; readonly copy: Ticket }> {
  database.down = false;
  await scene.rest();
  database.down = true;
  const trade = scene.open(0.1).ticket;
  await scene.clock.advance(2_000);
  const copy = scene.copyOf(trade)?.ticket ?? assert.fail("it was not copied");
  await scene.node.stop();
  anonymous(scene, copy);
  return { trade, copy };
}

scenario("until the writers have what the former owner said, an order that nothing explains is not ended and its trade not opened again; then it is known", { wrapPairs, seeds: 10 }, async (scene) => {
  const { trade, copy } = await orphaned(scene);
  const node = await scene.join("node2");
  await scene.clock.until(() => node.journal.of("session_open").length === 2);
  await scene.clock.advance(4_000);
  assert.ok(causes(node).length > 0, "it has reconciled");
  database.down = false;
  await scene.clock.until(() => node.journal.of("barrier").length === 1, 10_000);
  await scene.rest();
  assert.ok(causes(node).includes("barrier"), "and again when the barrier had passed");
  assert.equal(scene.follower.positions.size, 1);
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open"]);
  scene.master.close(trade, "manual");
  await scene.rest();
  assert.equal(scene.follower.positions.size, 0);
  assert.deepEqual(scene.asked("close").map(({ order }) => order.ticket), [copy]);
});

scenario("closes of known pairs and new trades do not wait for the barrier", { wrapPairs, seeds: 10 }, async (scene) => {
  database.down = false;
  const known = scene.open(0.1);
  await scene.rest();
  database.down = true;
  await scene.node.stop();
  scene.master.close(known.ticket, "manual");
  const node = await scene.join("node2");
  await scene.clock.until(() => scene.copyOf(known.ticket) === null, 10_000);
  const trade = scene.open(0.2);
  await scene.clock.until(() => scene.copyOf(trade.ticket) !== null, 3_000);
  assert.deepEqual(node.journal.of("barrier"), [], "all of it before the barrier");
  database.down = false;
  await scene.rest();
});

scenario("a barrier that does not pass in time is said to be late, and the broker is the record", { wrapPairs, seeds: 10, doublesHappen: true }, async (scene) => {
  const { trade, copy } = await orphaned(scene);
  const node = await scene.join("node2");
  await scene.clock.until(() => node.journal.of("barrier_late").length === 1, 30_000);
  assert.equal(node.metrics.of("barriers_late"), 1);
  assert.equal(scene.asked("close").length, 0);
  await scene.clock.advance(5_000);
  assert.deepEqual(scene.asked("close").map(({ order }) => order.ticket), [copy]);
  assert.ok(scene.copyOf(trade) !== null, "and the trade was opened anew");
  database.down = false;
  await scene.clock.until(() => node.journal.of("barrier").length === 1, 60_000);
  await scene.rest();
  assert.equal(scene.follower.positions.size, 1);
});

{
  /** What was read last, while it is `kept`: rows that are behind. */
  const rows = { kept: false, last: new Map<AccountId, readonly PairRow[]>() };
  const behind = (pairs: PairStore): PairStore => ({
    ...wrapPairs(pairs),
    rowsOf: async (follower) => {
      const read = rows.kept ? rows.last.get(follower) : undefined;
      rows.last.set(follower, read ?? (await pairs.rowsOf(follower)));
      return rows.last.get(follower) ?? [];
    },
  });
  scenario("what this owner has said itself is not overwritten by rows that are behind", { wrapPairs: behind, seeds: 10 }, async (scene) => {
    database.down = false;
    const trade = scene.open(0.1);
    await scene.rest();
    await scene.node.stop();
    database.down = true;
    scene.master.close(trade.ticket, "manual");
    const node = await scene.join("node2");
    rows.kept = true;
    await scene.clock.until(() => scene.copyOf(trade.ticket) === null, 10_000);
    scene.follower.closed.length = 0; // only this owner knows that it closed it
    await scene.clock.advance(2_000);
    database.down = false;
    await scene.clock.until(() => node.journal.of("barrier").length === 1, 20_000);
    await scene.rest();
    assert.deepEqual([rows.last.get(scene.link.follower)?.[0]?.pair.status, node.metrics.of("copies_missing")], ["Open", 0]);
    rows.kept = false;
    assert.equal((await scene.row(trade.ticket))?.status, "Closed");
  });
}

scenario("after a clean stop nothing has to settle: what was opened meanwhile is copied at once", {}, async (scene) => {
  await scene.rest();
  await scene.node.stop();
  const trade = scene.open(0.1);
  const node = await scene.join("node2");
  await scene.clock.until(() => scene.copyOf(trade.ticket) !== null, 10_000);
  assert.deepEqual(node.journal.of("settled"), []);
});

scenario("after a death what the dead one may have sent settles first; then it is reconciled again, and said", {}, async (scene) => {
  await scene.rest();
  await scene.node.kill();
  const diedAtMs = scene.clock.monotonicMs();
  const trade = scene.open(0.1);
  const node = await scene.join("node2");
  await scene.clock.until(() => scene.copyOf(trade.ticket) !== null, 60_000);
  assert.ok(scene.clock.monotonicMs() - diedAtMs >= SETTLE_MS);
  assert.equal(node.journal.of("settled").length, 1);
  assert.ok(causes(node).includes("settle"));
});

scenario("a lift changes nothing about what the former owner may have sent", {}, async (scene) => {
  await scene.rest();
  await scene.node.kill();
  const diedAtMs = scene.clock.monotonicMs();
  const trade = scene.open(0.1);
  const node = await scene.join("node2");
  await scene.clock.until(() => causes(node).length > 0, 10_000);
  node.clock.wallOffsetMs += 120_000;
  const permit = { slot: 0, epoch: node.follower(scene.link.follower).epoch };
  assert.notEqual(node.gate.check(permit), "open");
  await scene.clock.until(() => scene.copyOf(trade.ticket) !== null, 60_000);
  assert.ok(node.follower(scene.link.follower).epoch > permit.epoch);
  assert.ok(scene.clock.monotonicMs() - diedAtMs >= SETTLE_MS);
});

scenario("a tick that the former owner may have obeyed is not traded as news", { wrapPairs, seeds: 10 }, async (scene) => {
  database.down = true; // nor does a row tell of it
  scene.session.faultOf = () => ({ kind: "unknown", executeAfterMs: 8_000 });
  scene.open(0.1);
  await scene.clock.until(() => scene.session.inFlight === 1);
  await scene.node.kill();
  const node = await scene.join("node2");
  await scene.clock.until(() => causes(node).length > 0, 10_000);
  await scene.clock.advance(1_000);
  // Its own reader was behind: what it read is the very tick on which the former owner sent the copy.
  const position = [...scene.master.positions.values()][0] ?? assert.fail("the master holds nothing");
  const handed = node.session(scene.link.follower).handed.length;
  node.supervisor.onTick(
    {
      master: MASTER, epoch: 1e6 as never, seq: 1 as never, occurredAtMs: position.openTimeMs, brokerNowMs: position.openTimeMs, callbackAtMs: scene.clock.wallMs() as never,
      body: { kind: "opened", position: { ...position, masterTicket: position.ticket, initialVolume: position.volume } },
    },
    scene.clock.monotonicMs(),
  );
  await scene.clock.advance(3_000);
  assert.equal(node.session(scene.link.follower).handed.length, handed);
  database.down = false;
  await scene.clock.advance(60_000);
  assert.equal(scene.asked("open").length, 1);
});

{
  const log = { down: false };
  const wrapProducer = (producer: Producer): Producer => ({
    append(record: OutgoingRecord, onSettled): AppendResult {
      const isMarker = record.topic.endsWith("pair-events") && record.value !== null && decodeOwnerEvent(record.value).kind === "adopted";
      if (!log.down || !isMarker) return producer.append(record, onSettled);
      onSettled?.(new LockstepError("unreachable", "lost on the way"));
      return "accepted";
    },
    flush: () => producer.flush(),
    close: () => producer.close(),
  });
  scenario("while the log does not acknowledge the marker the session is not opened; an account is kept meanwhile, if the log is to blame", { wrapProducer, seeds: 5 }, async (scene) => {
    log.down = false;
    await scene.rest();
    await scene.node.stop();
    log.down = true;
    const logins = scene.follower.logins;
    const node = await scene.join("node2");
    node.logOk = false;
    await scene.clock.advance(300_000);
    assert.deepEqual([scene.follower.logins - logins, node.givenUp], [0, []]);
    assert.equal(node.supervisor.states().find(({ account }) => account === scene.link.follower)?.actor, "connecting");
    log.down = false;
    await scene.clock.until(() => node.settled, 10_000);
  });

  scenario("a marker that is not acknowledged although the log is there is a reason to leave the account to others", { wrapProducer, seeds: 2 }, async (scene) => {
    log.down = false;
    await scene.rest();
    await scene.node.stop();
    log.down = true;
    const node = await scene.join("node2");
    await scene.clock.until(() => node.givenUp.length > 0, 70_000);
    assert.deepEqual(node.givenUp, [scene.link.follower]);
    log.down = false;
  });
}

{
  const rows = { down: false };
  const unreadable = (pairs: PairStore): PairStore => ({ ...pairs, rowsOf: (follower) => (rows.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : pairs.rowsOf(follower)) });
  scenario("a lift while the actor is still being made: it is made at the new epoch", { wrapPairs: unreadable, seeds: 5 }, async (scene) => {
    rows.down = false;
    await scene.rest();
    await scene.node.stop();
    rows.down = true;
    const trade = scene.open(0.1);
    const node = await scene.join("node2");
    const epochs = () => node.supervisor.states().map(({ epoch }) => epoch);
    const before = epochs();
    node.clock.wallOffsetMs += 120_000;
    node.gate.check({ slot: 0, epoch: 1 as never });
    await scene.clock.until(() => node.gate.lifted && epochs().every((epoch, index) => epoch > (before[index] ?? 0)), 60_000);
    assert.equal(node.supervisor.followers.length, 0);
    rows.down = false;
    await scene.clock.until(() => scene.copyOf(trade.ticket) !== null, 30_000);
    assert.equal(node.follower(scene.link.follower).epoch, node.keeper.accounts.find(({ account }) => account === scene.link.follower)?.epoch);
  });
}

scenario("an account that no node can open a session for goes round, ever more slowly, and disturbs nobody", { followers: [{}, {}], givesUp: true, seeds: 3 }, async (scene) => {
  const [, other] = scene.outside.followers;
  await scene.rest();
  await scene.join("node2");
  await scene.clock.advance(10_000);
  scene.follower.isDown = true;
  const up = (): Node => scene.nodes.find((node) => node.sessions.get(scene.link.follower)?.connected === true) ?? assert.fail("nobody has a session");
  up().session(scene.link.follower).disconnect();
  const given = (): number => scene.nodes.reduce((sum, { givenUp }) => sum + givenUp.length, 0);
  await scene.clock.until(() => given() >= 3, 900_000);
  assert.ok(scene.nodes.every(({ givenUp }) => givenUp.every((account) => account === scene.link.follower)), "no other account moves");
  assert.ok(scene.nodes.every(({ givenUp }) => givenUp.length > 0), "each has tried");
  const trade = scene.open(0.1);
  await scene.clock.until(() => other?.standing(`mc${trade.ticket}`).length === 1, 2_000);
  const before = given();
  await scene.clock.advance(600_000);
  assert.ok(given() - before <= 10, `${given() - before} moves in ten minutes`);
  scene.follower.isDown = false;
  await scene.clock.until(() => scene.nodes.some((node) => node.sessions.get(scene.link.follower)?.connected === true), 300_000);
});

{
  const cut = { off: false };
  const wrapRegistry = (registry: Registry): Registry => ({ ...registry, renew: (me, terms) => (cut.off ? Promise.reject(new LockstepError("database_busy", "cut off")) : registry.renew(me, terms)) });
  scenario("a node that is fenced gives nothing away for want of a session, nor does one whose turn to log in has not come", { wrapRegistry, seeds: 2 }, async (scene) => {
    cut.off = false;
    await scene.rest();
    cut.off = true;
    await scene.clock.until(() => !scene.node.gate.lifted);
    scene.follower.isDown = true;
    scene.session.disconnect();
    await scene.clock.advance(300_000);
    assert.deepEqual(scene.node.givenUp, []);
    scene.session.waitsForTurn = true;
    cut.off = false;
    await scene.clock.advance(300_000);
    assert.deepEqual([scene.node.gate.lifted, scene.node.givenUp], [true, []]);
    scene.session.waitsForTurn = false;
    await scene.clock.until(() => scene.node.givenUp.length > 0, 61_000);
    scene.follower.isDown = false;
  });
}

scenario("an account that is let go with calls under way and others queued: those are answered, these are dropped, and the next owner copies the rest", { limits: { parallelism: 2 }, seeds: 10 }, async (scene) => {
  await scene.rest();
  for (let index = 0; index < 6; index++) scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length === 2);
  const { session } = scene;
  const stopping = scene.node.stop();
  await stopping;
  assert.equal(session.handed.length, 2, "nothing of what waited was sent");
  assert.equal(scene.follower.positions.size, 2);
  const node = await scene.join("node2");
  await scene.clock.until(() => scene.follower.positions.size === 6, 20_000);
  assert.deepEqual(node.journal.of("settled"), [], "every order was answered: nothing had to settle");
});

scenario("an order whose outcome is not known when its account goes is waited for by the next owner", { seeds: 10 }, async (scene) => {
  await scene.rest();
  scene.session.faultOf = () => ({ kind: "unknown", executeAfterMs: 15_000 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.session.inFlight === 1);
  await scene.node.stop();
  const unknownAtMs = scene.clock.monotonicMs();
  const node = await scene.join("node2");
  await scene.clock.until(() => node.journal.of("settled").length === 1, 60_000);
  assert.ok(scene.clock.monotonicMs() - unknownAtMs >= SETTLE_MS - 3_000);
  await scene.rest();
  assert.equal(scene.asked("open").length, 1, "it was executed meanwhile, and is not sent again");
  assert.ok(scene.copyOf(trade.ticket) !== null);
});
