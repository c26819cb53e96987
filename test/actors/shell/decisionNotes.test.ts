// Owns the cases of what a follower tells of its decisions: each tick with what it rested on, each plan with
// what it did, and never before the order was handed over.

import assert from "node:assert/strict";
import { points as at } from "../core/examples.ts";
import { EURUSD, lots } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const ticks = (scene: Scene) => scene.node.journal.of("tick");

scenario("a tick is told with what was decided and what that rested on, after its order was handed over", { seeds: 5 }, async (scene) => {
  await scene.rest();
  const trade = scene.open(0.1);
  await scene.clock.until(() => ticks(scene).length === 1);
  const notes = scene.node.journal.notes.filter(({ subject }) => subject?.account === scene.link.follower);
  assert.deepEqual(notes.slice(-3).map(({ event }) => event), ["pair", "order", "tick"]);
  assert.equal(scene.session.handed.length, 1);
  const [told] = ticks(scene);
  assert.deepEqual(
    [told?.["link"], told?.["masterTicket"], told?.["kind"], told?.["decision"], told?.["reason"], told?.["volume"], told?.["pair"], told?.["bid"], told?.["ask"]],
    [scene.link.id, trade.ticket, "opened", "open", null, lots(0.1), null, 110_000, scene.follower.quotes.get(EURUSD)?.ask],
  );
  assert.equal(notes.at(-1)?.subject?.epoch, scene.node.follower(scene.link.follower).epoch);
  await scene.rest();
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assert.deepEqual([ticks(scene).at(-1)?.["decision"], ticks(scene).at(-1)?.["pair"]], ["close", "Open"]);
});

scenario("a skip is told with its reason, and what has to wait with why", { seeds: 5 }, async (scene) => {
  await scene.rest();
  scene.follower.setQuote(EURUSD, 110_200);
  scene.open(0.1);
  await scene.rest();
  assert.deepEqual([ticks(scene).at(-1)?.["decision"], ticks(scene).at(-1)?.["reason"]], ["looks again", "price_moved"]);
  assert.deepEqual(scene.node.journal.of("pair").at(-1)?.["reason"], "price_moved");
  scene.follower.setQuote(EURUSD, 110_000);
  scene.session.reports = "before";
  const second = scene.open(0.1);
  await scene.clock.until(() => scene.session.inFlight === 1);
  scene.master.modify(second.ticket, at(109_000), null);
  await scene.clock.until(() => ticks(scene).at(-1)?.["kind"] === "modified");
  assert.deepEqual([ticks(scene).at(-1)?.["decision"], ticks(scene).at(-1)?.["reason"]], ["waits", "an order is under way"]);
});

scenario("a plan is told with its cause, what it knew and what it does; a routine one that finds nothing is not", { seeds: 3 }, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  scene.session.disconnect();
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  const plan = scene.node.journal.of("plan").find(({ closes }) => closes === 1);
  assert.deepEqual([plan?.["link"], plan?.["pairs"], plan?.["opens"], plan?.["barrier"], plan?.["settleLeftMs"]], [scene.link.id, 1, 0, "open", 0]);
  const told = scene.node.journal.of("plan").length;
  const runs = scene.node.metrics.of("reconcile_runs");
  await scene.clock.advance(600_000);
  assert.ok(scene.node.metrics.of("reconcile_runs") > runs);
  assert.equal(scene.node.journal.of("plan").length, told);
  assert.equal(scene.node.journal.of("session_lost").length, 1);
});
