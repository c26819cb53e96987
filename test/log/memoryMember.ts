// Owns a member of a group of the in-memory log that can die and stand still: a connection on a clock of its own.

import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { MemoryLog, type MemoryLogOptions } from "../../log/memory/memoryLog.ts";
import type { MemoryStore } from "../../log/memory/store.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { LogFixture } from "../contract/logFixture.ts";
import { membership } from "../contract/membership.ts";

export const MEMBER_LIMITS = { ...MEMORY_LOG_LIMITS, maxBatchRecords: 50, sessionMs: 200, handoverMs: 200 };

/** Runs nothing while it is stopped; what came due meanwhile runs when it goes on. */
class StoppableClock implements Clock {
  readonly #clock: Clock;
  #due: (() => void)[] = [];
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs = (): number => this.#clock.wallMs();
  monotonicMs = (): number => this.#clock.monotonicMs();
  after = (delayMs: number, fn: () => void) => this.#clock.after(delayMs, () => this.run(fn));
  soon = (fn: () => void): void => this.#clock.soon(() => this.run(fn));

  run(fn: () => void): void {
    if (this.#isStopped) this.#due.push(fn);
    else fn();
  }

  stop(): void {
    this.#isStopped = true;
  }

  goOn(): void {
    this.#isStopped = false;
    for (const fn of this.#due.splice(0)) fn();
  }
}

export function memoryMember(options: MemoryLogOptions, store: MemoryStore): LogFixture["member"] {
  return async (wanted) => {
    const clock = new StoppableClock(options.clock);
    const log = new MemoryLog({ ...options, clock }, store);
    const member = await membership(log, wanted);
    let thaw = (): void => undefined;
    return {
      got: member.got,
      commits: member.commits,
      release: () => clock.run(() => member.release()),
      kill: async () => log.kill(),
      freeze() {
        thaw = log.standStill();
        clock.stop();
      },
      thaw() {
        clock.goOn();
        thaw();
      },
    };
  };
}
