// Owns how long a copier may take where it is not always able to act: the grace, and the times in
// which it could hear or do nothing.
//
// 1. The grace has to be had in one piece: what was in hand when a deaf time began may be lost, and
//    whoever hears again begins anew.

import type { AccountId } from "../../../protocol/ids.ts";
import type { Span } from "./periods.ts";

/** When nobody acted for one account, master or follower. `toMs`: somebody was ready to. */
export interface Absence extends Span {
  /** Until then the next one may wait before it opens anything late, on the broker's clock. */
  readonly opensFromMs: number;
}

/** What a demo allows its copier, in milliseconds. */
export interface Allowance {
  /** To follow its master, when nothing is in the way. */
  readonly graceMs: number;
  /** An order of unknown outcome is looked for so long before anything else is done about its trade. */
  readonly settleMs: number;
  /** How long the copier waits for an answer that never comes. */
  readonly callTimeoutMs: number;
  /** When no copier was running, on the broker's clock. `toMs`: the next one was ready. */
  readonly outages: readonly Span[];
  /** Of single accounts, on the broker's clock. */
  readonly absences: ReadonlyMap<AccountId, readonly Absence[]>;
  /**
   * Accounts change their owners. One that leaves takes nothing new, waits for its orders' answers and for the log, and then
   * ends its session: so long before that end it has begun to leave. Null: they stay where they are.
   */
  readonly handoverMs: number | null;
}

export class Patience {
  readonly graceMs: number;
  readonly #deaf: readonly Span[];

  /** @param deaf in any order; `toMs` is Infinity where it was not over when the log ended */
  constructor(graceMs: number, deaf: readonly Span[]) {
    this.graceMs = graceMs;
    this.#deaf = joined(deaf);
  }

  /** By when it must have answered to what happened at `fromMs` (1). Infinity where it never had the time. */
  dueMs(fromMs: number): number {
    let sinceMs = fromMs;
    for (const deaf of this.#deaf) {
      if (deaf.toMs <= sinceMs) continue;
      if (deaf.fromMs >= sinceMs + this.graceMs) break;
      sinceMs = deaf.toMs;
    }
    return sinceMs + this.graceMs;
  }

  /** Whether it was kept from answering within the plain grace. */
  wasKept(fromMs: number): boolean {
    return this.dueMs(fromMs) > fromMs + this.graceMs;
  }
}

/** Overlapping and touching spans as one, in order. */
export function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const span of [...spans].sort((a, b) => (a.fromMs < b.fromMs ? -1 : 1))) {
    const last = all.at(-1);
    if (last === undefined || span.fromMs > last.toMs) all.push(span);
    else if (span.toMs > last.toMs) all[all.length - 1] = { fromMs: last.fromMs, toMs: span.toMs };
  }
  return all;
}

/** Whether one of the joined spans holds all of this one. */
export const isWithin = (spans: readonly Span[], { fromMs, toMs }: Span): boolean => spans.some((span) => span.fromMs <= fromMs && toMs <= span.toMs);
