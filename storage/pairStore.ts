// Owns the rows of copied trades on Postgres.
//
// 1. A batch is one transaction: its markers and rows go in together or not at all.
// 2. The result is the same as writing the events one by one (layers.ts), and writing a batch again
//    changes nothing (writeRows.ts).
// 3. A rejected event is kept once, whatever bytes are in it.

import { createHash } from "node:crypto";
import type { CellId, Epoch } from "../protocol/ids.ts";
import type { Pair } from "../protocol/pairs.ts";
import type { PairRow, PairStore } from "../protocol/ports/storage.ts";
import type { Database, SqlRow } from "./database.ts";
import { layersOf } from "./layers.ts";
import { storableText } from "./storableText.ts";
import { WRITE_ROWS } from "./writeRows.ts";

const WRITE_MARKERS = `
  UPDATE trading_accounts a SET projected_epoch = GREATEST(a.projected_epoch, m.epoch)
    FROM (SELECT follower, max(epoch) AS epoch FROM jsonb_to_recordset($2::jsonb) AS r(follower text, epoch bigint) GROUP BY follower) m
   WHERE a.cell = $1 AND a.id = m.follower`;

const REJECT = `
  INSERT INTO rejected_rows (cell, digest, follower, event, code, text) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (cell, digest) DO NOTHING`;

const ROWS_OF = "SELECT * FROM pairs WHERE cell = $1 AND follower_id = $2 ORDER BY link_id, master_ticket, opening";

const PROJECTED_EPOCH = "SELECT projected_epoch FROM trading_accounts WHERE cell = $1 AND id = $2";

const COUNTS = `
  SELECT (SELECT count(*) FROM pairs WHERE cell = $1) AS pairs, (SELECT count(*) FROM rejected_rows WHERE cell = $1) AS rejected`;

export function postgresPairStore(database: Database, cell: CellId): PairStore {
  return {
    async write(events) {
      const rows = events.filter((event) => event.kind === "pair").length;
      const written = await database.transaction(async (connection) => {
        let count = 0;
        for (const layer of layersOf(events)) {
          if (layer.markers.length > 0) await connection.query(WRITE_MARKERS, [cell, JSON.stringify(layer.markers)]);
          if (layer.rows.length === 0) continue;
          const incoming = layer.rows.map(({ epoch, n, pair }) => ({ ...pair, epoch, n }));
          const [result] = await connection.query(WRITE_ROWS, [cell, JSON.stringify(incoming)]);
          count += result?.["written"] as number;
        }
        return count;
      });
      return { written, fenced: rows - written };
    },
    async reject(event, fault) {
      const text = JSON.stringify(event);
      const digest = createHash("sha256").update(text).digest("hex"); // (3)
      await database.query(REJECT, [cell, digest, storableText(event.follower), text, storableText(fault.code), storableText(fault.text)]);
    },
    async rowsOf(follower) {
      return (await database.query(ROWS_OF, [cell, follower])).map(pairRowOf);
    },
    async projectedEpoch(follower) {
      const [row] = await database.query(PROJECTED_EPOCH, [cell, follower]);
      return (row?.["projected_epoch"] ?? 0) as Epoch;
    },
    async counts() {
      const [row] = await database.query(COUNTS, [cell]);
      return { pairs: row?.["pairs"] as number, rejected: row?.["rejected"] as number };
    },
  };
}

export function pairRowOf(row: SqlRow): PairRow {
  const pair: Pair = {
    link: row["link_id"] as Pair["link"],
    masterTicket: row["master_ticket"] as Pair["masterTicket"],
    opening: row["opening"] as number,
    master: row["master_id"] as Pair["master"],
    follower: row["follower_id"] as Pair["follower"],
    status: row["status"] as Pair["status"],
    holds: row["holds"] as Pair["holds"],
    symbol: row["symbol"] as Pair["symbol"],
    digits: row["digits"] as number,
    side: row["side"] as Pair["side"],
    followerTicket: row["follower_ticket"] as Pair["followerTicket"],
    initialVolume: row["initial_volume"] as Pair["volume"],
    volume: row["volume"] as Pair["volume"],
    masterInitialVolume: row["master_initial_volume"] as Pair["volume"],
    masterVolume: row["master_volume"] as Pair["volume"],
    openPrice: row["open_price"] as Pair["openPrice"],
    stopLoss: row["stop_loss"] as Pair["stopLoss"],
    takeProfit: row["take_profit"] as Pair["takeProfit"],
    reason: row["reason"] as Pair["reason"],
    detail: row["detail"] as Pair["detail"],
    changedAtMs: row["changed_at_ms"] as Pair["changedAtMs"],
  };
  return { epoch: row["epoch"] as PairRow["epoch"], n: row["n"] as number, pair };
}
