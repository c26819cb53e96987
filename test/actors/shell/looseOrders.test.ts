// Owns the cases of an order that belongs to no row: a gate that closes while it is found, a call that fails by itself.

import assert from "node:assert/strict";
import { EURUSD, lots } from "../../sim/cell.ts";
import { scenario } from "../../sim/scenario.ts";

const A_JUMP_MS = 120_000;
const LONG_MS = 600_000;

scenario("what belongs to no trade is not ended by a node that cannot prove its lease: it is dropped before it is handed over, and ended after the lift", { seeds: 5 }, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  const ended = (): number => scene.node.journal.of("order").filter(({ loose }) => loose === true).length;
  const { session } = scene;
  const snapshot = session.snapshot.bind(session);
  session.snapshot = async (historyFromMs) => {
    session.snapshot = snapshot;
    const shown = await snapshot(historyFromMs);
    scene.node.clock.wallOffsetMs += A_JUMP_MS;
    return shown;
  };
  const nobodys = scene.follower.open({ symbol: EURUSD, side: "sell", volume: lots(0.3), magic: scene.link.magic });
  await scene.clock.until(() => !scene.node.gate.lifted, LONG_MS);
  assert.equal(ended(), 0);
  assert.ok(scene.node.journal.of("dropped").some(({ loose, why }) => loose === true && why === "gate: clock"));
  await scene.clock.until(() => scene.node.gate.lifted, LONG_MS);
  await scene.clock.until(() => !scene.follower.positions.has(nobodys.ticket), LONG_MS);
  assert.ok(ended() > 0);
});

scenario("the end of an order that belongs to no trade is tried again when its call fails by itself", { seeds: 5 }, async (scene) => {
  await scene.rest();
  const { session } = scene;
  const execute = session.execute.bind(session);
  session.execute = () => {
    session.execute = execute;
    return Promise.reject(new Error("a fault of the session's own"));
  };
  const nobodys = scene.follower.open({ symbol: EURUSD, side: "sell", volume: lots(0.3), magic: scene.link.magic });
  await scene.clock.until(() => !scene.follower.positions.has(nobodys.ticket), LONG_MS);
  await scene.rest();
  assert.deepEqual(scene.node.journal.of("answer").map(({ kind }) => kind), ["unknown", "done"]);
});
