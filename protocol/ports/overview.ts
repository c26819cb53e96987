// Owns the port of looking at a cell: who owns what, who lives, what was copied and what was not.
// It changes nothing, and nothing that trades asks it.
//
// 1. Leases are judged on the database's clock, as in the Registry.
// 2. Every list is a page: bounded, in a fixed order, continued after its last row.

import type { Account, Link } from "../accounts.ts";
import type { AccountState } from "../accountState.ts";
import type { AccountId, BootId, Epoch, LinkId, NodeId } from "../ids.ts";
import type { PairStatus } from "../pairs.ts";
import type { Platform } from "../trades.ts";
import type { PairRow } from "./storage.ts";

export interface NodeView {
  readonly node: NodeId;
  readonly boot: BootId;
  readonly live: boolean;
  /** Below 0: since it ran out. */
  readonly leaseLeftMs: number;
  readonly accepting: boolean;
  readonly logOk: boolean;
  readonly address: string | null;
  readonly capacity: number;
  readonly platforms: readonly Platform[];
  /** Accounts whose row names this boot. */
  readonly accounts: number;
}

export interface OwnerView {
  readonly node: NodeId;
  readonly boot: BootId;
  readonly epoch: Epoch;
  /** Whether its lease is live. */
  readonly live: boolean;
  readonly address: string | null;
}

export interface AccountView extends Account {
  readonly epoch: Epoch;
  /** The highest marker that a writer has reached. */
  readonly projectedEpoch: Epoch;
  /** Null: nobody. */
  readonly owner: Omit<OwnerView, "epoch"> | null;
  /** Why nobody tries to log in; null: it is not parked. */
  readonly parked: string | null;
  /** How it stands at its broker, as an owner said it last, and at which epoch; null: nobody has. */
  readonly state: (AccountState & { readonly epoch: Epoch }) | null;
}

/** `after`: the last key of the page before; null begins. */
export interface Page<K> {
  readonly limit: number;
  readonly after: K | null;
}

export interface PairKey {
  readonly link: LinkId;
  readonly masterTicket: number;
  readonly opening: number;
}

export interface PairFilter {
  readonly follower: AccountId | null;
  readonly link: LinkId | null;
  readonly status: PairStatus | null;
}

export interface Overview {
  /** In the order of their names. */
  nodes(): Promise<readonly NodeView[]>;
  /** Null: there is no such account, or nobody owns it. */
  owner(account: AccountId): Promise<OwnerView | null>;
  accounts(page: Page<AccountId>): Promise<readonly AccountView[]>;
  links(page: Page<LinkId>): Promise<readonly Link[]>;
  pairs(filter: PairFilter, page: Page<PairKey>): Promise<readonly PairRow[]>;
  /** Trades that were skipped in the last `sinceMs`, by reason, the most frequent first. */
  skips(sinceMs: number): Promise<readonly { readonly reason: string; readonly count: number }[]>;
}
