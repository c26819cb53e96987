// Owns the cases of MetaTrader 4 copies that were part-closed just before their owner died, so that neither a tag nor a row
// tells whose they are: what they have kept does.

import assert from "node:assert/strict";
import type { Ticket } from "../../../protocol/ids.ts";
import { lots } from "../../sim/cell.ts";
import { lostPairs } from "../../sim/lostPairs.ts";
import { scenario } from "../../sim/scenario.ts";

const log = lostPairs();
const { wrapProducer } = log;

for (const masterPlatform of ["mt4", "mt5"] as const) {
  scenario(`copies of ${masterPlatform} trades that are alike, and were part-closed before any row was written, are each its own trade's`, { wrapProducer, masterPlatform, seeds: 10 }, async (scene) => {
    await scene.rest();
    log.down = true;
    const trades: Ticket[] = [];
    for (let n = 0; n < 3; n++) {
      trades.push(scene.open(1).ticket);
      await scene.clock.advance(10_000);
    }
    const rests = trades.map((trade) => scene.master.close(trade, "manual", lots(0.4))?.ticket ?? assert.fail("it was closed"));
    await scene.clock.until(() => trades.every((trade) => scene.copyOf(trade)?.volume === lots(0.6)));
    await scene.clock.advance(500);
    await scene.node.kill();
    log.down = false;
    const node = await scene.join("node2");
    await scene.clock.until(() => node.journal.of("settled").length > 0, 60_000);
    await scene.rest();
    assert.deepEqual(scene.follower.asked.map(({ order }) => order.kind), ["open", "open", "open", "close", "close", "close"]);
    for (const trade of trades) {
      const row = await scene.row(trade);
      assert.deepEqual([row?.status, row?.followerTicket, row?.initialVolume, row?.volume], ["Open", scene.copyOf(trade)?.ticket, lots(1), lots(0.6)]);
    }
    scene.master.close(rests[1] ?? assert.fail(), "manual");
    await scene.rest();
    assert.deepEqual(trades.map((trade) => scene.copyOf(trade) === null), [false, true, false]);
  });
}
