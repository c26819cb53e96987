// Owns which accounts' connections are half open: accepted and welcomed, those that come meanwhile
// too, and silent from then on.
//
// 1. What would have been said meanwhile is never said, also not after the healing.

import type { AccountId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";

export interface HalfOpenFault {
  /** How long; null until it is healed. */
  readonly forMs: number | null;
  /** True: what is asked is done, unanswered. False: it never arrives. */
  readonly hears: boolean;
}

interface Silence {
  readonly hears: boolean;
  readonly timer: Timer | null;
}

export class HalfOpen {
  readonly #clock: Clock;
  readonly #silences = new Map<AccountId, Silence>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `onTime` is called when the fault's time is over; it must heal. */
  begin(account: AccountId, { forMs, hears }: HalfOpenFault, onTime: () => void): void {
    this.heal(account);
    this.#silences.set(account, { hears, timer: forMs === null ? null : this.#clock.after(forMs, onTime) });
  }

  heal(account: AccountId): void {
    this.#silences.get(account)?.timer?.cancel();
    this.#silences.delete(account);
  }

  /** Nothing reaches the client. */
  isMute(account: AccountId): boolean {
    return this.#silences.has(account); // 1
  }

  /** Nothing reaches the server either. */
  isDeaf(account: AccountId): boolean {
    return this.#silences.get(account)?.hears === false;
  }

  close(): void {
    for (const account of [...this.#silences.keys()]) this.heal(account);
  }
}
