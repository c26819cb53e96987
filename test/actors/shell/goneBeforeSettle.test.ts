// Owns the cases of a trade that its master ends while a former owner's order for it may still be executed, and of which
// no row tells: that it is gone is remembered, and nothing is concluded before it is settled.

import assert from "node:assert/strict";
import { LockstepError } from "../../../protocol/errors.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import type { PairStore } from "../../../protocol/ports/storage.ts";
import type { Node } from "../../sim/cell.ts";
import { lostPairs } from "../../sim/lostPairs.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const SETTLE_MS = 30_000;
const EXECUTED_AFTER_MS = 8_000;

const log = lostPairs();
const { wrapProducer } = log;

/** Nothing is written while the database is `down`: barriers wait. */
const database = { down: false };
const wrapPairs = (pairs: PairStore): PairStore => ({ ...pairs, write: (events) => (database.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : pairs.write(events)) });

const reasons = (node: Node, trade: Ticket): unknown[] => node.journal.of("pair").filter(({ masterTicket }) => masterTicket === trade).map(({ reason }) => reason);

/** The owner has died with the open of a trade under way, of which no row tells; the new one has planned, and then the master closes the trade. */
async function closedMeanwhile(scene: Scene, executeAfterMs: number | null): Promise<{ readonly node: Node; readonly trade: Ticket; readonly diedAtMs: number }> {
  await scene.rest();
  log.down = true;
  scene.session.faultOf = () => ({ kind: "unknown", executeAfterMs });
  const trade = scene.open(0.1).ticket;
  await scene.clock.until(() => scene.session.inFlight === 1);
  await scene.node.kill();
  log.down = false;
  const diedAtMs = scene.clock.monotonicMs();
  const node = await scene.join("node2");
  await scene.clock.until(() => node.journal.of("plan").length > 0, 10_000);
  scene.master.close(trade, "manual");
  await scene.clock.advance(1_000);
  assert.deepEqual(reasons(node, trade), [], "nothing is concluded");
  return { node, trade, diedAtMs };
}

scenario("a former owner's open that is executed after the master's close is found by its tag, and closed", { wrapProducer }, async (scene) => {
  const { node, trade } = await closedMeanwhile(scene, EXECUTED_AFTER_MS);
  await scene.clock.until(() => scene.follower.positions.size === 1, EXECUTED_AFTER_MS);
  await scene.clock.until(() => scene.follower.positions.size === 0, 5_000);
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "close"]);
  assert.ok(!reasons(node, trade).includes("gone_before_copy"));
  const row = await scene.row(trade);
  assert.deepEqual([row?.status, row?.reason, row?.opening], ["Closed", "master_closed", 1]);
});

scenario("so is one whose report is lost: by the look when all is settled", { wrapProducer, limits: { reconcileEveryMs: 200_000 } }, async (scene) => {
  const { node, trade } = await closedMeanwhile(scene, EXECUTED_AFTER_MS);
  node.session(scene.link.follower).mute = true;
  await scene.clock.until(() => scene.follower.positions.size === 1, EXECUTED_AFTER_MS);
  await scene.clock.until(() => scene.follower.positions.size === 0, SETTLE_MS);
  await scene.rest();
  assert.ok(!reasons(node, trade).includes("gone_before_copy"));
  assert.equal((await scene.row(trade))?.reason, "master_closed");
});

scenario("one that was stopped out before anybody looked is recorded with the broker's reason", { wrapProducer, limits: { reconcileEveryMs: 200_000 } }, async (scene) => {
  const { node, trade } = await closedMeanwhile(scene, EXECUTED_AFTER_MS);
  node.session(scene.link.follower).mute = true;
  await scene.clock.until(() => scene.follower.positions.size === 1, EXECUTED_AFTER_MS);
  for (const ticket of scene.follower.positions.keys()) scene.follower.close(ticket, "stop_out");
  await scene.clock.advance(SETTLE_MS);
  await scene.rest();
  assert.ok(!reasons(node, trade).includes("gone_before_copy"));
  assert.equal((await scene.row(trade))?.reason, "stop_out");
});

scenario("one that is never executed is a skip once it is settled, and not before", { wrapProducer }, async (scene) => {
  const { node, trade, diedAtMs } = await closedMeanwhile(scene, null);
  await scene.clock.until(() => reasons(node, trade).length > 0, SETTLE_MS + 2_000);
  assert.ok(scene.clock.monotonicMs() - diedAtMs >= SETTLE_MS);
  await scene.rest();
  const row = await scene.row(trade);
  assert.deepEqual([row?.status, row?.reason, scene.follower.asked.length], ["Skipped", "gone_before_copy", 0]);
});

scenario("while the barrier waits nothing is concluded either, although nothing has to settle; then the former owner's row tells which copy it was", { wrapPairs, seeds: 10 }, async (scene) => {
  database.down = false;
  await scene.rest();
  database.down = true;
  const trade = scene.open(0.1).ticket;
  await scene.clock.advance(2_000);
  const copy = scene.copyOf(trade) ?? assert.fail("it was not copied");
  await scene.node.stop();
  const position = scene.follower.positions.get(copy.ticket) ?? assert.fail("it does not stand");
  scene.follower.positions.set(copy.ticket, { ...position, comment: "", openPrice: 120_000 as never });
  const node = await scene.join("node2");
  await scene.clock.until(() => node.journal.of("plan").length > 0, 10_000);
  scene.master.close(trade, "manual");
  await scene.clock.advance(1_000);
  assert.deepEqual([reasons(node, trade), node.journal.of("barrier")], [[], []]);
  database.down = false;
  await scene.clock.until(() => scene.follower.positions.size === 0, 15_000);
  await scene.rest();
  assert.ok(!reasons(node, trade).includes("gone_before_copy"));
  assert.deepEqual([(await scene.row(trade))?.reason, scene.asked("close").map(({ order }) => order.ticket)], ["master_closed", [copy.ticket]]);
});

scenario("an owner that gives the account back before that says so with it, since nobody after it hears of the trade", { wrapProducer }, async (scene) => {
  const { node, trade } = await closedMeanwhile(scene, null);
  await scene.clock.until(() => node.journal.of("barrier").length > 0, SETTLE_MS / 2);
  await node.stop();
  const successor = await scene.join("node3");
  await scene.clock.until(() => successor.journal.of("barrier").length > 0, SETTLE_MS);
  await scene.rest();
  const row = await scene.row(trade);
  assert.deepEqual([row?.status, row?.reason, scene.follower.asked.length], ["Skipped", "gone_before_copy", 0]);
});

scenario("and what is executed after that is found by its tag all the same, and closed", { wrapProducer }, async (scene) => {
  const { node } = await closedMeanwhile(scene, EXECUTED_AFTER_MS);
  await scene.clock.until(() => node.journal.of("barrier").length > 0, EXECUTED_AFTER_MS);
  await node.stop();
  await scene.join("node3");
  await scene.clock.until(() => scene.follower.positions.size === 1, EXECUTED_AFTER_MS);
  await scene.clock.until(() => scene.follower.positions.size === 0, SETTLE_MS);
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "close"]);
});
