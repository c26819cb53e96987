// Owns when an account that shows nothing is believed: brokers show an empty one right after a
// reconnect, and mean nothing by it.

import type { AccountSnapshot } from "../../protocol/trades.ts";

/** How long an account must have shown nothing at all before that is believed. */
export const EMPTY_FOR_MS = 3_000;

/** Neither anything that stands nor any history. */
export const showsNothing = ({ positions, pendings, closed, removed }: AccountSnapshot): boolean => positions.length + pendings.length + closed.length + removed.length === 0;
