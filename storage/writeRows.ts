// Owns the hot statement of the writers: one layer of rows into `pairs`, fenced, in one round trip.
//
// 1. A live row goes in only while its epoch lies between the follower's projected epoch and the
//    account's epoch: what an owner said before its successor's marker is true, what it says after
//    it is a zombie's. A row that ends a pair always passes the fence.
// 2. A pair's version (epoch, n) only rises, and an ended row is final.
// 3. One live row per trade: the newer epoch stands, the older one is Superseded, whichever is in
//    the table and whichever comes.
// 4. A written version with a reason leaves one row in `copy_events`.

const LIVE = "('Sending', 'Open')";

const INCOMING = `link text, "masterTicket" bigint, opening integer, epoch bigint, n bigint, master text, follower text, status text,
       holds text, symbol text, digits smallint, side text, "followerTicket" bigint, "initialVolume" bigint, volume bigint,
       "masterInitialVolume" bigint, "masterVolume" bigint, "openPrice" bigint, "stopLoss" bigint, "takeProfit" bigint,
       reason text, detail jsonb, "changedAtMs" double precision`;

/** $1: cell. $2: JSON array of rows, a pair's fields with its epoch and n; no two of one trade. Gives `written`. */
export const WRITE_ROWS = `
WITH incoming AS (
  SELECT * FROM jsonb_to_recordset($2::jsonb) AS r(${INCOMING})
), admitted AS (
  SELECT r.* FROM incoming r
   WHERE r.status NOT IN ${LIVE}
      OR EXISTS (SELECT 1 FROM copy_links l JOIN trading_accounts a ON a.cell = l.cell AND a.id = l.follower_id
                  WHERE l.cell = $1 AND l.id = r.link AND r.epoch BETWEEN a.projected_epoch AND a.epoch) -- (1)
), superseded AS (
  UPDATE pairs p SET status = 'Superseded' FROM admitted r -- (3)
   WHERE p.cell = $1 AND p.link_id = r.link AND p.master_ticket = r."masterTicket" AND p.opening <> r.opening
     AND p.status IN ${LIVE} AND r.status IN ${LIVE} AND p.epoch < r.epoch
  RETURNING 1
), written AS (
  INSERT INTO pairs AS p (cell, link_id, master_ticket, opening, epoch, n, master_id, follower_id, status,
         holds, symbol, digits, side, follower_ticket, initial_volume, volume,
         master_initial_volume, master_volume, open_price, stop_loss, take_profit,
         reason, detail, changed_at_ms)
  SELECT $1, r.link, r."masterTicket", r.opening, r.epoch, r.n, r.master, r.follower,
         CASE WHEN r.status IN ${LIVE} AND EXISTS (
                SELECT 1 FROM pairs newer
                 WHERE newer.cell = $1 AND newer.link_id = r.link AND newer.master_ticket = r."masterTicket"
                   AND newer.opening <> r.opening AND newer.status IN ${LIVE} AND newer.epoch > r.epoch)
              THEN 'Superseded' ELSE r.status END, -- (3)
         r.holds, r.symbol, r.digits, r.side, r."followerTicket", r."initialVolume", r.volume,
         r."masterInitialVolume", r."masterVolume", r."openPrice", r."stopLoss", r."takeProfit",
         r.reason, r.detail, r."changedAtMs"
    FROM admitted r
   -- The parts of a statement run in any order; reading this count makes the older rows give up
   -- their place in the index of live rows before the newer ones take it.
   WHERE (SELECT count(*) FROM superseded) >= 0
   -- In one order for all writers, so that two of them do not lock each other out.
   ORDER BY r.link, r."masterTicket", r.opening
  ON CONFLICT (cell, link_id, master_ticket, opening) DO UPDATE SET
         epoch = excluded.epoch, n = excluded.n, master_id = excluded.master_id, follower_id = excluded.follower_id, status = excluded.status,
         holds = excluded.holds, symbol = excluded.symbol, digits = excluded.digits, side = excluded.side,
         follower_ticket = excluded.follower_ticket, initial_volume = excluded.initial_volume, volume = excluded.volume,
         master_initial_volume = excluded.master_initial_volume, master_volume = excluded.master_volume,
         open_price = excluded.open_price, stop_loss = excluded.stop_loss, take_profit = excluded.take_profit,
         reason = excluded.reason, detail = excluded.detail, changed_at_ms = excluded.changed_at_ms
   WHERE p.status IN ${LIVE} AND (p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)
  RETURNING p.*
), noted AS (
  INSERT INTO copy_events (cell, link_id, master_ticket, opening, epoch, n, follower_id, status, reason, detail, changed_at_ms)
  SELECT cell, link_id, master_ticket, opening, epoch, n, follower_id, status, reason, detail, changed_at_ms
    FROM written WHERE reason IS NOT NULL -- (4)
  ON CONFLICT DO NOTHING
)
SELECT count(*) AS written FROM written`;
