// Owns reconcile: state in, actions out. What the broker holds and what its history says is the
// record; pairs are a memory that may lag. The same input gives the same plan.
//
// 1. A book or snapshot that is not synced concludes nothing.
// 2. A trade's own copy is looked for by ticket, chain and tag, in open orders and in history,
//    before anything is opened for it.
// 3. A copy that is in neither is `missing`: nothing is concluded, it is looked for again.
// 4. A pair whose order is under way is left out; one whose answer was unknown gets another order only
//    when the effect is seen, or after its settle time.
// 5. Closes and cancels come first, opens last.
// 6. A trade has at most one copy, and an ended one has none: what else carries its tag was executed
//    after we had given it up, and is closed.

import type { Link } from "../../protocol/accounts.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import { isLive, type Pair } from "../../protocol/pairs.ts";
import { pendingSide, type AccountSnapshot, type ClosedPosition, type PendingOrder, type Position, type RemovedPending } from "../../protocol/trades.ts";
import type { BrokerMs, VolumeUnits, WallMs } from "../../protocol/units.ts";
import { decide, openedAtMs, type Market, type Target } from "./decide.ts";
import { ownOrders, type OwnOrders, type Standing } from "./ownOrders.ts";
import { samePair, sendingPair } from "./pairRow.ts";
import { adopted, adoptedPending, end, endReason, showsEffect } from "./settle.ts";
import { copyVolume } from "./sizing.ts";

export interface KnownPair {
  readonly pair: Pair;
  /** An order of this trade is under way: invariant 4. */
  readonly busy: boolean;
  /** Before this moment an order of unknown outcome may still be executed. Null: none is; one that is `Sending` was certainly never sent. */
  readonly settlesAtMs: number | null;
}

export interface PlanInput {
  readonly link: Link;
  /** By master ticket; null while the master is not synced. */
  readonly targets: ReadonlyMap<Ticket, Exclude<Target, { kind: "gone" }>> | null;
  readonly snapshot: AccountSnapshot;
  readonly pairs: ReadonlyMap<Ticket, KnownPair>;
  readonly market: (target: Target) => Market;
  /** The master broker's clock now: ages are two readings of it. Null while it is not known: nothing is opened. */
  readonly masterNowMs: BrokerMs | null;
  /** Monotonic, like `settlesAtMs`. */
  readonly monotonicMs: number;
  readonly nowMs: WallMs;
}

export type Action =
  /** The row is other than it was known: adopted, completed, refreshed, skipped. Nothing is sent. */
  | { readonly kind: "row"; readonly pair: Pair }
  | { readonly kind: "order"; readonly order: Order; readonly pair: Pair }
  | { readonly kind: "missing"; readonly pair: Pair }
  /** Look again at this monotonic time: something cannot be concluded before. */
  | { readonly kind: "again"; readonly atMs: number };

export function plan(input: PlanInput): readonly Action[] {
  if (input.targets === null || !input.snapshot.synced) return [];
  const own = ownOrders(input.snapshot, input.link.magic);
  const actions: Action[] = [];
  const tickets = new Set([...input.pairs.keys(), ...input.targets.keys(), ...own.masterTickets()]);
  for (const masterTicket of [...tickets].sort((a, b) => a - b)) actions.push(...planTrade(input, own, masterTicket));
  return actions.sort((a, b) => rank(a) - rank(b));
}

/** A master that lives sends its clock every few seconds. */
const CLOCK_UNKNOWN_MS = 1_000;

const RANK = { close: 0, cancel: 0, modify: 1, change: 1, open: 3, place: 3 } as const;
/** Invariant 5; rows before the orders that rest on them. */
const rank = (action: Action): number => (action.kind === "order" ? 1 + RANK[action.order.kind] : 0);

function planTrade(input: PlanInput, own: OwnOrders, masterTicket: Ticket): readonly Action[] {
  const known = input.pairs.get(masterTicket) ?? null;
  const target: Target = input.targets?.get(masterTicket) ?? { kind: "gone", reason: "master_closed" };
  if (known?.busy === true) return [];
  if (known !== null && !isLive(known.pair.status)) return surplus(own, known.pair);

  const standing = find(own, masterTicket, known?.pair.followerTicket ?? null);
  switch (standing.kind) {
    case "position":
    case "pending": {
      const order = standing.kind === "position" ? standing.position : standing.pending;
      const pair = standsAs(input, known?.pair ?? rowFor(input, target, masterTicket, order, standing.kind === "position" ? standing.initialVolume : order.volume), standing);
      if (known !== null && isUnsettled(input, known) && !showsEffect(known.pair, pair)) return [{ kind: "again", atMs: known.settlesAtMs }];
      return [...rowIfChanged(known?.pair ?? null, pair), ...surplus(own, pair), ...follow(input, target, pair)];
    }
    case "ended": {
      const order = endedOrder(standing.entry);
      const pair = completed(input, target, known?.pair ?? rowFor(input, target, masterTicket, order, order.volume), standing.entry);
      return [...rowIfChanged(known?.pair ?? null, pair), ...surplus(own, pair)];
    }
    case "none":
      return known === null ? follow(input, target, null) : absent(input, target, known);
  }
}

/** Invariant 2. The tag also finds what the broker gave another ticket. */
function find(own: OwnOrders, masterTicket: Ticket, ticket: Ticket | null): Standing {
  const standing = ticket === null ? null : own.byTicket(ticket);
  return standing === null || standing.kind === "none" ? own.byTag(masterTicket) : standing;
}

/** Invariant 6. */
function surplus(own: OwnOrders, pair: Pair): readonly Action[] {
  const orders = own.openOf(pair.masterTicket).filter(({ ticket }) => !isLive(pair.status) || ticket !== pair.followerTicket);
  return orders.map(({ ticket, symbol, volume, ...order }): Action => {
    const ending: Order = "kind" in order ? { kind: "cancel", ticket, symbol } : { kind: "close", ticket, symbol, volume, part: false };
    return { kind: "order", order: ending, pair };
  });
}

const isUnsettled = (input: PlanInput, known: KnownPair): known is KnownPair & { readonly settlesAtMs: number } => known.settlesAtMs !== null && known.settlesAtMs > input.monotonicMs;

/** A live pair whose copy is in neither the open orders nor the history. */
function absent(input: PlanInput, target: Target, known: KnownPair): readonly Action[] {
  if (known.pair.status === "Open") return [{ kind: "missing", pair: known.pair }];
  // Invariant 4.
  if (isUnsettled(input, known)) return [{ kind: "again", atMs: known.settlesAtMs }];
  if (target.kind !== "gone") return follow(input, target, null);
  const pair: Pair = { ...known.pair, status: "Skipped", reason: "gone_before_copy", detail: {}, changedAtMs: input.nowMs };
  return [{ kind: "row", pair }];
}

/** The next order for the trade, as if its state were news; an open is a late one. */
function follow(input: PlanInput, target: Target, pair: Pair | null): readonly Action[] {
  if (pair === null && input.masterNowMs === null) return target.kind === "gone" ? [] : [{ kind: "again", atMs: input.monotonicMs + CLOCK_UNKNOWN_MS }];
  const decision = decide({
    link: input.link,
    target,
    pair,
    market: input.market(target),
    opening: { late: true, ageMs: ageMs(input, target) },
    plain: false,
    nowMs: input.nowMs,
  });
  switch (decision.kind) {
    case "nothing":
      return [];
    case "order":
      return [decision];
    case "skip":
      return [{ kind: "row", pair: decision.pair }];
  }
}

function ageMs({ masterNowMs }: PlanInput, target: Target): number {
  if (target.kind === "gone" || masterNowMs === null) return 0;
  return masterNowMs - openedAtMs(target);
}

function standsAs(input: PlanInput, pair: Pair, standing: Extract<Standing, { kind: "position" | "pending" }>): Pair {
  const now: Pair = { ...pair, changedAtMs: input.nowMs };
  if (standing.kind === "pending") return adoptedPending(now, standing.pending);
  // What it was opened with is known for an open pair; it must not shrink to what is left.
  const initialVolume = pair.status === "Open" && pair.holds === "position" ? pair.initialVolume : standing.initialVolume;
  return { ...adopted(now, standing.position), initialVolume };
}

const endedOrder = (entry: ClosedPosition | RemovedPending): Position | PendingOrder => ("position" in entry ? entry.position : entry.pending);

function completed(input: PlanInput, target: Target, pair: Pair, entry: ClosedPosition | RemovedPending): Pair {
  const followerTicket = endedOrder(entry).ticket;
  const now: Pair = { ...pair, followerTicket, changedAtMs: input.nowMs };
  const closing = target.kind === "gone";
  if ("pending" in entry) return end(now, closing ? "master_cancelled" : "removed", { followerTicket, why: entry.reason });
  return end({ ...now, holds: "position" }, endReason(entry.reason, closing), { followerTicket });
}

/** A row for a copy that is found without one. Where the master holds nothing more, its volume is taken for the copy's. */
function rowFor(input: PlanInput, target: Target, masterTicket: Ticket, order: Position | PendingOrder, initialVolume: VolumeUnits): Pair {
  const pending = "kind" in order;
  return sendingPair({
    link: input.link,
    masterTicket,
    holds: pending ? "pending" : "position",
    side: pending ? pendingSide(order.kind) : order.side,
    symbol: order.symbol,
    digits: order.digits,
    volume: order.volume,
    masterVolume: masterVolumeAtOpen(input, target, initialVolume),
    nowMs: input.nowMs,
  });
}

/** What the master held when a copy of `initialVolume` was opened: all of it or, where only that gives such a copy, what is left. */
function masterVolumeAtOpen(input: PlanInput, target: Target, initialVolume: VolumeUnits): VolumeUnits {
  if (target.kind === "gone") return initialVolume;
  if (target.kind === "pending") return target.pending.volume;
  const { initialVolume: whole, volume: left } = target.position;
  const { spec } = input.market(target);
  const gives = (volume: VolumeUnits): boolean => {
    const sized = spec === null ? null : copyVolume(input.link.settings, volume, spec);
    return sized?.kind === "volume" && sized.volume === initialVolume;
  };
  return gives(left) && !gives(whole) ? left : whole;
}

function rowIfChanged(before: Pair | null, after: Pair): readonly Action[] {
  return before !== null && samePair(before, after) ? [] : [{ kind: "row", pair: after }];
}
