// Owns the arithmetic of a lease's deadline: until when a renewal keeps the gate open, how long its answer
// is waited for, and whether the machine's two clocks still agree.
//
// 1. A deadline counts from before the renewal was sent, on both clocks: monotonic time stands still in a
//    suspended machine, wall time may be stepped. Whichever comes first ends it.
// 2. An answer that comes after the deadline is worth nothing, so nobody waits for it any longer.

import type { LeaseProfile } from "./leaseProfile.ts";

/** One moment on the two clocks of this machine; as a deadline it is `sent + ttl - margin`. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function deadlineOf({ monotonicMs, wallMs }: Moment, { ttlMs, marginMs }: LeaseProfile): Moment {
  const reachMs = ttlMs - marginMs;
  return { monotonicMs: monotonicMs + reachMs, wallMs: wallMs + reachMs };
}

/** 0 when it has passed on one of the clocks (1). */
export function leftMs(deadline: Moment, now: Moment): number {
  return Math.max(0, Math.min(deadline.monotonicMs - now.monotonicMs, deadline.wallMs - now.wallMs));
}

/** How long an answer is waited for that is worth something for so long (2); 0: not asked for at all. */
export const patienceMs = ({ queryTimeoutMs }: LeaseProfile, worthForMs: number): number => Math.min(queryTimeoutMs, worthForMs);

/** How far the wall clock went ahead of the monotonic one between two moments; negative: it fell back. */
export const divergenceMs = (before: Moment, now: Moment): number => now.wallMs - before.wallMs - (now.monotonicMs - before.monotonicMs);

/** More than this between two looks is no drift: a clock was stepped, or is another one. */
export const jumpToleranceMs = ({ marginMs }: LeaseProfile): number => marginMs / 4;
