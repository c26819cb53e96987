// Owns the pace of this process's logins, broker by broker: after an outage hundreds of sessions
// would log in at once, and brokers shut out who does.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { nextTurn, type Pace } from "../core/pacing.ts";

export class LoginPacer {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #pace: Pace;
  readonly #paidUntilMs = new Map<string, number>();

  /** @throws LockstepError `configuration` */
  constructor(clock: Pick<Clock, "monotonicMs">, pace: Pace) {
    if (!(pace.perSecond > 0 && Number.isInteger(pace.burst) && pace.burst >= 1 && pace.maxWaitMs >= 0)) {
      throw new LockstepError("configuration", `logins: expected a pace above 0 a second, a burst of 1 or more and a bound for the wait, got ${pace.perSecond}, ${pace.burst} and ${pace.maxWaitMs} ms`);
    }
    this.#clock = clock;
    this.#pace = pace;
  }

  /** How long to wait before logging in at this host; null: too long, come again later. */
  reserve(host: string): number | null {
    const turn = nextTurn(this.#paidUntilMs.get(host) ?? -Infinity, this.#clock.monotonicMs(), this.#pace);
    if (turn.kind === "full") return null;
    this.#paidUntilMs.set(host, turn.paidUntilMs);
    return turn.waitMs;
  }
}
