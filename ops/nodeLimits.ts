// Owns the bounds and times of a node, and the relations between them that its promises rest on.

import { FAST, PUBLISHED, STEADY, type LeaseProfile } from "../actors/core/leaseProfile.ts";
import type { Pace } from "../actors/core/pacing.ts";
import { DEFAULT_SESSION_LIMITS, type SessionLimits } from "../actors/drivers/sessionLimits.ts";
import type { FollowerLimits } from "../actors/shell/followerTypes.ts";
import type { MasterLimits } from "../actors/shell/masterActor.ts";
import { LockstepError, unreachable } from "../protocol/errors.ts";

export interface NodeLimits {
  readonly capacity: number;
  readonly lease: LeaseProfile;
  readonly session: SessionLimits;
  /** Of this node at one broker's host; a cell of several nodes logs in so much faster. */
  readonly logins: Pace;
  readonly follower: FollowerLimits;
  readonly master: MasterLimits;
  /** An account that has no session for so long, while nothing but itself can be to blame, is left to others. */
  readonly noSessionMs: number;
  readonly bookAheadMs: number;
  readonly writerRows: number;
  readonly writerMs: number;
  /** Records that a producer buffers, and events that wait for it. */
  readonly buffered: number;
  readonly bufferRetryMs: number;
}

const FAST_CALL_MS = 2_500;

export const DEFAULT_NODE_LIMITS: NodeLimits = {
  capacity: 1_000,
  lease: STEADY,
  session: DEFAULT_SESSION_LIMITS,
  logins: { perSecond: 10, burst: 5, maxWaitMs: 30_000 },
  follower: { parallelism: 16, mailboxCapacity: 10_000, settleMs: 30_000, reconcileEveryMs: 60_000 },
  master: { mailboxCapacity: 10_000, heartbeatMs: 5_000, bookDelayMs: 400 },
  noSessionMs: 60_000,
  bookAheadMs: 2_000,
  writerRows: 500,
  writerMs: 100,
  buffered: 20_000,
  bufferRetryMs: 50,
};

export type ProfileName = "published" | "steady" | "fast";

/** What a profile says of the whole node: the lease's times, and how long calls under it may take. */
export function limitsOf(profile: ProfileName): NodeLimits {
  switch (profile) {
    case "published":
      return { ...DEFAULT_NODE_LIMITS, lease: PUBLISHED };
    case "steady":
      return DEFAULT_NODE_LIMITS;
    case "fast":
      return { ...DEFAULT_NODE_LIMITS, lease: FAST, session: { ...DEFAULT_SESSION_LIMITS, brokerTimeoutMs: FAST_CALL_MS } };
    default:
      return unreachable(profile);
  }
}

/**
 * Nothing of the log is checked here: its sends are cut to the lease's margin where it is made (`limitsBelowMargin`),
 * so what a fenced node still says is over before its successor speaks.
 * @throws LockstepError `configuration`, naming every relation that does not hold
 */
export function checkNodeLimits({ lease, session, follower }: NodeLimits): void {
  const reachMs = lease.ttlMs - lease.marginMs;
  const faults = [
    lease.renewMs + lease.retryMs + 2 * lease.queryTimeoutMs <= reachMs
      ? null
      : `renew ${lease.renewMs} ms, retry ${lease.retryMs} ms and two queries of ${lease.queryTimeoutMs} ms must fit into ttl - margin, ${reachMs} ms: else one failed renewal fences`,
    session.brokerTimeoutMs < lease.marginMs ? null : `the broker's time-out ${session.brokerTimeoutMs} ms must be below the lease's margin ${lease.marginMs} ms: else a call outlives the lease`,
    follower.settleMs >= session.brokerTimeoutMs ? null : `the settle time ${follower.settleMs} ms must not be below the broker's time-out ${session.brokerTimeoutMs} ms: else a call is taken for settled while it is under way`,
  ].filter((fault) => fault !== null);
  if (faults.length > 0) throw new LockstepError("configuration", faults.join("; "));
}
