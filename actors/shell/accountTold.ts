// Owns telling how an account stands at its broker: it listens to the session that its actor has, and says what
// changed to the log, beside the pairs and under the same fence.
//
// 1. A session that comes or goes is told at once; money at most every few seconds, as snapshots show it.
// 2. What has not changed is told again once in a while: a writer of an older release passes such records over.
// 3. Nothing waits for it, and what does not fit into the buffer is told with the next change.

import type { AccountState } from "../../protocol/accountState.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import { wallNow, type Clock } from "../../protocol/ports/clock.ts";
import type { AccountSnapshot, Funds } from "../../protocol/trades.ts";
import type { Counter } from "./counter.ts";
import type { EventSink } from "./eventSink.ts";
import type { Ownership } from "./ownership.ts";

export interface AccountToldOptions {
  readonly ownership: Ownership;
  readonly events: Pick<EventSink, "publish">;
  /** Of the states of this ownership. */
  readonly numbers: Counter;
  readonly clock: Clock;
}

const MONEY_EVERY_MS = 5_000;
const AGAIN_AFTER_MS = 300_000;

type Known = Omit<AccountState, "changedAtMs">;

class AccountTold {
  readonly #options: AccountToldOptions;
  #known: Known = { connected: false, funds: null, lastError: null };
  /** What the log was given last. */
  #told: Known | null = null;
  #toldAtMs = -Infinity;

  constructor(options: AccountToldOptions) {
    this.#options = options;
  }

  onEvent(event: SessionEvent): void {
    if (event.kind === "connected") this.#tell({ connected: true, funds: fundsIn(event.snapshot) ?? this.#known.funds });
    else if (event.kind === "disconnected" || event.kind === "refused") this.#tell({ connected: false, lastError: event.detail });
  }

  onSnapshot(snapshot: AccountSnapshot): void {
    const funds = fundsIn(snapshot);
    if (funds !== null) this.#tell({ funds });
  }

  onClose(): void {
    this.#tell({ connected: false });
  }

  #tell(change: Partial<Known>): void {
    const { ownership, events, numbers, clock } = this.#options;
    this.#known = { ...this.#known, ...change };
    const sinceMs = clock.monotonicMs() - this.#toldAtMs;
    const isNews = this.#told === null || this.#told.connected !== this.#known.connected || this.#told.lastError !== this.#known.lastError;
    const isDue = sinceMs >= AGAIN_AFTER_MS || (sinceMs >= MONEY_EVERY_MS && !sameFunds(this.#told?.funds ?? null, this.#known.funds));
    if (!isNews && !isDue) return; // 1, 2
    const state: AccountState = { ...this.#known, changedAtMs: wallNow(clock) };
    if (!events.publish({ kind: "account", follower: ownership.account, epoch: ownership.epoch, n: numbers.next(), state })) return; // 3
    this.#told = this.#known;
    this.#toldAtMs = clock.monotonicMs();
  }
}

/** A broker that still loads shows none of it, or zeros. */
const fundsIn = ({ synced, funds }: AccountSnapshot): Funds | null => (synced ? (funds ?? null) : null);

const sameFunds = (a: Funds | null, b: Funds | null): boolean => a?.balance === b?.balance && a?.equity === b?.equity && a?.currency === b?.currency;

/** The same session, listened to. */
export function toldSession(session: BrokerSession, options: AccountToldOptions): BrokerSession {
  const told = new AccountTold(options);
  return {
    account: session.account,
    platform: session.platform,
    get waitsForTurn() {
      return session.waitsForTurn;
    },
    open: (onEvent) =>
      session.open((event) => {
        told.onEvent(event);
        onEvent(event);
      }),
    spec: (symbol) => session.spec(symbol),
    symbols: () => session.symbols(),
    quote: (symbol) => session.quote(symbol),
    brokerNowMs: () => session.brokerNowMs(),
    async snapshot(historyFromMs) {
      const snapshot = await session.snapshot(historyFromMs);
      told.onSnapshot(snapshot);
      return snapshot;
    },
    execute: (order, permit) => session.execute(order, permit),
    close() {
      told.onClose();
      return session.close();
    },
  };
}
