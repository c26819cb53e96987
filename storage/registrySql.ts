// Owns the statements of the Registry. Each is one statement on the database's clock; registry.ts
// says what they promise together, and its numbers are cited here.
//
// `timeline` is how this server tells its timeline (server.ts), as an expression.

/**
 * `spread`: one row for each platform of each node that is live and accepting, with its share. The
 * shares of a platform add up to its accounts: what does not divide evenly goes to the nodes that
 * hold most, so that nothing moves for the sake of a rounding; `amongEquals` orders those that hold as much.
 * `room`: what the node's capacity leaves.
 */
const spread = (amongEquals: string): string => `
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
              + CASE WHEN row_number() OVER (PARTITION BY platform ORDER BY mine DESC, ${amongEquals}) <= accounts % count(*) OVER (PARTITION BY platform)
                     THEN 1 ELSE 0 END AS share
      FROM sharing
  )`;

/** What is to be given away: everybody has to come to the same shares, or nobody would give anything. */
const BY_NAME = spread("node");
/** What is to be claimed: it does not wait for the one node that a rounding favours. $2: who asks. */
const FOR_ASKER = spread("node <> $2, node");

const NOW_MS = "extract(epoch FROM clock_timestamp())::float8 * 1000";

/** (6): whether this is the database that is expected. $`at`: its clock, then the tolerance, then its timeline. */
const isExpected = (at: number, timeline: string): string => `abs(${NOW_MS} - $${at}::float8) <= $${at + 1}::float8 AND ($${at + 2}::int IS NULL OR ${timeline} = $${at + 2}::int)`;

/** (7); a timeline that is not told is passed over. */
const raised = (epoch: string, timeline: string): string => `GREATEST(${epoch} + 1, (${timeline} - 1)::bigint * 4294967296 + 1)`;

/** When the last order of owner `o` of account `a` can have been sent: while its lease was live. */
const LAST_SEND = "CASE WHEN o.boot = a.boot THEN LEAST(o.lease_until, clock_timestamp()) ELSE o.started_at END";
const SETTLE_LEFT = "GREATEST(0, coalesce(extract(epoch FROM a.settle_until - clock_timestamp())::float8 * 1000, 0)) AS settle_left_ms";

// In DO UPDATE `nodes.` is the row as it is once its lock is ours, so the old lease is judged then.
// All else is read by the statement's snapshot; a lease that was live all along protects the accounts.
export const renewSql = (timeline: string): string => `
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
  ), ${BY_NAME}
  SELECT r.held, r.was_live, a.id, a.epoch, ${NOW_MS} AS now_ms, ${timeline} AS timeline,
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
export const claimSql = (timeline: string): string => `
  WITH ${FOR_ASKER}, me AS (
    SELECT * FROM spread WHERE node = $2 AND boot = $3 AND ${isExpected(9, timeline)}
  ), owned_by AS (
    SELECT a.id, a.epoch, a.platform, a.freed_at, a.node IS NOT NULL AND o.boot = a.boot AND o.ended_boot IS DISTINCT FROM a.boot AS may_return,
           CASE WHEN o.boot = a.boot THEN o.lease_until ELSE o.started_at END AS gone_at, ${LAST_SEND} AS last_send
      FROM trading_accounts a
      LEFT JOIN nodes o ON o.cell = a.cell AND o.node = a.node
     WHERE a.cell = $1 AND a.enabled AND a.parked_reason IS NULL AND a.id <> ALL ($7::text[])
  ), free AS MATERIALIZED (
    SELECT a.id, a.epoch, a.platform, a.last_send, me.share - me.mine AS below_share,
           GREATEST(a.freed_at, a.gone_at, me.live_since + CASE WHEN a.may_return THEN make_interval(secs => $6) ELSE interval '0' END) AS since
      FROM owned_by a JOIN me ON me.platform = a.platform
     WHERE NOT (a.may_return AND $12)
  ), aged AS (
    SELECT *, since <= clock_timestamp() - make_interval(secs => $5) AS by_capacity FROM free WHERE since <= clock_timestamp()
  ), placed AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY platform ORDER BY by_capacity DESC, md5($2 || id)) AS place FROM aged
  ), taken AS (
    SELECT a.id, p.last_send
      FROM trading_accounts a JOIN placed p ON p.id = a.id AND p.epoch = a.epoch -- (3)
     WHERE a.cell = $1 AND a.enabled AND a.parked_reason IS NULL AND (p.by_capacity OR p.place <= p.below_share)
     ORDER BY p.place
     LIMIT GREATEST(LEAST($4, (SELECT max(room) FROM me)), 0)
       FOR UPDATE OF a SKIP LOCKED
  )
  UPDATE trading_accounts a
     SET node = $2, boot = $3, epoch = ${raised("a.epoch", timeline)}, claimed_at = clock_timestamp(),
         settle_until = GREATEST(a.settle_until, taken.last_send + make_interval(secs => $8)) -- (8)
    FROM taken
   WHERE a.cell = $1 AND a.id = taken.id
  RETURNING a.id, a.epoch, ${SETTLE_LEFT}`;

// Whoever the account belongs to is judged by the statement's snapshot, like the epoch it must still be at (3).
export const takeSql = (timeline: string): string => `
  WITH wanted AS MATERIALIZED (
    SELECT a.id, a.epoch, CASE WHEN a.node = $2 AND a.boot = $3 THEN NULL ELSE ${LAST_SEND} END AS last_send
      FROM unnest($4::text[], $5::bigint[]) AS w(id, epoch)
      JOIN trading_accounts a ON a.cell = $1 AND a.id = w.id AND a.epoch = w.epoch
      LEFT JOIN nodes o ON o.cell = a.cell AND o.node = a.node
     WHERE (a.node = $2 AND a.boot = $3 OR (o.boot = a.boot AND o.lease_until > clock_timestamp()) IS NOT TRUE)
       AND EXISTS (SELECT 1 FROM nodes me WHERE me.cell = $1 AND me.node = $2 AND me.boot = $3 AND me.lease_until > clock_timestamp())
       AND ${isExpected(7, timeline)}
  ), taken AS (
    SELECT a.id, w.last_send FROM trading_accounts a JOIN wanted w ON w.id = a.id AND w.epoch = a.epoch
     WHERE a.cell = $1 ORDER BY a.id FOR UPDATE OF a SKIP LOCKED
  )
  UPDATE trading_accounts a
     SET node = $2, boot = $3, epoch = ${raised("a.epoch", timeline)}, claimed_at = clock_timestamp(),
         settle_until = GREATEST(a.settle_until, taken.last_send + make_interval(secs => $6)) -- (8)
    FROM taken
   WHERE a.cell = $1 AND a.id = taken.id
  RETURNING a.id, a.epoch, ${SETTLE_LEFT}`;

export const RELEASE = `
  UPDATE trading_accounts SET node = NULL, boot = NULL, freed_at = clock_timestamp(),
         settle_until = GREATEST(settle_until, CASE WHEN $6::float8 > 0 THEN clock_timestamp() + make_interval(secs => $6) END) -- (8)
   WHERE cell = $1 AND id = $2 AND node = $3 AND boot = $4 AND epoch = $5
  RETURNING id`;

export const LEAVE = `
  UPDATE nodes SET ended_boot = boot, lease_until = LEAST(lease_until, clock_timestamp())
   WHERE cell = $1 AND node = $2 AND boot = $3`;

export const SWEEP = `
  DELETE FROM nodes n
   WHERE n.cell = $1 AND n.lease_until < clock_timestamp() - make_interval(secs => $2)
     AND NOT EXISTS (SELECT 1 FROM trading_accounts a WHERE a.cell = n.cell AND a.node = n.node)
  RETURNING n.node`;
