// Owns what a server says of itself: its timeline, the number that rises with every fail-over, so that what was
// promised by a server whose last words were lost is told apart from what this one says; and its standbys.
//
// 1. A server that does not tell its timeline is asked once, when it is opened, and is one without from then on.
// 2. An automatic fail-over to a standby that is not synchronous loses acknowledged epochs. We cannot see whether
//    one is meant: it is said, and nothing is refused.

import type { Logger } from "../protocol/ports/logging.ts";
import type { Database } from "./database.ts";
import { sqlstateOf } from "./sqlstate.ts";

/** The first eight hex digits of the name of the file that the server writes its log to. */
const TELLS = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int";
/** The expression for a server that does not tell, or is not asked. */
export const NOT_TOLD = "NULL::int";

/** No such function, not allowed, or not supported there. A server in recovery (25006, 55000) does not count: it will tell later. */
const REFUSALS: readonly string[] = ["42883", "42501", "0A000"];

/**
 * An SQL expression, int or null.
 * @throws LockstepError `database_busy`, `database_fault`
 */
export async function timelineExpression(database: Database): Promise<string> {
  try {
    await database.query(`SELECT ${TELLS}`);
    return TELLS;
  } catch (error) {
    const state = error instanceof Error ? sqlstateOf(error.cause) : null;
    if (state !== null && REFUSALS.includes(state)) return NOT_TOLD;
    throw error;
  }
}

const STANDBYS = "SELECT (SELECT count(*) FROM pg_stat_replication) AS standbys, current_setting('synchronous_standby_names') AS waited_for, current_setting('synchronous_commit') AS commit";
/** A commit that is acknowledged before a standby has it. */
const WAITS_FOR_NOBODY: readonly unknown[] = ["off", "local"];

/**
 * Invariant 2.
 * @throws LockstepError `database_busy`, `database_fault`
 */
export async function warnOfStandbys(database: Database, logger: Logger): Promise<void> {
  const [row] = await database.query(STANDBYS);
  const isSafe = row?.["waited_for"] !== "" && !WAITS_FOR_NOBODY.includes(row?.["commit"]);
  if (row?.["standbys"] === 0 || isSafe) return;
  logger.warn({ standbys: row?.["standbys"] }, "the database has standbys that a commit does not wait for: an automatic fail-over to one loses who may trade what; name one in synchronous_standby_names");
}
