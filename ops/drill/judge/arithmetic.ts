// Owns how long a fault may leave an account without an owner who trades: one line of arithmetic for each drill, in the
// words of what is promised when a node is lost. All times are from the fault.
//
// 1. `leaseLeftMs` is what the rows say; `sessionMs` (from the acquisition to the first plan) and the wait for the master's next
//    tick are measured in the run itself. Everything else comes from the profile.

import type { LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { LOG_CUT_OFF_MS } from "../../nodeState.ts";
import { LOG_RETURN_MS } from "./absences.ts";

export interface Terms {
  readonly lease: LeaseProfile;
  /** Of the boot that was struck, at the fault. */
  readonly leaseLeftMs: number;
  /** From the fault to its healing; null: it was not healed. */
  readonly healedMs: number | null;
  /** Session and reconcile, as they took. */
  readonly sessionMs: number;
  /** From then to the next thing to do. */
  readonly nextTickMs: number;
}

type Arithmetic = (terms: Terms) => number | null;

/** The end of the lease is written at once: claim poll + session + reconcile. */
const endedAtOnce: Arithmetic = ({ lease, sessionMs, nextTickMs }) => lease.claimPollMs + sessionMs + nextTickMs;

/** The lease runs out: what was left of it + claim poll + session + reconcile. A node that is cut off copies until a margin before that. */
const runsOut: Arithmetic = (terms) => terms.leaseLeftMs + (endedAtOnce(terms) ?? 0);

/** Until it is back, then one renewal, which may have to be tried again, and its confirmation. Nobody claims. */
const untilBack: Arithmetic = ({ healedMs, lease, sessionMs, nextTickMs }) => (healedMs === null ? null : healedMs + lease.retryMs + lease.queryTimeoutMs + sessionMs + nextTickMs);

/** The watchdog, which may have to wait for the others' next word, then as when a process dies. */
const watchdog: Arithmetic = (terms) => LOG_CUT_OFF_MS + terms.lease.renewMs + (endedAtOnce(terms) ?? 0);

/** Until the log is back and its clients are. */
const logBack: Arithmetic = ({ healedMs, nextTickMs }) => (healedMs === null ? null : healedMs + LOG_RETURN_MS + nextTickMs);

/** Until the broker is back, then reconnect + reconcile. */
const reconnect: Arithmetic = ({ sessionMs, nextTickMs }) => sessionMs + nextTickMs;

const OF_DRILL: ReadonlyMap<string, Arithmetic> = new Map([
  ["clean-stop", endedAtOnce],
  ["process-kill", endedAtOnce],
  ["host-kill", runsOut],
  ["restart", runsOut],
  ["cut-db", runsOut],
  ["cut-db-half-open", runsOut],
  ["db-down", untilBack],
  ["freeze", runsOut],
  ["busy-loop", runsOut],
  ["freeze-all", untilBack],
  ["session-cut", reconnect],
  ["cut-kafka", watchdog],
  ["kafka-restart", logBack],
  ["master-node-kill", endedAtOnce],
  ["rolling-upgrade", endedAtOnce],
]);

/** Null: there is none for this drill, or the terms lack what it needs. */
export const arithmeticMs = (drill: string, terms: Terms): number | null => OF_DRILL.get(drill)?.(terms) ?? null;
