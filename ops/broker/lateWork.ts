// Owns what the broker does of an order after its arrival: an order that is executed late, the rest
// of one that was filled in part. Nobody waits for it and nobody is told but by its changes.
//
// 1. What is still to come counts as unanswered for the account's flood bound, so it is bounded.
// 2. It happens whatever became of the connection; only the end of the server stops it.
// 3. Whatever comes of it is in the log as `late`, after what it did.

import type { AccountId } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Position } from "../../protocol/trades.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import type { Broker } from "./broker.ts";
import type { Outcome } from "./engine/orders.ts";
import { resultCode } from "./engine/refusals.ts";
import type { BrokerLog } from "./log.ts";

export interface LateWorkOptions {
  readonly broker: Broker;
  readonly log: BrokerLog;
  readonly clock: Clock;
}

export class LateWork {
  readonly #options: LateWorkOptions;
  readonly #timers = new Map<AccountId, Set<Timer>>();

  constructor(options: LateWorkOptions) {
    this.#options = options;
  }

  /** What is still to come on an account. */
  waiting(account: AccountId): number {
    return this.#timers.get(account)?.size ?? 0;
  }

  /** Executes a received order `afterMs` from now; it may be refused then. */
  execute(account: AccountId, order: Order, requestN: number, afterMs: number): void {
    this.#after(account, requestN, afterMs, () => this.#options.broker.execute(account, order, requestN));
  }

  /** Fills `volume` more of the order `requestN`, of which `first` is the part that was filled on arrival. */
  fillRest(account: AccountId, first: Position, volume: VolumeUnits, requestN: number, afterMs: number): void {
    this.#after(account, requestN, afterMs, () => this.#options.broker.fillRest(account, first, volume, requestN));
  }

  close(): void {
    for (const timers of this.#timers.values()) for (const timer of timers) timer.cancel(); // 2
    this.#timers.clear();
  }

  #after(account: AccountId, requestN: number, afterMs: number, work: () => Outcome): void {
    const { broker, log, clock } = this.#options;
    const timers = this.#timers.get(account) ?? new Set();
    const timer = clock.after(afterMs, () => {
      timers.delete(timer);
      const { refusal, ticket, volume, price } = work();
      log.append({ kind: "late", account, requestN, ...resultCode(broker.account(account).platform, refusal), ticket, volume, price }); // 3
    });
    this.#timers.set(account, timers.add(timer)); // 1
  }
}
