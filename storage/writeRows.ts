// Owns the hot statements of the writers: one layer of rows into `pairs`, fenced, in one round trip; and
// whether a commit whose answer was lost was done.
//
// 1. A row goes in only while its epoch lies between the follower's projected epoch and the account's epoch: what an
//    owner said before its successor's marker is true, what it says after it is a zombie's. Only `Closed` always passes: that a copy
//    has ended is the broker's fact, whoever says it. A skip is a decision, and after the marker no more that owner's to take.
// 2. A pair's version (epoch, n) only rises, and an ended row is final; but a skip is so only for the owner that took it. A later owner that could not
//    know of it may have opened the trade, and then says so under the same opening.
// 3. One live row per trade: the newer epoch stands, the older one is Superseded, whichever is in
//    the table and whichever comes.
// 4. A written version with a reason leaves one row in `copy_events`.
// 5. They are prepared once per connection, and Postgres's statistics know nothing of a cell that is new: it takes
//    it for empty, and goes through all of its rows for each row of the batch. So the cell comes from the rows,
//    where the planner does not see which one it is, and what is looked up for each row is a sub-select with a
//    limit, which is done by index whatever the statistics say.

import type { Statement } from "./database.ts";

const LIVE = "('Sending', 'Open')";

/** A pair's fields with its epoch and n, as `jsonb_to_recordset` reads them. */
export const INCOMING = `link text, "masterTicket" bigint, opening integer, epoch bigint, n bigint, master text, follower text, status text,
       holds text, symbol text, digits smallint, side text, "followerTicket" bigint, "initialVolume" bigint, volume bigint,
       "masterInitialVolume" bigint, "masterVolume" bigint, "openPrice" bigint, "stopLoss" bigint, "takeProfit" bigint,
       reason text, detail jsonb, "changedAtMs" double precision`;

/**
 * $1: cell. $2: JSON array of rows, a pair's fields with its epoch and n; no two of one trade. Gives `written`, how many, and
 * `keys`, which ones, null when all of them.
 */
export const WRITE_ROWS: Statement = {
  name: "write rows",
  text: `
WITH incoming AS MATERIALIZED (
  SELECT $1::text AS cell, r.* FROM jsonb_to_recordset($2::jsonb) AS r(${INCOMING})
), fence AS MATERIALIZED (
  SELECT l.id AS link, a.projected_epoch AS lowest, a.epoch AS highest
    FROM (SELECT DISTINCT cell, link FROM incoming) named
    CROSS JOIN LATERAL (SELECT id, follower_id FROM copy_links WHERE cell = named.cell AND id = named.link LIMIT 1) l -- (5)
    CROSS JOIN LATERAL (SELECT projected_epoch, epoch FROM trading_accounts WHERE cell = named.cell AND id = l.follower_id LIMIT 1) a -- (5)
), admitted AS MATERIALIZED (
  SELECT r.*, rival.opening AS rival_opening, rival.epoch AS rival_epoch
    FROM incoming r
    LEFT JOIN fence f ON f.link = r.link
    LEFT JOIN LATERAL (
      SELECT p.opening, p.epoch FROM pairs p
       WHERE p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r."masterTicket" AND p.status IN ${LIVE}
         AND p.opening <> r.opening AND r.status IN ${LIVE}
       LIMIT 1) rival ON true -- (5)
   WHERE r.status = 'Closed' OR r.epoch BETWEEN f.lowest AND f.highest -- (1)
), superseded AS (
  UPDATE pairs p SET status = 'Superseded' FROM admitted r -- (3)
   WHERE r.rival_epoch < r.epoch AND p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r."masterTicket" AND p.opening = r.rival_opening
     AND p.status IN ${LIVE} AND p.epoch < r.epoch
  RETURNING 1
), written AS (
  INSERT INTO pairs AS p (cell, link_id, master_ticket, opening, epoch, n, master_id, follower_id, status,
         holds, symbol, digits, side, follower_ticket, initial_volume, volume,
         master_initial_volume, master_volume, open_price, stop_loss, take_profit,
         reason, detail, changed_at_ms)
  SELECT $1, r.link, r."masterTicket", r.opening, r.epoch, r.n, r.master, r.follower,
         CASE WHEN r.rival_epoch > r.epoch THEN 'Superseded' ELSE r.status END, -- (3)
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
   WHERE (p.status IN ${LIVE} OR p.status = 'Skipped' AND p.epoch < excluded.epoch) AND (p.epoch, p.n) < (excluded.epoch, excluded.n) -- (2)
  RETURNING p.link_id, p.master_ticket, p.opening, p.epoch, p.n, p.follower_id, p.status, p.reason, p.detail, p.changed_at_ms
), noted AS (
  INSERT INTO copy_events (cell, link_id, master_ticket, opening, epoch, n, follower_id, status, reason, detail, changed_at_ms)
  SELECT $1, link_id, master_ticket, opening, epoch, n, follower_id, status, reason, detail, changed_at_ms
    FROM written WHERE reason IS NOT NULL -- (4)
  ON CONFLICT DO NOTHING
)
SELECT count AS written,
       CASE WHEN count < (SELECT count(*) FROM incoming) THEN (SELECT coalesce(array_agg(link_id || '/' || master_ticket || '/' || opening), '{}') FROM written) END AS keys
  FROM (SELECT count(*) FROM written) counted`,
};

/**
 * $1: cell. $2: JSON array of account states, no two of one account. Gives the accounts whose state was written. Each passes the fence
 * as a live row does: what a former owner says of the session after its successor's marker is a zombie's.
 */
export const WRITE_STATES: Statement = {
  name: "write account states",
  text: `
INSERT INTO account_states AS s (cell, account, epoch, n, connected, balance_cents, equity_cents, currency, last_error, changed_at_ms)
SELECT r.cell, r.account, r.epoch, r.n, r.connected, r.balance, r.equity, r.currency, r."lastError", r."changedAtMs"
  FROM (SELECT $1::text AS cell, i.* FROM jsonb_to_recordset($2::jsonb) AS i(account text, epoch bigint, n bigint, connected boolean, balance bigint, equity bigint,
        currency text, "lastError" text, "changedAtMs" double precision)) r
 CROSS JOIN LATERAL (SELECT projected_epoch, epoch FROM trading_accounts WHERE cell = r.cell AND id = r.account LIMIT 1) a -- (5)
 WHERE r.epoch BETWEEN a.projected_epoch AND a.epoch -- (1)
 ORDER BY r.account
ON CONFLICT (cell, account) DO UPDATE SET
       epoch = excluded.epoch, n = excluded.n, connected = excluded.connected, balance_cents = excluded.balance_cents, equity_cents = excluded.equity_cents,
       currency = excluded.currency, last_error = excluded.last_error, changed_at_ms = excluded.changed_at_ms
 WHERE (s.epoch, s.n) < (excluded.epoch, excluded.n) -- (2)
RETURNING account`,
};

/**
 * $1: cell. $2: JSON array of rows that a lost transaction wrote. $3: of its markers. $4: of its account states. Gives `done`: every row and state is there at
 * that version or a newer one, and every marker was reached. The locks refuse a server that only reads: what a former primary has is no proof.
 */
export const READ_BACK: Statement = {
  name: "read rows back",
  text: `
WITH wanted AS MATERIALIZED (
  SELECT $1::text AS cell, r.* FROM jsonb_to_recordset($2::jsonb) AS r(link text, "masterTicket" bigint, opening integer, epoch bigint, n bigint)
), found AS (
  SELECT 1 FROM wanted r JOIN pairs p ON p.cell = r.cell AND p.link_id = r.link AND p.master_ticket = r."masterTicket" AND p.opening = r.opening
   WHERE (p.epoch, p.n) >= (r.epoch, r.n)
     FOR SHARE OF p
), missed AS (
  SELECT 1 FROM jsonb_to_recordset($3::jsonb) AS m(follower text, epoch bigint) JOIN trading_accounts a ON a.cell = $1 AND a.id = m.follower
   WHERE a.projected_epoch < m.epoch
     FOR SHARE OF a
), states AS (
  SELECT 1 FROM jsonb_to_recordset($4::jsonb) AS r(follower text, epoch bigint, n bigint) JOIN account_states s ON s.cell = $1 AND s.account = r.follower
   WHERE (s.epoch, s.n) >= (r.epoch, r.n)
     FOR SHARE OF s
)
SELECT (SELECT count(*) FROM found) = (SELECT count(*) FROM wanted) AND NOT EXISTS (SELECT 1 FROM missed)
       AND (SELECT count(*) FROM states) = jsonb_array_length($4::jsonb) AS done`,
};
