// Owns how long a fault may leave an account without an owner who trades: one line of arithmetic for each drill, in the
// words of what is promised when a node is lost. All times are from the fault.
//
// 1. `leaseLeftMs` is what the rows say, and so is `freedMs`; `sessionMs` (from the takeover to the first plan that rests on it) and the
//    wait for the master's next tick are measured in the run itself. Everything else comes from the profile and the limits.
// 2. A term that is measured is not judged here: where it has a bound of its own, the drill's row says so.

import type { LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { LOG_CUT_OFF_MS } from "../../nodeState.ts";
import type { Takeover } from "./takeover.ts";

export interface Terms extends Pick<Takeover, "leaseLeftMs" | "freedMs" | "isLate" | "reconnectMs"> {
  readonly lease: LeaseProfile;
  /** From the fault to its healing; null: it was not healed. */
  readonly healedMs: number | null;
  /** Session and reconcile, as they took; for the clients of a log, as long as they may take. */
  readonly sessionMs: number;
  /** From then to the next thing to do. */
  readonly nextTickMs: number;
}

type Arithmetic = (terms: Terms) => number | null;

/** Anybody may have it: claim poll + session + reconcile. */
const claimed = ({ lease, sessionMs, nextTickMs }: Terms): number => lease.claimPollMs + sessionMs + nextTickMs;

/** It is given back after what was under way, or the end of the lease is written at once; then it is claimed. */
const endedAtOnce: Arithmetic = (terms) => (terms.freedMs === null ? null : terms.freedMs + claimed(terms));

/** The lease runs out: what was left of it, then it is claimed. A node that is cut off copies until a margin before that. */
const runsOut: Arithmetic = (terms) => terms.leaseLeftMs + claimed(terms);

/**
 * Until it is back, then one renewal, which may have to be tried again, and its confirmation. Nobody claims. What could not be
 * confirmed with the others is asked for after the next renewal.
 */
const untilBack: Arithmetic = ({ healedMs, lease, isLate, sessionMs, nextTickMs }) => (healedMs === null ? null : healedMs + lease.retryMs + lease.queryTimeoutMs + (isLate ? lease.renewMs : 0) + sessionMs + nextTickMs);

/** The watchdog, which may have to wait for the others' next word, then as when a process dies. */
const watchdog: Arithmetic = (terms) => LOG_CUT_OFF_MS + terms.lease.renewMs + claimed(terms);

/** Until the log is back and its clients are. */
const logBack: Arithmetic = ({ healedMs, sessionMs, nextTickMs }) => (healedMs === null ? null : healedMs + sessionMs + nextTickMs);

/** Until the broker is back, and a pause of the back-off that may have begun just before; then login + reconcile. */
const reconnect: Arithmetic = ({ healedMs, reconnectMs, sessionMs, nextTickMs }) => (healedMs === null ? null : healedMs + reconnectMs + sessionMs + nextTickMs);

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
