// Owns the cases of an order whose call fails by itself, which no session should do: its outcome is unknown.

import assert from "node:assert/strict";
import type { Order } from "../../../protocol/orders.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

/** The next order of that kind ends by a throw: before it came anywhere, or after it was executed. */
function throwing(scene: Scene, kind: Order["kind"], when: "before" | "after"): void {
  const { session } = scene;
  const execute = session.execute.bind(session);
  session.execute = async (order, permit) => {
    if (order.kind !== kind) return execute(order, permit);
    session.execute = execute;
    if (when === "after") await execute(order, permit);
    throw new Error("a fault of the session's own");
  };
}

for (const when of ["before", "after"] as const) {
  scenario(`an open whose call fails by itself ${when} it was executed is of unknown outcome: it is looked for, and there is one copy`, { seeds: 5 }, async (scene) => {
    await scene.rest();
    throwing(scene, "open", when);
    const trade = scene.open(0.1);
    await scene.rest();
    assert.ok(scene.copyOf(trade.ticket) !== null);
    assert.deepEqual([scene.asked("open").length, scene.node.metrics.of("orders_unknown")], [1, 1]);
  });
}

scenario("a close whose call fails by itself is closed all the same", { seeds: 5 }, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  throwing(scene, "close", "before");
  scene.master.close(trade.ticket, "manual");
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
});
