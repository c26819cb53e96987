// Owns the cases in which an order goes wrong: refused, dropped, not delivered, or of unknown outcome.

import assert from "node:assert/strict";
import { PUBLISHED } from "../../../actors/core/leaseProfile.ts";
import type { Order } from "../../../protocol/orders.ts";
import { points as at } from "../core/examples.ts";
import { EURUSD, lots } from "../../sim/cell.ts";
import type { Fault } from "../../sim/modelSession.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const SETTLE_MS = 30_000;

/** The first `times` orders of that kind meet the fault. */
function faulty(scene: Scene, kind: Order["kind"], fault: Fault, times = 1): void {
  let left = times;
  scene.session.faultOf = (order) => (order.kind === kind && left-- > 0 ? fault : null);
}

const handed = (scene: Scene, kind: Order["kind"]): number => scene.session.handed.filter(({ order }) => order.kind === kind).length;

scenario("a requote is asked again with a fresh price, and copied", {}, async (scene) => {
  faulty(scene, "open", { kind: "refuse", refusal: "fresh_price", code: 138 }, 2);
  const trade = scene.open(0.1);
  await scene.rest();
  assert.ok(scene.copyOf(trade.ticket) !== null);
  assert.equal(handed(scene, "open"), 3);
});

scenario("requotes without end are given up after five, with the broker's code as the reason", {}, async (scene) => {
  faulty(scene, "open", { kind: "refuse", refusal: "fresh_price", code: 138 }, 100);
  const trade = scene.open(0.1);
  await scene.rest();
  scene.master.modify(trade.ticket, at(100_000), null);
  await scene.rest();
  assert.equal(handed(scene, "open"), 5);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.status, row?.reason, row?.detail["code"]], ["Skipped", "refused", 138]);
});

scenario("a price that ran away between two tries is a skip, not a worse copy", {}, async (scene) => {
  faulty(scene, "open", { kind: "refuse", refusal: "fresh_price", code: 138 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length === 1);
  scene.follower.setQuote(EURUSD, 110_051);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.reason, row?.detail["againstPoints"], row?.detail["slippagePoints"]], ["price_moved", 51, 50]);
});

scenario("stops that are refused at the open are set by a modify afterwards, also after a requote", {}, async (scene) => {
  const faults: Fault[] = [{ kind: "refuse", refusal: "fresh_price" }, { kind: "refuse", refusal: "adjust", code: 130 }];
  scene.session.faultOf = (order) => (order.kind === "open" ? (faults.shift() ?? null) : null);
  const trade = scene.open(0.1, { stopLoss: at(109_000) });
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "modify"]);
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 109_000);
});

scenario("a close refused because the market is closed is asked again until it is open", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  faulty(scene, "close", { kind: "refuse", refusal: "market_closed", code: 132 }, 9);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.until(() => scene.copyOf(trade.ticket) === null, 600_000);
  await scene.rest();
  assert.equal(handed(scene, "close"), 10);
  assert.equal((await scene.row(trade.ticket))?.reason, "master_closed");
});

scenario("a market closed for two days is asked about now and then, not all the time", { seeds: 3 }, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  faulty(scene, "close", { kind: "refuse", refusal: "market_closed", code: 132 }, 1e9);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(3_600_000);
  const before = { closes: handed(scene, "close"), looks: scene.node.metrics.of("reconcile_runs") };
  await scene.clock.advance(3_600_000);
  assert.ok(handed(scene, "close") - before.closes <= 3_600 / 15, `${handed(scene, "close") - before.closes} closes in an hour`);
  assert.ok(scene.node.metrics.of("reconcile_runs") - before.looks <= 3_600 / 40, `${scene.node.metrics.of("reconcile_runs") - before.looks} looks in an hour`);
  scene.session.faultOf = () => null;
  await scene.clock.until(() => scene.copyOf(trade.ticket) === null, 60_000);
});

scenario("levels that are refused for good are not asked again; other levels are, and then those again", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  faulty(scene, "modify", { kind: "refuse", refusal: "final", code: 10_016 });
  scene.master.modify(trade.ticket, at(109_000), null);
  await scene.clock.advance(200_000);
  assert.equal(handed(scene, "modify"), 1);
  scene.master.modify(trade.ticket, at(108_000), null);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 108_000);
  scene.master.modify(trade.ticket, at(109_000), null);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 109_000);
});

scenario("an order executed without an answer is found by its tag and adopted, not sent again", {}, async (scene) => {
  scene.session.mute = true;
  faulty(scene, "open", { kind: "unknown", executeAfterMs: 5 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.metrics.of("orders_unknown") === 1);
  await scene.rest();
  assert.equal(scene.asked("open").length, 1);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.status, row?.followerTicket], ["Open", scene.copyOf(trade.ticket)?.ticket]);
});

scenario("an order executed late is adopted when the broker reports it, within the settle time", {}, async (scene) => {
  faulty(scene, "open", { kind: "unknown", executeAfterMs: 20_000 });
  const trade = scene.open(0.1);
  await scene.clock.advance(SETTLE_MS + 20_000);
  await scene.rest();
  assert.equal(scene.asked("open").length, 1);
  assert.equal((await scene.row(trade.ticket))?.status, "Open");
});

scenario("an order of unknown outcome that was never executed is sent again only after the settle time", {}, async (scene) => {
  faulty(scene, "open", { kind: "unknown", executeAfterMs: null });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.metrics.of("orders_unknown") === 1);
  const unknownAtMs = scene.clock.monotonicMs();
  // Whatever the master does meanwhile.
  scene.master.modify(trade.ticket, at(100_000), null);
  await scene.clock.until(() => handed(scene, "open") === 2);
  assert.ok(scene.clock.monotonicMs() - unknownAtMs >= SETTLE_MS);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 100_000);
});

scenario("after the settle time a price that moved against us is a late skip", {}, async (scene) => {
  faulty(scene, "open", { kind: "unknown", executeAfterMs: null });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.metrics.of("orders_unknown") === 1);
  scene.follower.setQuote(EURUSD, 110_200);
  await scene.clock.advance(SETTLE_MS);
  await scene.rest();
  assert.equal(handed(scene, "open"), 1);
  assert.equal((await scene.row(trade.ticket))?.reason, "late_open_price_moved");
});

scenario("an order of unknown outcome whose master closes is closed when it turns up, even after it was given up", {}, async (scene) => {
  faulty(scene, "open", { kind: "unknown", executeAfterMs: 50_000 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.metrics.of("orders_unknown") === 1);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(SETTLE_MS + 5_000);
  assert.equal((await scene.row(trade.ticket))?.reason, "gone_before_copy");
  await scene.clock.advance(30_000);
  await scene.rest();
  assert.equal(scene.asked("open").length, 1);
  assert.equal(scene.copyOf(trade.ticket), null);
});

scenario("an order executed after it was sent again leaves one copy: the other is closed", { doublesHappen: true }, async (scene) => {
  faulty(scene, "open", { kind: "unknown", executeAfterMs: 50_000 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => handed(scene, "open") === 2);
  await scene.clock.advance(30_000);
  await scene.rest();
  assert.equal(scene.follower.standing(`mc${trade.ticket}`).length, 1);
  assert.equal((await scene.row(trade.ticket))?.followerTicket, scene.copyOf(trade.ticket)?.ticket);
});

for (const executeAfterMs of [5, 10_000, null]) {
  for (const platform of ["mt4", "mt5"] as const) {
    const when = executeAfterMs === null ? "never executed" : `executed after ${executeAfterMs} ms`;
    scenario(`a part-close of unknown outcome, ${when} on ${platform}, closes its share once`, { followers: [{ platform }], seeds: 12 }, async (scene) => {
      scene.session.mute = scene.seed % 2 === 0;
      const trade = scene.open(1);
      await scene.rest();
      faulty(scene, "close", { kind: "unknown", executeAfterMs });
      scene.master.close(trade.ticket, "manual", lots(0.4));
      await scene.clock.advance(SETTLE_MS + 10_000);
      await scene.rest();
      assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.6));
      assert.equal(scene.asked("close").length, 1);
      assert.equal((await scene.row(trade.ticket))?.volume, lots(0.6));
    });
  }
}

scenario("what a part-close left on MetaTrader 4 is found in a snapshot when its report was lost", {}, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  scene.session.mute = true;
  scene.master.close(trade.ticket, "manual", lots(0.4));
  await scene.clock.until(() => scene.asked("close").length === 1);
  await scene.clock.advance(3_000);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.volume, row?.followerTicket], [lots(0.6), scene.copyOf(trade.ticket)?.ticket]);
});

scenario("a close whose answer and report are lost is not taken for somebody's hand", {}, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  scene.session.mute = scene.seed % 2 === 0;
  faulty(scene, "close", { kind: "unknown", executeAfterMs: scene.seed % 3 === 0 ? 4_000 : 5 });
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(10_000);
  await scene.rest();
  assert.equal((await scene.row(trade.ticket))?.reason, "master_closed");
});

scenario("an open dropped at the gate is not sent later, except by a plan that says late", {}, async (scene) => {
  faulty(scene, "open", { kind: "drop", cause: "gate" });
  scene.session.failSnapshots = 1_000;
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.metrics.of("orders_dropped") === 1);
  // No plan can be made: neither ticks nor time send it.
  scene.master.modify(trade.ticket, at(100_000), null);
  await scene.clock.advance(20_000);
  assert.equal(handed(scene, "open"), 1);
  scene.follower.setQuote(EURUSD, 110_200);
  scene.session.failSnapshots = 0;
  await scene.rest();
  assert.equal(handed(scene, "open"), 1);
  assert.equal((await scene.row(trade.ticket))?.reason, "late_open_price_moved");
});

scenario("orders dropped for a full queue are neither lost nor sent again and again", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  scene.session.faultOf = () => ({ kind: "drop", cause: "queue_full" });
  const second = scene.open(0.1);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(10_000);
  assert.ok(scene.session.handed.length < 60, `${scene.session.handed.length} orders in ten seconds`);
  scene.session.faultOf = () => null;
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.ok(scene.copyOf(second.ticket) !== null);
});

scenario("an order that was not delivered is sent again through reconcile", {}, async (scene) => {
  faulty(scene, "open", { kind: "not_delivered" });
  const trade = scene.open(0.1);
  await scene.rest();
  assert.ok(scene.copyOf(trade.ticket) !== null);
  assert.equal(handed(scene, "open"), 2);
});

scenario("while the gate is closed nothing is handed over, and the lift reconciles", { lease: PUBLISHED }, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  scene.node.gate.trip();
  const closedAtHanded = scene.session.handed.length;
  const runs = scene.node.metrics.of("reconcile_runs");
  scene.master.close(trade.ticket, "manual");
  const second = scene.open(0.1);
  await scene.clock.advance(5_000);
  assert.equal(scene.session.handed.length, closedAtHanded);
  assert.equal(scene.node.metrics.of("reconcile_runs"), runs, "a fenced node asks nothing");
  // The next renewal lifts it.
  await scene.clock.until(() => scene.node.gate.lifted);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.ok(scene.copyOf(second.ticket) !== null);
});

scenario("a close of something the broker does not know ends in a look, not in asking for ever", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  // Closed by hand while no report reaches us.
  scene.session.mute = true;
  scene.follower.close(scene.copyOf(trade.ticket)?.ticket ?? trade.ticket, "manual");
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(5_000);
  assert.ok(handed(scene, "close") <= 4, `${handed(scene, "close")} closes`);
  assert.equal((await scene.row(trade.ticket))?.status, "Closed");
});

scenario("a report that is overtaken by a later answer undoes nothing: no part is closed twice", { masterPlatform: "mt5", followers: [{ platform: "mt5" }] }, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  scene.session.reports = "after"; // reports take longer than two whole orders
  scene.masterSession.reports = "before";
  for (const count of [1, 2]) {
    scene.master.close(trade.ticket, "manual", lots(0.25));
    await scene.clock.until(() => scene.asked("close").length === count);
    await scene.clock.advance(1);
  }
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.5));
  assert.equal(scene.asked("close").length, 2);
});

scenario("a snapshot from just before an order was carried out does not speak against its answer", {}, async (scene) => {
  const first = scene.open(0.1);
  await scene.rest();
  scene.session.reports = "after"; // the snapshot is under way longer than the orders
  scene.masterSession.reports = "before";
  scene.node.follower(scene.link.follower).tellSystem({ kind: "lift" });
  scene.master.close(first.ticket, "manual");
  const second = scene.open(0.2);
  await scene.rest();
  assert.equal(scene.node.metrics.of("copies_missing"), 0);
  assert.deepEqual(scene.session.handed.map(({ order }) => order.kind), ["open", "close", "open"]);
  assert.deepEqual([(await scene.row(first.ticket))?.status, (await scene.row(second.ticket))?.status], ["Closed", "Open"]);
});

scenario("a hand on the stops says nothing about a part-close of unknown outcome", { followers: [{ platform: "mt5" }] }, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  faulty(scene, "close", { kind: "unknown", executeAfterMs: 10_000 });
  scene.master.close(trade.ticket, "manual", lots(0.4));
  await scene.clock.until(() => scene.node.metrics.of("orders_unknown") === 1);
  scene.follower.modify(scene.copyOf(trade.ticket)?.ticket ?? trade.ticket, at(100_000), null);
  await scene.clock.advance(SETTLE_MS);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.6));
  assert.equal(scene.asked("close").length, 1);
});
