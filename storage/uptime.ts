// Owns the record of the nodes' minutes on Postgres.
//
// 1. The worst that was said of a minute is kept, in whatever order it comes.
// 2. Of a cell's minutes those of the last 90 days are kept, also of nodes that are gone; each write takes
//    some of the older ones away, and waits for nobody who does the same.

import type { CellId } from "../protocol/ids.ts";
import { UPTIME_OK, type Uptime } from "../protocol/ports/storage.ts";
import type { Database } from "./database.ts";

export const KEPT_DAYS = 90;

const RECORD = `
  WITH said AS (
    SELECT DISTINCT ON (minute) minute, state
      FROM (SELECT date_trunc('minute', to_timestamp(r."minuteMs" / 1000.0)) AS minute, r.state FROM jsonb_to_recordset($3::jsonb) AS r("minuteMs" double precision, state text)) m
     ORDER BY minute, state = $4
  ), written AS (
    INSERT INTO node_uptime (cell, node, minute, state) SELECT $1, $2, minute, state FROM said
    ON CONFLICT (cell, node, minute) DO UPDATE SET state = EXCLUDED.state WHERE node_uptime.state = $4 AND EXCLUDED.state <> $4
  ), forgotten AS (
    DELETE FROM node_uptime WHERE (cell, node, minute) IN (
      SELECT cell, node, minute FROM node_uptime
       WHERE cell = $1 AND minute < clock_timestamp() - make_interval(days => ${KEPT_DAYS})
       ORDER BY minute LIMIT 1000 FOR UPDATE SKIP LOCKED)
  )
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now_ms`;

const READ = `
  SELECT (extract(epoch FROM minute) * 1000)::double precision AS minute_ms, state FROM node_uptime
   WHERE cell = $1 AND node = $2 AND minute > clock_timestamp() - make_interval(secs => $3)
   ORDER BY minute DESC LIMIT $4`;

export function postgresUptime(database: Database, cell: CellId): Uptime {
  return {
    async record(node, minutes) {
      const [row] = await database.query(RECORD, [cell, node, JSON.stringify(minutes), UPTIME_OK]);
      return row?.["now_ms"] as number;
    },
    async read(node, lastMs, limit) {
      const rows = await database.query(READ, [cell, node, lastMs / 1000, limit]);
      return rows.map((row) => ({ minuteMs: row["minute_ms"] as number, state: row["state"] as string }));
    },
  };
}
