// Owns what is known of the database's clock: how far it is ahead of our monotonic one, between which
// bounds, and whether a reply came from another database than the ones before.
//
// 1. A reply was written between the moment its question was sent and the moment it was read, so it
//    gives an interval. Nothing narrower is believed than what the replies prove together.
// 2. Clocks of two machines drift: what was known widens as it gets older.
// 3. Two intervals that lie further apart than the tolerance are of two clocks. So are replies of two
//    timelines. A server that tells none proves nothing by that.

import type { DatabaseClock } from "../../protocol/ports/storage.ts";

export interface KnownClock {
  /** The database's clock less our monotonic one. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Monotonic: when the newest reply was read. */
  readonly readAtMs: number;
  readonly timeline: number | null;
}

/** Far more than two ordinary clocks do, and still far less than a lease's margin within a renewal's pause. */
const DRIFT = 1e-3;

/** @param sentAtMs monotonic, like `readAtMs` */
export function heard({ nowMs, timeline }: DatabaseClock, sentAtMs: number, readAtMs: number): KnownClock {
  return { fromMs: nowMs - readAtMs, toMs: nowMs - sentAtMs, readAtMs, timeline };
}

/** How far the two are apart at least, forward positive; 0: they may be one clock. */
export function jumpMs(before: KnownClock, now: KnownClock): number {
  const old = aged(before, now.readAtMs);
  if (now.fromMs > old.toMs) return now.fromMs - old.toMs;
  return now.toMs < old.fromMs ? now.toMs - old.fromMs : 0;
}

/** Invariant 3. */
export function isAnother(before: KnownClock, now: KnownClock, toleranceMs: number): boolean {
  const isOtherTimeline = before.timeline !== null && now.timeline !== null && before.timeline !== now.timeline;
  return isOtherTimeline || Math.abs(jumpMs(before, now)) > toleranceMs;
}

/** What both say together; the newer alone where they contradict each other. */
export function together(before: KnownClock, now: KnownClock): KnownClock {
  const old = aged(before, now.readAtMs);
  const [fromMs, toMs] = [Math.max(old.fromMs, now.fromMs), Math.min(old.toMs, now.toMs)];
  return fromMs > toMs ? now : { ...now, fromMs, toMs };
}

/** What the database's clock should show at a moment of ours. */
export function expectedAt({ fromMs, toMs, timeline }: KnownClock, monotonicMs: number): DatabaseClock {
  return { nowMs: monotonicMs + (fromMs + toMs) / 2, timeline };
}

/** Invariant 2. */
function aged(known: KnownClock, nowMs: number): KnownClock {
  const driftMs = DRIFT * Math.max(0, nowMs - known.readAtMs);
  return { ...known, fromMs: known.fromMs - driftMs, toMs: known.toMs + driftMs };
}
