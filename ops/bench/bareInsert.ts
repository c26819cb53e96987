// Owns what the writer is compared with: the same rows into the same table by `pg` alone.

import pg from "pg";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { INCOMING } from "../../storage/writeRows.ts";
import { eventOf } from "./writerEvents.ts";

/** As the writer's own, without fence, versions and conflicts. */
const INSERT = {
  name: "bare insert",
  text: `
INSERT INTO pairs (cell, link_id, master_ticket, opening, epoch, n, master_id, follower_id, status, holds, symbol, digits, side, follower_ticket,
       initial_volume, volume, master_initial_volume, master_volume, open_price, stop_loss, take_profit, reason, detail, changed_at_ms)
SELECT $1, r.link, r."masterTicket", r.opening, r.epoch, r.n, r.master, r.follower, r.status, r.holds, r.symbol, r.digits, r.side, r."followerTicket",
       r."initialVolume", r.volume, r."masterInitialVolume", r."masterVolume", r."openPrice", r."stopLoss", r."takeProfit", r.reason, r.detail, r."changedAtMs"
  FROM jsonb_to_recordset($2::jsonb) AS r(${INCOMING})`,
};

/** How long it takes, in milliseconds. */
export async function bareInsert(url: string, cell: CellId, from: number, count: number, batchRows: number, clock: Clock): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined); // the query that it breaks says so
  await client.connect();
  try {
    const startedMs = clock.monotonicMs();
    for (let index = from; index < from + count; index += batchRows) {
      const rows = Array.from({ length: Math.min(batchRows, from + count - index) }, (_, offset) => {
        const { epoch, n, pair } = eventOf(index + offset, null);
        return { ...pair, epoch, n };
      });
      await client.query({ ...INSERT, values: [cell, JSON.stringify(rows)] });
    }
    return clock.monotonicMs() - startedMs;
  } finally {
    await client.end();
  }
}
