// Owns how an account stands at its broker, as its owner tells it, and what owners say in `pair-events`.
//
// 1. An event holds all of the state, and its version (epoch, n) only rises.
// 2. It lies in the partition of the account's pairs, behind its owner's marker: one fence holds for both.

import type { AccountId, Epoch } from "./ids.ts";
import type { PairEvent } from "./pairs.ts";
import type { Funds } from "./trades.ts";
import type { WallMs } from "./units.ts";

export interface AccountState {
  /** Whether its owner has a session. */
  readonly connected: boolean;
  /** What its broker last said; null where it has not, or never does. */
  readonly funds: Funds | null;
  /** Why there was no session last; null: there always was one. */
  readonly lastError: string | null;
  readonly changedAtMs: WallMs;
}

export interface AccountStateEvent {
  readonly kind: "account";
  /** Whose it is: masters have states too. The name is that of every event's key. */
  readonly follower: AccountId;
  readonly epoch: Epoch;
  readonly n: number;
  readonly state: AccountState;
}

export type OwnerEvent = PairEvent | AccountStateEvent;
