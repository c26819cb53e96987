// Owns how a server tells its timeline: the number that rises with every fail-over, so that what was
// promised by a server whose last words were lost is told apart from what this one says.
//
// 1. A server that does not tell is asked once, when it is opened, and is one without a timeline from then on.

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
