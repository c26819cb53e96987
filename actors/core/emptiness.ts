// Owns when an account that shows nothing is believed: brokers show an empty one right after a
// reconnect, and mean nothing by it.

import type { AccountSnapshot } from "../../protocol/trades.ts";

/** How long an account must have shown nothing at all before that is believed. */
const EMPTY_FOR_MS = 3_000;

/** Neither anything that stands nor any history. */
export const showsNothing = ({ positions, pendings, closed, removed }: AccountSnapshot): boolean => positions.length + pendings.length + closed.length + removed.length === 0;

/**
 * Since when every snapshot has shown nothing, after one more of them; null while the last one showed something.
 * @param sinceMs the same before it
 */
export const emptySince = (sinceMs: number | null, snapshot: AccountSnapshot, nowMs: number): number | null => (showsNothing(snapshot) ? (sinceMs ?? nowMs) : null);

/** Whether an account that has been empty since then is one. */
export const isEmptinessBelieved = (sinceMs: number, nowMs: number): boolean => nowMs - sinceMs >= EMPTY_FOR_MS;
