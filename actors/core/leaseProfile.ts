// Owns the times of a node's lease: the profiles that can be chosen, and what follows from each.
//
// 1. ops/nodeLimits.ts checks the relations that the promises rest on; every profile keeps them.

export interface LeaseProfile {
  readonly ttlMs: number;
  readonly renewMs: number;
  /** The node stops by itself this long before the database would let others in. */
  readonly marginMs: number;
  /** From a failed renewal to the next. */
  readonly retryMs: number;
  /** An answer that takes longer is none. */
  readonly queryTimeoutMs: number;
  readonly claimPollMs: number;
}

/** The published timeline, for comparison. */
export const PUBLISHED: LeaseProfile = { ttlMs: 60_000, renewMs: 20_000, marginMs: 15_000, retryMs: 2_000, queryTimeoutMs: 10_000, claimPollMs: 20_000 };
/** A database that is away for up to 40 s stops nobody for longer than one renewal. */
export const STEADY: LeaseProfile = { ttlMs: 60_000, renewMs: 5_000, marginMs: 15_000, retryMs: 2_000, queryTimeoutMs: 5_000, claimPollMs: 1_000 };
/** The shortest gap after a lost host. */
export const FAST: LeaseProfile = { ttlMs: 15_000, renewMs: 2_500, marginMs: 3_000, retryMs: 1_000, queryTimeoutMs: 2_000, claimPollMs: 500 };

const FREE_MS = 3_000;

/** An account that nobody took for so long is anybody's. Everybody has had two polls by then. */
export const freeForMs = ({ claimPollMs }: LeaseProfile): number => Math.max(FREE_MS, 2 * claimPollMs);

/** From one renewal to the next that succeeds, when one between them fails: so old is a live node's row at most. */
export const cycleMs = ({ renewMs, retryMs, queryTimeoutMs }: LeaseProfile): number => renewMs + retryMs + queryTimeoutMs;

/** After an outage every node that is still there has renewed within this, and has its accounts back. */
export const liveForMs = cycleMs;
