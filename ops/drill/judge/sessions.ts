// Owns the sessions of an account as its broker's log has them, and how long an owner may wait before it tries a lost one again.
//
// 1. Orders may go over channels besides; the session is the one that a broker has once for each account.
// 2. Tries are not in the log. How often one failed follows from how long the broker was away: the pauses double, each at least
//    half of its longest.

import type { AccountId } from "../../../protocol/ids.ts";
import { backoffMs } from "../../../actors/core/retry.ts";
import type { SessionLimits } from "../../../actors/drivers/sessionLimits.ts";
import { wallMs, type Evidence } from "./evidence.ts";

export interface LoggedSession {
  readonly client: string | null;
  readonly fromMs: number;
  /** Infinity: it stands at the end. */
  readonly untilMs: number;
}

/** In order. An account is at one broker, so its connections' numbers are its own. */
export function sessionsOf(evidence: Evidence, account: AccountId): LoggedSession[] {
  const log = evidence.troupes.flatMap(({ troupe }) => troupe.log);
  const ends = new Map(log.flatMap((entry) => (entry.kind === "disconnect" && entry.account === account ? [[entry.connection, wallMs(evidence, entry.atMs)]] : [])));
  return log.flatMap((entry) => {
    if (entry.kind !== "login" || entry.account !== account || entry.channel !== "session" || entry.refused !== null) return [];
    return [{ client: entry.client, fromMs: wallMs(evidence, entry.atMs), untilMs: ends.get(entry.connection) ?? Infinity }];
  });
}

/** Its session that ended between the fault and its healing; null: none did. */
export function cutSession(evidence: Evidence, account: AccountId): LoggedSession | null {
  const { faultAtMs, healAtMs } = evidence.record;
  return healAtMs === null ? null : (sessionsOf(evidence, account).find(({ untilMs }) => untilMs >= faultAtMs && untilMs <= healAtMs) ?? null);
}

/**
 * The longest pause that may have begun while the broker was away for so long (2).
 * @param isAnew its tries are counted from this loss on: the session had lasted, or was its owner's first
 */
export function longestPauseMs({ reconnectMinMs, reconnectMaxMs }: SessionLimits, awayMs: number, isAnew: boolean): number {
  if (!isAnew) return reconnectMaxMs;
  const [shortest, longest] = [0, 1];
  let [failures, earliestMs] = [1, 0];
  const pauseMs = (jitter: number): number => backoffMs(failures, reconnectMinMs, reconnectMaxMs, jitter);
  while (earliestMs + pauseMs(shortest) < awayMs) {
    earliestMs += pauseMs(shortest);
    failures += 1;
  }
  return pauseMs(longest);
}
