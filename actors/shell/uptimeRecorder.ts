// Owns what is recorded of this node's minutes: `ok`, or `degraded` where it had no proven lease at any moment of one.
//
// 1. Minutes are the database's: its clock is learnt with each record, and carried on by ours that only goes on.
//    Our wall clock, which may be an hour off, is not asked.
// 2. Everything since the last look is judged by what both looks saw: only a gate that stood open all along was ok. After
//    a freeze the minutes of it are judged too, from the moment at which the lease could no longer be proven.
// 3. What the database does not take is kept for later, a bounded number of minutes, the newest.
// 4. Nothing waits for it.

import type { FenceState } from "../executor/sharedGate.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { UPTIME_OK, type Identity, type Uptime, type UptimeMinute } from "../../protocol/ports/storage.ts";
import { messageOf } from "../../protocol/errors.ts";
import { within } from "../../protocol/waiting.ts";

export const NO_LEASE = "degraded: no account lease";

/** What is asked of the gate. */
export interface Fence {
  /** Never the same twice: other than before means that it was closed meanwhile. */
  state(): FenceState;
  /** 0 while it is closed. */
  leftMs(): number;
}

export interface UptimeRecorderOptions {
  readonly me: Identity;
  readonly uptime: Uptime;
  readonly gate: Fence;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Look {
  readonly atMs: number;
  readonly state: FenceState;
  readonly leftMs: number;
}

const MINUTE_MS = 60_000;
const LOOK_MS = 1_000;
const RECORD_MS = 10_000;
const RECORD_LIMIT_MS = 5_000;
/** A reply that took longer says too little of the time. */
const SLOW_REPLY_MS = 2_000;
/** A week. */
const MOST_MINUTES = 10_080;

export class UptimeRecorder {
  readonly #options: UptimeRecorderOptions;
  /** Not recorded yet, by their starts. */
  #minutes = new Map<number, string>();
  #before: Look;
  /** The database's clock less our monotonic one; null until it was first heard. */
  #aheadMs: number | null = null;
  /** The database's time up to which is judged. */
  #judgedMs: number | null = null;
  /** The fence when the database's clock was last heard. */
  #learntAt: FenceState | null = null;
  #recordedAtMs: number;
  #recording: Promise<void> | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: UptimeRecorderOptions) {
    this.#options = options;
    this.#before = this.#look();
    this.#recordedAtMs = this.#before.atMs;
  }

  start(): void {
    this.#record();
    this.#next();
  }

  /** Hands over what is left, or gives up after a while. Before the lease is given back: that is no degraded minute. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.abandon();
    this.#judge();
    await this.#recording;
    this.#record();
    await this.#recording;
  }

  /** As in a process that dies. */
  abandon(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #next(): void {
    this.#timer = this.#options.clock.after(LOOK_MS, () => {
      this.#judge();
      if (this.#before.atMs - this.#recordedAtMs >= RECORD_MS) this.#record();
      this.#next();
    });
  }

  #look(): Look {
    const { gate, clock } = this.#options;
    return { atMs: clock.monotonicMs(), state: gate.state(), leftMs: gate.leftMs() };
  }

  /** Invariant 2. */
  #judge(): void {
    const before = this.#before;
    const now = (this.#before = this.#look());
    if (this.#aheadMs === null) return;
    const untilMs = this.#aheadMs + now.atMs;
    const fromMs = Math.min(this.#judgedMs ?? untilMs, untilMs);
    const wasOpen = now.leftMs > 0 && before.leftMs > 0 && now.state === before.state;
    // It ran out in between, and was proven until then; or it was closed at a moment that nobody noted.
    const provenMs = wasOpen ? untilMs : before.leftMs < now.atMs - before.atMs ? fromMs + before.leftMs : fromMs;
    this.#judged(fromMs, untilMs, (endMs) => (wasOpen || endMs <= provenMs ? UPTIME_OK : NO_LEASE));
  }

  #judged(fromMs: number, untilMs: number, stateOf: (endMs: number) => string): void {
    const boundMs = untilMs - MOST_MINUTES * MINUTE_MS; // 3
    for (let minuteMs = startOf(Math.max(fromMs, boundMs)); minuteMs <= untilMs; minuteMs += MINUTE_MS) this.#mark(minuteMs, stateOf(minuteMs + MINUTE_MS));
    this.#judgedMs = untilMs;
  }

  #mark(minuteMs: number, state: string): void {
    if ((this.#minutes.get(minuteMs) ?? UPTIME_OK) === UPTIME_OK) this.#minutes.set(minuteMs, state);
    const [oldest] = this.#minutes.keys();
    if (this.#minutes.size > MOST_MINUTES && oldest !== undefined) this.#minutes.delete(oldest); // 3
  }

  #record(): void {
    this.#recording ??= this.#recordNow().finally(() => (this.#recording = null));
  }

  /** Never rejects. */
  async #recordNow(): Promise<void> {
    const { me, uptime, clock, logger } = this.#options;
    const minutes = this.#minutes;
    const sentAtMs = (this.#recordedAtMs = clock.monotonicMs());
    this.#minutes = new Map();
    try {
      const told: UptimeMinute[] = [...minutes].map(([minuteMs, state]) => ({ minuteMs, state }));
      const nowMs = await within(clock, RECORD_LIMIT_MS, "the record of minutes", uptime.record(me.node, told));
      if (clock.monotonicMs() - sentAtMs <= SLOW_REPLY_MS) this.#learn(nowMs - sentAtMs);
    } catch (error) {
      logger.debug({ error: messageOf(error) }, "minutes not recorded yet");
      const meanwhile = this.#minutes;
      this.#minutes = minutes;
      for (const [minuteMs, state] of meanwhile) this.#mark(minuteMs, state);
    }
  }

  /**
   * Invariant 1. The database's clock ahead of what we made of it: either it jumped, which is no time that passed; or ours stood still, as
   * in a suspended machine. Then the gate did not stand open all along.
   */
  #learn(aheadMs: number): void {
    const { gate } = this.#options;
    this.#aheadMs ??= aheadMs;
    this.#judge();
    const untilMs = aheadMs + this.#before.atMs;
    const missedMs = untilMs - (this.#judgedMs ?? untilMs);
    this.#aheadMs = aheadMs;
    if (missedMs > SLOW_REPLY_MS && gate.state() !== this.#learntAt) this.#judged(untilMs - missedMs, untilMs, () => NO_LEASE);
    this.#judgedMs = untilMs;
    this.#learntAt = gate.state();
  }
}

const startOf = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;
