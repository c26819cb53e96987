// Owns the cases of an order of ours that is executed when its trade was decided already: the broker's report is
// followed by a look, and the plan says what becomes of it. No drift check comes to help here.

import assert from "node:assert/strict";
import type { Ticket } from "../../../protocol/ids.ts";
import { isLive } from "../../../protocol/pairs.ts";
import { points as at } from "../core/examples.ts";
import { EURUSD, lots } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const limits = { reconcileEveryMs: 1e9 };
const SOON_MS = 5_000;
const AWAY = 120_000;

/** The follower's tickets of the rows that are live. */
async function live(scene: Scene): Promise<(Ticket | null)[]> {
  const rows = await scene.outside.storage.pairs.rowsOf(scene.link.follower);
  return rows.filter(({ pair }) => isLive(pair.status)).map(({ pair }) => pair.followerTicket);
}

scenario("a copy that is executed after its trade was skipped is adopted at once, and closed with its master's", { limits }, async (scene) => {
  await scene.rest();
  scene.follower.setQuote(EURUSD, AWAY);
  const trade = scene.open(0.1);
  await scene.rest();
  assert.equal((await scene.row(trade.ticket))?.status, "Skipped");
  const copy = scene.follower.open({ symbol: EURUSD, side: "buy", volume: lots(0.1), magic: scene.link.magic, comment: `mc${trade.ticket}` });
  await scene.clock.advance(SOON_MS);
  assert.deepEqual(await live(scene), [copy.ticket]);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(SOON_MS);
  assert.equal(scene.follower.positions.size, 0);
});

scenario("a pending order that is placed after its trade was skipped is adopted at once, and filled it is the trade's copy", { limits, masterPlatform: "mt5" }, async (scene) => {
  await scene.rest();
  scene.follower.setQuote(EURUSD, AWAY);
  const trade = scene.open(0.1);
  await scene.rest();
  const pending = scene.follower.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(0.1), price: at(110_000), magic: scene.link.magic, comment: `mc${trade.ticket}` });
  await scene.clock.advance(SOON_MS);
  assert.deepEqual(await live(scene), [pending.ticket]);
  scene.follower.fill(pending.ticket);
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(SOON_MS);
  assert.equal(scene.follower.positions.size, 0);
});

scenario("a pending order under our tag of which nothing is known is cancelled at once when its master's is gone", { limits }, async (scene) => {
  await scene.rest();
  const placed = scene.follower.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(0.1), price: at(100_000), magic: scene.link.magic, comment: "mc4711" });
  await scene.clock.advance(SOON_MS);
  assert.deepEqual([scene.follower.pendings.size, scene.asked("cancel").map(({ order }) => order.ticket)], [0, [placed.ticket]]);
});

scenario("a pending order that was not told of and fills is closed at once when its master's is gone", { limits }, async (scene) => {
  await scene.rest();
  scene.session.mute = true;
  const placed = scene.follower.place({ symbol: EURUSD, kind: "buy_limit", volume: lots(0.1), price: at(100_000), magic: scene.link.magic, comment: "mc4711" });
  scene.session.mute = false;
  scene.follower.fill(placed.ticket);
  await scene.clock.advance(SOON_MS);
  assert.equal(scene.follower.positions.size, 0);
});
