// Owns the statements of the Registry. Each is one statement on the database's clock; registry.ts
// says what they promise together, and its numbers are cited here.

/**
 * `spread`: one row for each platform of each node that is live and accepting, with its share. The
 * shares of a platform add up to its accounts: what does not divide evenly goes to the nodes that
 * hold most (then by name), so that nothing moves for the sake of a rounding.
 * `room`: what the node's capacity leaves.
 */
const SPREAD = `
  owned AS (
    SELECT node, boot, platform, count(*) AS held, count(*) FILTER (WHERE enabled AND parked_reason IS NULL) AS traded
      FROM trading_accounts WHERE cell = $1 AND node IS NOT NULL GROUP BY node, boot, platform
  ), traded AS (
    SELECT platform, count(*) AS accounts FROM trading_accounts WHERE cell = $1 AND enabled AND parked_reason IS NULL GROUP BY platform
  ), sharing AS (
    SELECT n.node, n.boot, n.live_since, t.platform, t.accounts, coalesce(o.traded, 0) AS mine,
           n.capacity - coalesce((SELECT sum(held) FROM owned WHERE owned.node = n.node AND owned.boot = n.boot), 0) AS room
      FROM nodes n
      JOIN traded t ON t.platform = ANY (n.platforms)
      LEFT JOIN owned o ON o.node = n.node AND o.boot = n.boot AND o.platform = t.platform
     WHERE n.cell = $1 AND n.accepting AND n.lease_until > clock_timestamp()
  ), spread AS (
    SELECT *, accounts / count(*) OVER (PARTITION BY platform)
              + CASE WHEN row_number() OVER (PARTITION BY platform ORDER BY mine DESC, node) <= accounts % count(*) OVER (PARTITION BY platform)
                     THEN 1 ELSE 0 END AS share
      FROM sharing
  )`;

// In DO UPDATE `nodes.` is the row as it is once its lock is ours, so the old lease is judged then.
// All else is read by the statement's snapshot; a lease that was live all along protects the accounts.
export const RENEW = `
  WITH renewed AS (
    INSERT INTO nodes (cell, node, boot, lease_until, accepting, log_ok, capacity, platforms, address)
    VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4), $5, $6, $7, $8, $9)
    ON CONFLICT (cell, node) DO UPDATE SET
      boot = excluded.boot,
      was_live = nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp(),
      lease_until = clock_timestamp() + make_interval(secs => $4),
      started_at = CASE WHEN nodes.boot = excluded.boot THEN nodes.started_at ELSE clock_timestamp() END,
      live_since = CASE WHEN nodes.boot = excluded.boot AND nodes.lease_until > clock_timestamp() THEN nodes.live_since ELSE clock_timestamp() END,
      accepting = excluded.accepting, log_ok = excluded.log_ok, capacity = excluded.capacity, platforms = excluded.platforms, address = excluded.address
    WHERE nodes.ended_boot IS DISTINCT FROM excluded.boot
      AND (nodes.boot = excluded.boot OR nodes.lease_until <= clock_timestamp())
    RETURNING was_live
  ), ${SPREAD}
  SELECT r.held, r.was_live, a.id, a.epoch,
         EXISTS (SELECT 1 FROM nodes o WHERE o.cell = $1 AND o.node <> $2 AND o.log_ok AND o.lease_until > clock_timestamp()) AS others_log_ok,
         (SELECT jsonb_agg(jsonb_build_object('platform', s.platform, 'share', s.share, 'mine', s.mine,
                   'othersHaveRoom', EXISTS (SELECT 1 FROM spread o WHERE o.platform = s.platform AND o.node <> s.node AND o.mine < o.share AND o.room > 0)) ORDER BY s.platform)
            FROM spread s WHERE s.node = $2 AND s.boot = $3) AS shares
    FROM (SELECT count(*) > 0 AS held, coalesce(bool_or(was_live), false) AS was_live FROM renewed) r
    LEFT JOIN trading_accounts a ON a.cell = $1 AND a.node = $2 AND a.boot = $3
   ORDER BY a.id`;

// `since`: since when the account is this node's to claim; while its owner is live that lies ahead. An
// owner may come back (4) while the row of its name is still its own; a row that a newer boot has
// says since when at the latest it is gone.
// The order differs from node to node, so that nodes that claim at the same time seldom want the same rows.
export const CLAIM = `
  WITH ${SPREAD}, me AS (
    SELECT * FROM spread WHERE node = $2 AND boot = $3
  ), free AS MATERIALIZED (
    SELECT a.id, a.epoch, a.platform, me.share - me.mine AS below_share,
           GREATEST(a.freed_at,
                    CASE WHEN o.boot = a.boot THEN o.lease_until ELSE o.started_at END,
                    me.live_since + CASE WHEN o.boot = a.boot AND o.ended_boot IS DISTINCT FROM a.boot THEN make_interval(secs => $6) ELSE interval '0' END) AS since
      FROM trading_accounts a JOIN me ON me.platform = a.platform
      LEFT JOIN nodes o ON o.cell = a.cell AND o.node = a.node
     WHERE a.cell = $1 AND a.enabled AND a.parked_reason IS NULL AND a.id <> ALL ($7::text[])
  ), aged AS (
    SELECT *, since <= clock_timestamp() - make_interval(secs => $5) AS by_capacity FROM free WHERE since <= clock_timestamp()
  ), placed AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY platform ORDER BY by_capacity DESC, md5($2 || id)) AS place FROM aged
  ), taken AS (
    SELECT a.id
      FROM trading_accounts a JOIN placed p ON p.id = a.id AND p.epoch = a.epoch -- (3)
     WHERE a.cell = $1 AND a.enabled AND a.parked_reason IS NULL AND (p.by_capacity OR p.place <= p.below_share)
     ORDER BY p.place
     LIMIT GREATEST(LEAST($4, (SELECT max(room) FROM me)), 0)
       FOR UPDATE OF a SKIP LOCKED
  )
  UPDATE trading_accounts a
     SET node = $2, boot = $3, epoch = a.epoch + 1, claimed_at = clock_timestamp()
    FROM taken
   WHERE a.cell = $1 AND a.id = taken.id
  RETURNING a.id, a.epoch`;

export const RELEASE = `
  UPDATE trading_accounts SET node = NULL, boot = NULL, freed_at = clock_timestamp()
   WHERE cell = $1 AND id = $2 AND node = $3 AND boot = $4 AND epoch = $5
  RETURNING id`;

export const LEAVE = `
  UPDATE nodes SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())
   WHERE cell = $1 AND node = $2 AND boot = $3`;
