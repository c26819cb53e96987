// Owns the cases in which everything goes well: what the master does, the follower's broker does too.

import assert from "node:assert/strict";
import { tagComment } from "../../../protocol/tags.ts";
import type { Magic } from "../../../protocol/ids.ts";
import { points as at } from "../core/examples.ts";
import { EURUSD, lots } from "../../sim/cell.ts";
import { scenario } from "../../sim/scenario.ts";

scenario("an open is copied under the link's magic and the tag of the master ticket", {}, async (scene) => {
  const trade = scene.open(0.3, { stopLoss: at(109_000), takeProfit: at(112_000) });
  await scene.clock.until(() => scene.copyOf(trade.ticket) !== null);
  const copy = scene.copyOf(trade.ticket);
  assert.ok(copy !== null && "side" in copy);
  assert.deepEqual(
    { side: copy.side, volume: copy.volume, stopLoss: copy.stopLoss, takeProfit: copy.takeProfit, magic: copy.magic, comment: copy.comment },
    { side: "buy", volume: lots(0.3), stopLoss: 109_000, takeProfit: 112_000, magic: scene.link.magic, comment: tagComment(trade.ticket) },
  );
  await scene.rest();
  assert.equal(scene.follower.asked.length, 1);
  const row = await scene.row(trade.ticket);
  assert.equal(row?.status, "Open");
  assert.equal(row.followerTicket, copy.ticket);
  assert.equal(scene.node.metrics.ownTimes.length, 1);
});

scenario("a close while the open is in flight closes the copy as soon as it stands", {}, async (scene) => {
  const trade = scene.open();
  await scene.clock.until(() => scene.session.handed.length === 1);
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "close"]);
  assert.equal(scene.copyOf(trade.ticket), null);
  const row = await scene.row(trade.ticket);
  assert.equal(row?.status, "Closed");
  assert.equal(row.reason, "master_closed");
});

for (const platform of ["mt4", "mt5"] as const) {
  for (const masterPlatform of ["mt4", "mt5"] as const) {
    for (const reports of ["before", "after", "any"] as const) {
      scenario(`part-closes of a ${masterPlatform} master are copied in shares, on ${platform}, reports ${reports} answers`, { masterPlatform, followers: [{ platform }], seeds: 8 }, async (scene) => {
        scene.session.reports = reports;
        const trade = scene.open(1);
        await scene.rest();
        const looks = scene.node.metrics.of("reconcile_runs");
        const second = scene.master.close(trade.ticket, "manual", lots(0.25));
        await scene.rest();
        assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.75));
        const third = scene.master.close(second?.ticket ?? trade.ticket, "manual", lots(0.25));
        await scene.rest();
        assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.5));
        assert.equal((await scene.row(trade.ticket))?.volume, lots(0.5));
        scene.master.close(third?.ticket ?? trade.ticket, "take_profit");
        await scene.rest();
        assert.equal(scene.copyOf(trade.ticket), null);
        const row = await scene.row(trade.ticket);
        assert.deepEqual([row?.status, row?.volume, row?.reason], ["Closed", 0, "master_closed"]);
        if (reports === "before") assert.equal(scene.node.metrics.of("reconcile_runs"), looks, "reports alone tell where the rest is");
        assert.deepEqual(scene.asked("close").map(({ order }) => order.volume), [lots(0.25), lots(0.25), lots(0.5)]);
      });
    }
  }
}

scenario("a part-close while the open is in flight is carried out on the copy", {}, async (scene) => {
  const trade = scene.open(1);
  await scene.clock.until(() => scene.session.handed.length === 1);
  scene.master.close(trade.ticket, "manual", lots(0.4));
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.volume, lots(0.6));
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "close"]);
});

scenario("two quick modifies become the last", {}, async (scene) => {
  const trade = scene.open();
  await scene.rest();
  scene.session.reports = "before"; // the answers take longer than the next ticks
  scene.master.modify(trade.ticket, at(109_000), null);
  await scene.clock.until(() => scene.session.handed.length === 2);
  for (const level of [109_100, 109_200, 109_300]) scene.master.modify(trade.ticket, at(level), at(112_000));
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 109_300);
  assert.equal(scene.copyOf(trade.ticket)?.takeProfit, 112_000);
  assert.deepEqual(scene.asked("modify").map(({ order }) => order.stopLoss), [109_000, 109_300]);
});

scenario("a copy closed by hand is final: nothing that the master does opens it again", {}, async (scene) => {
  const trade = scene.open(1);
  await scene.rest();
  scene.follower.close(scene.copyOf(trade.ticket)?.ticket ?? trade.ticket, "manual");
  await scene.rest();
  scene.master.modify(trade.ticket, at(109_000), null);
  await scene.rest();
  scene.master.close(trade.ticket, "manual", lots(0.5));
  scene.session.disconnect();
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.equal(scene.follower.asked.length, 1);
  const row = await scene.row(trade.ticket);
  assert.deepEqual([row?.status, row?.reason], ["Closed", "manual"]);
});

scenario("a stop hit at the follower ends the copy while the master's trade lives on", {}, async (scene) => {
  const trade = scene.open(1, { stopLoss: at(109_000) });
  await scene.rest();
  scene.follower.close(scene.copyOf(trade.ticket)?.ticket ?? trade.ticket, "stop_loss");
  scene.master.modify(trade.ticket, at(108_000), null);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.equal(scene.asked("open").length, 1);
  assert.equal((await scene.row(trade.ticket))?.reason, "stop_loss");
});

scenario("at most `parallelism` orders are under way, the rest follows in order of arrival", { limits: { parallelism: 3 } }, async (scene) => {
  const trades = Array.from({ length: 12 }, () => scene.open(0.1));
  await scene.rest();
  assert.equal(scene.session.maxInFlight, 3);
  assert.deepEqual(scene.session.handed.map(({ order }) => order.kind === "open" && order.comment), trades.map(({ ticket }) => tagComment(ticket)));
  for (const { ticket } of trades) assert.equal(scene.copyOf(ticket)?.volume, lots(0.1));
});

scenario("a queued open whose master closes before its turn is never sent, and says why", { limits: { parallelism: 1 } }, async (scene) => {
  scene.session.reports = "before"; // the answers take longer than the next ticks
  scene.open(0.1);
  const second = scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length === 1);
  scene.master.close(second.ticket, "manual");
  await scene.rest();
  assert.equal(scene.asked("open").length, 1);
  assert.equal((await scene.row(second.ticket))?.reason, "gone_before_copy");
});

scenario("a pending order is placed, changed, and becomes a position on both sides", {}, async (scene) => {
  const pending = scene.master.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(0.2), price: at(109_500), stopLoss: at(109_000) });
  await scene.rest();
  const placed = scene.copyOf(pending.ticket);
  assert.ok(placed !== null && "kind" in placed);
  assert.deepEqual([placed.kind, placed.price, placed.stopLoss, placed.volume], ["buy_limit", 109_500, 109_000, lots(0.2)]);
  scene.master.change(pending.ticket, at(109_400), at(108_900), null);
  await scene.rest();
  assert.equal((await scene.row(pending.ticket))?.openPrice, 109_400);
  // Each fills by its own broker's quotes, in either order.
  const [first, second] = scene.clock.random.next() < 0.5 ? [scene.master, scene.follower] : [scene.follower, scene.master];
  const ticketAt = { master: pending.ticket, follower: placed.ticket };
  first.fill(first === scene.master ? ticketAt.master : ticketAt.follower);
  await scene.rest();
  second.fill(second === scene.master ? ticketAt.master : ticketAt.follower);
  await scene.rest();
  scene.master.modify(pending.ticket, at(108_000), at(113_000));
  await scene.rest();
  const filled = scene.copyOf(pending.ticket);
  assert.ok(filled !== null && "side" in filled);
  assert.deepEqual([filled.stopLoss, filled.takeProfit], [108_000, 113_000]);
  scene.master.close(pending.ticket, "manual");
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["place", "change", "modify", "close"]);
  assert.equal((await scene.row(pending.ticket))?.status, "Closed");
});

scenario("a cancelled pending order is cancelled, also when only the master's was filled and closed", {}, async (scene) => {
  const cancelled = scene.master.place({ symbol: EURUSD, kind: "sell_stop", volume: lots(0.2), price: at(109_500) });
  const filled = scene.master.place({ symbol: EURUSD, kind: "sell_stop", volume: lots(0.2), price: at(109_600) });
  await scene.rest();
  scene.master.remove(cancelled.ticket, "expired");
  scene.master.fill(filled.ticket);
  await scene.rest();
  assert.equal(scene.copyOf(cancelled.ticket), null);
  assert.ok(scene.copyOf(filled.ticket) !== null, "our own pending waits for its own broker's quotes");
  scene.master.close(filled.ticket, "manual");
  await scene.rest();
  assert.equal(scene.copyOf(filled.ticket), null);
  assert.equal((await scene.row(cancelled.ticket))?.reason, "master_cancelled");
  assert.equal((await scene.row(filled.ticket))?.reason, "master_cancelled");
});

scenario("with pending orders off, one is copied at market when it fills, and skipped when it is cancelled", { followers: [{ settings: { copyPendings: false } }] }, async (scene) => {
  const filled = scene.master.place({ symbol: EURUSD, kind: "buy_stop", volume: lots(0.2), price: at(110_000) });
  const cancelled = scene.master.place({ symbol: EURUSD, kind: "buy_stop", volume: lots(0.2), price: at(110_100) });
  await scene.rest();
  assert.equal(scene.follower.asked.length, 0);
  scene.master.fill(filled.ticket);
  scene.master.remove(cancelled.ticket, "cancelled");
  await scene.rest();
  assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open"]);
  assert.equal((await scene.row(filled.ticket))?.status, "Open");
  assert.equal((await scene.row(cancelled.ticket))?.reason, "pendings_off");
});

scenario("a master's trade that carries a tag is a copy itself and is left alone", {}, async (scene) => {
  const loop = scene.open(0.1, { magic: 55 as Magic, comment: "mc4711" });
  await scene.rest();
  scene.master.close(loop.ticket, "manual");
  await scene.rest();
  assert.equal(scene.follower.asked.length, 0);
  assert.equal((await scene.row(loop.ticket))?.reason, "own_tag");
});

scenario("a position that claims to be the rest of an unknown one opens and closes nothing", {}, async (scene) => {
  const stranger = scene.open(0.5, { comment: "from #77777" });
  await scene.rest();
  scene.master.modify(stranger.ticket, at(100_000), null);
  scene.master.close(stranger.ticket, "manual", lots(0.2));
  await scene.rest();
  assert.equal(scene.follower.asked.length, 0);
  assert.deepEqual(await scene.outside.storage.pairs.rowsOf(scene.link.follower), []);
});

scenario("two followers with other multipliers get their own volumes", { followers: [{ settings: { sizing: { mode: "multiplier", factorMillionths: 500_000 } } }, { platform: "mt5", settings: { sizing: { mode: "fixed", volume: lots(0.07) } } }] }, async (scene) => {
  const trade = scene.open(0.3);
  await scene.rest();
  const volumes = scene.outside.followers.map((broker) => broker.standing(tagComment(trade.ticket)).map(({ volume }) => volume));
  assert.deepEqual(volumes, [[lots(0.15)], [lots(0.07)]]);
});

scenario("a quote that is read just after the tick it came ahead of is no price that ran away", {}, async (scene) => {
  const { session } = scene;
  const quote = session.quote.bind(session);
  let looks = 0;
  session.quote = (symbol) => {
    const now = quote(symbol);
    return now === null || ++looks > 1 ? now : { ...now, bid: at(110_200), ask: at(110_200) };
  };
  const trade = scene.open(0.1);
  await scene.rest();
  assert.ok(looks > 1);
  assert.ok(scene.copyOf(trade.ticket) !== null);
});
