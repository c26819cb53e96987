// Owns what a lease keeper knows of clocks: this machine's two, and the database's as its replies tell it.
//
// 1. Another database clock, or another timeline, is another history: the lease that it shows as live may be
//    one that others saw lapse, and theirs may seem lapsed to us. So the old lease counts as not live,
//    and whoever seems to have lapsed is left alone for one ttl: time to renew, or to stop by itself. So it is
//    at the first reply, since a process that has just started cannot know what the clock was before.
// 2. Whoever asks for accounts says which database it expects, so that a jump that nobody has noticed
//    yet gives nothing.
// 3. The machine's clocks are compared with each other between two renewals: apart, they are alarmed about. What
//    follows from it is the gate's, which compares both.

import type { Clock } from "../../protocol/ports/clock.ts";
import type { Journal } from "../../protocol/ports/journal.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { DatabaseClock, ExpectedDatabase } from "../../protocol/ports/storage.ts";
import { expectedAt, heard, isAnother, jumpMs, together, type KnownClock } from "../core/databaseClock.ts";
import { divergenceMs, jumpToleranceMs, type Moment } from "../core/leaseDeadline.ts";
import type { LeaseProfile } from "../core/leaseProfile.ts";

export interface LeaseClocksOptions {
  readonly profile: LeaseProfile;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly journal: Journal;
}

export class LeaseClocks {
  readonly #options: LeaseClocksOptions;
  #known: KnownClock | null = null;
  #looked: Moment | null = null;
  #leaveLapsedUntilMs = -Infinity;

  constructor(options: LeaseClocksOptions) {
    this.#options = options;
  }

  get now(): Moment {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  }

  /** Invariant 3. Once for each renewal. */
  look(now: Moment): void {
    const { logger, metrics, profile } = this.#options;
    const byMs = this.#looked === null ? 0 : divergenceMs(this.#looked, now);
    this.#looked = now;
    if (Math.abs(byMs) <= jumpToleranceMs(profile)) return;
    metrics.count("wall_clock_jumps");
    logger.error({ byMs: Math.round(byMs) }, "this machine's wall clock has jumped, or the machine was suspended");
  }

  /** What a reply says of the database. True: it is another one than before (1). */
  heard(reply: DatabaseClock, sentAtMs: number): boolean {
    const { clock, profile, logger, metrics, journal } = this.#options;
    const [before, now] = [this.#known, heard(reply, sentAtMs, clock.monotonicMs())];
    if (before !== null && !isAnother(before, now, jumpToleranceMs(profile))) {
      this.#known = together(before, now);
      return false;
    }
    this.#known = now;
    this.#leaveLapsedUntilMs = clock.monotonicMs() + profile.ttlMs;
    if (before === null) return false;
    const what = { byMs: Math.round(jumpMs(before, now)), timelineBefore: before.timeline, timeline: now.timeline };
    metrics.count("database_clock_jumps");
    logger.error(what, "the database's clock or timeline is another one: whoever seems to have lapsed is left alone for a while");
    journal.note(null, "clock_jumped", what);
    return true;
  }

  /** Invariant 2; null before the first reply. */
  get expected(): ExpectedDatabase | null {
    const { clock, profile } = this.#options;
    return this.#known && { clock: expectedAt(this.#known, clock.monotonicMs()), toleranceMs: jumpToleranceMs(profile) };
  }

  /** Invariant 1. */
  get leaveLapsed(): boolean {
    return this.#options.clock.monotonicMs() < this.#leaveLapsedUntilMs;
  }
}
