// Owns the cases in which a person asks for a copy's close: what is sent, what is answered, and what the row says.

import assert from "node:assert/strict";
import type { CloseOutcome } from "../../../actors/shell/manualClose.ts";
import type { Magic, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import { tagComment } from "../../../protocol/tags.ts";
import type { PendingOrder, Position } from "../../../protocol/trades.ts";
import type { Points } from "../../../protocol/units.ts";
import { points as at } from "../core/examples.ts";
import { elapsed, EURUSD, lots } from "../../sim/cell.ts";
import type { Fault } from "../../sim/modelSession.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const close = (scene: Scene, ticket: Ticket): Promise<CloseOutcome> => scene.node.follower(scene.link.follower).manual.ask(ticket);
const handed = (scene: Scene, kind: Order["kind"]): number => scene.session.handed.filter(({ order }) => order.kind === kind).length;

function faulty(scene: Scene, kind: Order["kind"], fault: Fault): void {
  let left = 1;
  scene.session.faultOf = (order) => (order.kind === kind && left-- > 0 ? fault : null);
}

/** A master's trade and its copy. */
async function copied(scene: Scene, volume = 0.2): Promise<{ readonly trade: Position; readonly copy: Position | PendingOrder }> {
  const trade = scene.open(volume);
  await scene.rest();
  const copy = scene.copyOf(trade.ticket);
  assert.ok(copy !== null);
  return { trade, copy };
}

async function rowOf(scene: Scene, trade: Position): Promise<readonly unknown[]> {
  const row = await scene.row(trade.ticket);
  return [row?.status, row?.reason];
}

scenario("a copy is closed, its row says on whose word, and nothing that the master does opens it again", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  const outcome = await elapsed(scene.clock, close(scene, copy.ticket));
  assert.deepEqual([outcome.kind, "volume" in outcome && outcome.volume], ["done", lots(0.2)]);
  scene.master.modify(trade.ticket, at(109_000), null);
  scene.master.close(trade.ticket, "manual", lots(0.1));
  await scene.rest();
  scene.session.disconnect();
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.deepEqual([scene.asked("open").length, scene.asked("close").length], [1, 1]);
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "closed_on_request"]);
  assert.deepEqual(scene.node.journal.of("asked").map(({ ticket, outcome: came }) => [ticket, came]), [[copy.ticket, "done"]]);
});

scenario("whoever asks while it is under way is told the same, and whoever asks afterwards that it is closed: one order", {}, async (scene) => {
  const { copy } = await copied(scene);
  const both = await elapsed(scene.clock, Promise.all([close(scene, copy.ticket), close(scene, copy.ticket)]));
  assert.deepEqual(both.map(({ kind }) => kind), ["done", "done"]);
  const later = await elapsed(scene.clock, close(scene, copy.ticket));
  assert.deepEqual(later, { kind: "already_closed", reason: "closed_on_request", rest: null });
  assert.equal(handed(scene, "close"), 1);
});

scenario("an order of unknown outcome that was carried out later is the person's all the same", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  scene.session.mute = scene.seed % 2 === 0;
  faulty(scene, "close", { kind: "unknown", executeAfterMs: 8_000 });
  assert.equal((await elapsed(scene.clock, close(scene, copy.ticket))).kind, "unknown");
  await scene.clock.advance(70_000);
  await scene.rest();
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "closed_on_request"]);
  assert.equal(handed(scene, "close"), 1);
});

scenario("a refusal is told and not repeated; the master's end is the master's again", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  const fault = { kind: "refuse", refusal: scene.seed % 2 === 0 ? "market_closed" : "final", code: 132 } as const;
  faulty(scene, "close", fault);
  assert.deepEqual(await elapsed(scene.clock, close(scene, copy.ticket)), { kind: "refused", refusal: fault.refusal, code: 132, text: "by script" });
  await scene.clock.advance(120_000);
  await scene.rest();
  assert.equal(handed(scene, "close"), 1);
  assert.deepEqual(await rowOf(scene, trade), ["Open", null]);
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "master_closed"]);
});

scenario("one of unknown outcome that never was carried out does not take the master's end for the person's", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  faulty(scene, "close", { kind: "unknown", executeAfterMs: null });
  assert.equal((await elapsed(scene.clock, close(scene, copy.ticket))).kind, "unknown");
  await scene.rest();
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "master_closed"]);
});

scenario("behind a closed gate nothing is sent, and nothing is kept for the lift", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  const atOnce = scene.seed % 2 === 0;
  if (atOnce) scene.node.gate.trip();
  else faulty(scene, "close", { kind: "drop", cause: "gate" });
  assert.deepEqual(await elapsed(scene.clock, close(scene, copy.ticket)), { kind: "fenced" });
  await scene.clock.advance(70_000);
  await scene.rest();
  assert.equal(handed(scene, "close"), atOnce ? 0 : 1);
  assert.deepEqual([scene.asked("close").length, ...(await rowOf(scene, trade))], [0, "Open", null]);
});

scenario("what never reached the broker is told so, and not sent again", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  const fault = scene.seed % 2 === 0 ? ({ kind: "not_delivered" } as const) : ({ kind: "drop", cause: "queue_full" } as const);
  faulty(scene, "close", fault);
  assert.deepEqual(await elapsed(scene.clock, close(scene, copy.ticket)), { kind: "not_sent", why: "by script" });
  await scene.clock.advance(70_000);
  await scene.rest();
  assert.deepEqual([handed(scene, "close"), ...(await rowOf(scene, trade))], [1, "Open", null]);
});

scenario("it waits for the order under way, and is sent when that has ended", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  faulty(scene, "modify", { kind: "unknown", executeAfterMs: 100 });
  scene.master.modify(trade.ticket, at(109_000), null);
  await scene.clock.until(() => handed(scene, "modify") === 1);
  const outcome = close(scene, copy.ticket);
  await scene.clock.advance(500);
  assert.equal(handed(scene, "close"), 0);
  assert.equal((await elapsed(scene.clock, outcome)).kind, "done");
  await scene.rest();
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "closed_on_request"]);
});

scenario("it is not sent, now or later, when others have the follower's only lane for longer than it waits", { limits: { parallelism: 1 } }, async (scene) => {
  const { copy } = await copied(scene);
  // Two seconds each, one after the other.
  scene.session.faultOf = () => ({ kind: "unknown", executeAfterMs: null });
  for (let index = 0; index < 3; index++) scene.open(0.1);
  await scene.clock.until(() => handed(scene, "open") === 2);
  const outcome = await elapsed(scene.clock, close(scene, copy.ticket));
  assert.deepEqual(outcome, { kind: "busy", why: "another order of it is under way or unsettled" });
  await scene.clock.advance(60_000);
  assert.equal(handed(scene, "close"), 0);
});

scenario("nor while a part-close of it is unsettled", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  faulty(scene, "close", { kind: "unknown", executeAfterMs: null });
  scene.master.close(trade.ticket, "manual", lots(0.1));
  await scene.clock.advance(3_000);
  assert.equal(handed(scene, "close"), 1);
  assert.equal((await elapsed(scene.clock, close(scene, copy.ticket))).kind, "busy");
  assert.equal(handed(scene, "close"), 1);
});

scenario("only copies are closed: not what is another's, nor a pending order, nor what does not exist", {}, async (scene) => {
  const foreign = scene.follower.open({ symbol: EURUSD, side: "buy", volume: lots(0.1), magic: 1 as Magic, comment: "by hand" });
  const pending = scene.master.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(0.1), price: 100_000 as Points });
  await scene.rest();
  const copy = scene.copyOf(pending.ticket);
  assert.ok(copy !== null);
  const asked = async (ticket: Ticket): Promise<CloseOutcome> => elapsed(scene.clock, close(scene, ticket));
  assert.deepEqual(await asked(foreign.ticket), { kind: "no_such_copy", why: "no copy of ours has this ticket" });
  assert.deepEqual(await asked(copy.ticket), { kind: "no_such_copy", why: "it is a pending order: only positions are closed" });
  assert.deepEqual(await asked(4_711 as Ticket), { kind: "no_such_copy", why: "no copy of ours has this ticket" });
  assert.equal(handed(scene, "close"), 0);
  assert.ok(scene.follower.positions.has(foreign.ticket));
});

scenario("what the broker shows under a link's magic is closed before anybody has bound it to a trade", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  scene.session.mute = true; // nothing tells of it
  const extra = scene.follower.open({ symbol: EURUSD, side: "buy", volume: lots(0.1), magic: scene.link.magic, comment: tagComment(77 as Ticket) });
  assert.equal((await elapsed(scene.clock, close(scene, extra.ticket))).kind, "done");
  await scene.rest();
  assert.equal(scene.follower.positions.has(extra.ticket), false);
  assert.ok(scene.copyOf(trade.ticket) !== null);
  assert.deepEqual(await elapsed(scene.clock, close(scene, extra.ticket)), { kind: "already_closed", reason: "manual", rest: null });
});

scenario("without a session nothing is sent", {}, async (scene) => {
  const { trade, copy } = await copied(scene);
  scene.session.disconnect();
  assert.deepEqual(await elapsed(scene.clock, close(scene, copy.ticket)), { kind: "not_sent", why: "there is no session with the broker" });
  await scene.rest();
  assert.deepEqual([handed(scene, "close"), ...(await rowOf(scene, trade))], [0, "Open", null]);
});

scenario("whoever asks is answered also when the account leaves meanwhile", {}, async (scene) => {
  const { copy } = await copied(scene);
  faulty(scene, "close", { kind: "unknown", executeAfterMs: null });
  const outcome = close(scene, copy.ticket);
  await scene.clock.until(() => handed(scene, "close") === 1);
  await scene.clock.advance(10);
  const actor = scene.node.follower(scene.link.follower);
  await elapsed(scene.clock, actor.stop(false));
  assert.equal((await outcome).kind, "unknown");
  assert.equal((await actor.manual.ask(copy.ticket)).kind, "not_sent");
});

scenario("a successor that finds it closed in the history knows on whose word", { seeds: 10 }, async (scene) => {
  const { trade, copy } = await copied(scene);
  faulty(scene, "close", { kind: "unknown", executeAfterMs: 1_000 });
  void close(scene, copy.ticket);
  await scene.clock.until(() => handed(scene, "close") === 1);
  await scene.clock.advance(500);
  await scene.node.kill();
  await scene.clock.advance(5_000);
  await scene.boot();
  await scene.rest();
  assert.deepEqual(await rowOf(scene, trade), ["Closed", "closed_on_request"]);
});
