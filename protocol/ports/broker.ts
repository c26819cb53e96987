// Owns the port of a broker session: one account's connection, whatever platform is behind it.

import type { AccountId, SymbolName } from "../ids.ts";
import type { Execution, Order, Permit } from "../orders.ts";
import type { AccountChange, AccountSnapshot, Platform, Quote, SymbolSpec } from "../trades.ts";
import type { BrokerMs } from "../units.ts";

export type SessionEvent =
  /** Logged in and loaded. `snapshot` may still be unsynced. */
  | { readonly kind: "connected"; readonly snapshot: AccountSnapshot }
  | { readonly kind: "disconnected"; readonly detail: string }
  /** The broker refused the login: the last event, nothing is tried again. Brokers lock accounts for repeating it. */
  | { readonly kind: "refused"; readonly detail: string }
  /** `callbackAtMs`: our wall clock when the broker's callback came. */
  | { readonly kind: "changed"; readonly change: AccountChange; readonly callbackAtMs: number };

export interface BrokerSession {
  readonly account: AccountId;
  readonly platform: Platform;
  /** It waits for its turn to log in, since others do so at the same broker: that it is not connected says nothing against the account. */
  readonly waitsForTurn: boolean;
  /** Starts connecting, and reconnects by itself until `close` or a refused login. Events come after it. */
  open(onEvent: (event: SessionEvent) => void): void;
  /** As the broker spells them; case decides only where two differ by nothing else. */
  spec(symbol: SymbolName): SymbolSpec | null;
  symbols(): readonly SymbolSpec[];
  /** The newest quote this session was sent. */
  quote(symbol: SymbolName): Quote | null;
  /** The broker's clock now, carried forward on our monotonic clock; null before the first login. */
  brokerNowMs(): BrokerMs | null;
  /** @throws LockstepError `unreachable` */
  snapshot(historyFromMs: BrokerMs): Promise<AccountSnapshot>;
  /** Never rejects: every end of a call is an Execution. */
  execute(order: Order, permit: Permit): Promise<Execution>;
  /** Ends the session. Calls that are under way settle as unknown. */
  close(): Promise<void>;
}
