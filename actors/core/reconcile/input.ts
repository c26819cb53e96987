// Owns what reconcile is given and what it answers with.

import type { Link } from "../../../protocol/accounts.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { AccountSnapshot } from "../../../protocol/trades.ts";
import type { BrokerMs, WallMs } from "../../../protocol/units.ts";
import type { LiveTarget, Market, Target } from "../decide.ts";

export interface KnownPair {
  readonly pair: Pair;
  /** An order of this trade is under way: the trade is left out. */
  readonly busy: boolean;
  /** Before this moment an order of unknown outcome may still be executed. Null: none is; one that is `Sending` was certainly never sent. */
  readonly settlesAtMs: number | null;
}

export interface PlanInput {
  readonly link: Link;
  /** By master ticket; null while the master is not synced. */
  readonly targets: ReadonlyMap<Ticket, LiveTarget> | null;
  /** How long the master has not been heard of; beyond `staleAfterMs` its book closes and ends nothing. */
  readonly masterSilentMs: number;
  readonly snapshot: AccountSnapshot;
  /** Since the snapshot was asked for. */
  readonly snapshotAgeMs: number;
  /** An earlier snapshot of this session, a while ago, was as empty as this one: only then is emptiness believed. */
  readonly emptinessConfirmed: boolean;
  readonly pairs: ReadonlyMap<Ticket, KnownPair>;
  readonly market: (target: Target) => Market;
  /** The master broker's clock now: ages are two readings of it. Null while it is not known: nothing is opened. */
  readonly masterNowMs: BrokerMs | null;
  /** Monotonic: before it, what a former owner of the account has sent may still be executed, and nothing is opened late that the master opened before we came. */
  readonly settledAtMs: number;
  /** When we came, monotonic. */
  readonly sinceMs: number;
  /** `waiting`: what the former owners said may not be among the pairs yet, so an order that no pair explains may be explained by one of those. */
  readonly barrier: "open" | "waiting";
  /** Every look of this ownership up to the first from after the settle time: copies that have ended and that no row knows are recorded. */
  readonly isFirstLook: boolean;
  /** Monotonic, like `settlesAtMs`. */
  readonly monotonicMs: number;
  readonly nowMs: WallMs;
  readonly limits: PlanLimits;
}

export interface PlanLimits {
  /** A book or snapshot older than this closes and ends nothing. */
  readonly staleAfterMs: number;
  /** How long after its sending an order may still be executed. */
  readonly settleMs: number;
  /** Orders of one plan, at most. */
  readonly maxOrders: number;
}

export type Action =
  /** The row is other than it was known: adopted, completed, refreshed, skipped. Nothing is sent. */
  | { readonly kind: "row"; readonly pair: Pair }
  /** `pair`: the row once the order is on its way. */
  | { readonly kind: "order"; readonly order: Order; readonly pair: Pair }
  /** Ends an order of ours that is no trade's copy: an extra, or one that nothing explains. */
  | { readonly kind: "loose"; readonly order: Extract<Order, { kind: "close" | "cancel" }> }
  | { readonly kind: "missing"; readonly pair: Pair }
  /** Look again at this monotonic time: something cannot be concluded before. */
  | { readonly kind: "again"; readonly atMs: number };
