// Owns what a node says of itself: its state at one moment, and whether that is ready.
//
// 1. A node that is not ready says why; every reason is one that it can name in numbers.
// 2. What is one account's trouble (no session, an unsettled order, a master that is not heard)
//    makes no node unready: others could do no better.

import type { ExecutorCounts } from "../actors/executor/executor.ts";
import type { AccountState } from "../actors/shell/supervisor.ts";

export interface NodeState {
  readonly fenced: boolean;
  /** Until the gate closes by itself; 0 while fenced. */
  readonly leaseLeftMs: number;
  readonly accounts: readonly AccountState[];
  /** Masters heard of, and how many of them are known to their last tick. */
  readonly masters: number;
  readonly mastersSynced: number;
  /** For how long the log has not answered; null while it is not watched yet. */
  readonly logSilentMs: number | null;
  readonly logOk: boolean;
  /** How long the rows at hand have been waiting for the database; null when none are. */
  readonly rowsWaitingMs: number | null;
  /** What the database says to rows that it refuses for no row's sake: somebody must put it right. */
  readonly rowsRefused: string | null;
  /** Partitions whose next event only a newer release can read. */
  readonly blockedPartitions: readonly number[];
  readonly executor: ExecutorCounts;
}

/** As long as the log may be silent: a fetch without news is answered within a second or so. */
export const LOG_SILENT_MS = 8_000;
/** Then at the earliest a node ends that alone does not hear of it; with rare renewals later, when the others' rows are known to be newer than the silence. */
export const LOG_CUT_OFF_MS = 30_000;
const ROWS_WAITING_LIMIT_MS = 15_000;

/** Why a node is not ready; none: it is. `state` is null while it starts. */
export function notReady(state: NodeState | null, databaseOk: boolean, draining: boolean): string[] {
  if (draining) return ["draining: it was told to stop"];
  const database = databaseOk ? [] : ["database: it does not answer"];
  if (state === null) return ["starting", ...database];
  const reasons = [
    state.fenced ? "fenced: this node cannot prove its lease" : null,
    state.logOk ? null : `log: silent for ${seconds(state.logSilentMs)}`,
    state.blockedPartitions.length === 0 ? null : `writer: partitions ${state.blockedPartitions.join(", ")} hold events of a newer release`,
    state.rowsRefused !== null ? `writer: rows are waiting, the database refuses them: ${state.rowsRefused}` : null,
    state.rowsWaitingMs !== null && state.rowsWaitingMs > ROWS_WAITING_LIMIT_MS ? `writer: rows have been waiting for ${seconds(state.rowsWaitingMs)}` : null,
  ];
  return [...reasons.filter((reason) => reason !== null), ...database];
}

const seconds = (ms: number | null): string => (ms === null ? "ever" : `${Math.round(ms / 1_000)} s`);
