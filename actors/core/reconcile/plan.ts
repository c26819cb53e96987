// Owns reconcile: state in, actions out. What the broker holds and what its history says is the
// record; pairs are a memory that may lag. The same input gives the same plan. It reads like the
// table in the actors' README: trust, then identity (bind), then one rule for each state of a trade.
//
// 1. Nothing is concluded from nothing: a book or snapshot that is not synced, stale, or empty
//    against what is known closes, ends and opens nothing.
// 2. A trade whose order is under way is left out; an order of unknown outcome is asked for again
//    only when its effect is seen or its settle time is over.
// 3. Cancels and closes come first, opens last; a plan has a bounded number of orders.
// 4. While the barrier waits, nothing is ended as unexplained, and on a link that holds such an order nothing is concluded
//    of a trade whose copy is not known: that order may be it. Whoever waits looks again when the barrier has passed.

import type { Ticket } from "../../../protocol/ids.ts";
import { isLive } from "../../../protocol/pairs.ts";
import { showsNothing } from "../emptiness.ts";
import { bind, type Binding } from "./bind.ts";
import { gatherCopies, type OwnCopy } from "./copies.ts";
import { fingerprintsOf } from "./fingerprints.ts";
import type { Action, PlanInput } from "./input.ts";
import { absentCopy, closeLoose, endedCopy, noCopyYet, standingCopy, type Trade } from "./rules.ts";

export function plan(input: PlanInput): readonly Action[] {
  if (distrust(input) !== null) return [];
  const pairs = [...input.pairs.values()].map(({ pair }) => pair);
  const known = new Set(pairs.flatMap(({ followerTicket }) => followerTicket ?? []));
  const binding = bind(gatherCopies(input.snapshot, input.link.magic, known), pairs, fingerprintsOf(input));
  const actions = [...tradesOf(input, binding)].flatMap((masterTicket) => planTrade(input, binding, masterTicket));
  return inOrder([...actions, ...unexplained(input, binding)], input.limits.maxOrders, input.monotonicMs);
}

/** Invariant 1: why nothing can be concluded now; null when something can. */
export function distrust({ targets, masterSilentMs, snapshot, snapshotAgeMs, emptinessConfirmed, pairs, limits }: PlanInput): string | null {
  if (targets === null) return "the master's book is not synced";
  if (masterSilentMs > limits.staleAfterMs) return "the master has not been heard of";
  if (!snapshot.synced) return "the snapshot is not synced";
  if (snapshotAgeMs > limits.staleAfterMs) return "the snapshot is stale";
  const somethingStands = [...pairs.values()].some(({ pair }) => isLive(pair.status));
  return !emptinessConfirmed && isEmptyAgainst(snapshot, somethingStands, targets.size > 0) ? "the snapshot is empty" : null;
}

/** An account that shows nothing at all, although something of ours should stand or is about to be opened on the strength of it. */
function isEmptyAgainst(snapshot: PlanInput["snapshot"], somethingStands: boolean, somethingToOpen: boolean): boolean {
  return showsNothing(snapshot) && (somethingStands || somethingToOpen);
}

/**
 * What nothing explains is ended, but not while an order of this link is under way or unsettled: it may be that very order. Nor
 * what is the rest of something older than the history we see: its tag may stand there.
 */
function unexplained({ pairs, monotonicMs, settledAtMs, barrier }: PlanInput, { unexplained: copies }: Binding): readonly Action[] {
  if (copies.length === 0 || barrier === "waiting") return []; // 4
  const open = [...pairs.values()].filter(({ busy, settlesAtMs }) => busy || (settlesAtMs !== null && settlesAtMs > monotonicMs));
  if (monotonicMs < settledAtMs) return [{ kind: "again", atMs: settledAtMs }];
  if (open.length > 0) return [{ kind: "again", atMs: monotonicMs + LOOK_AGAIN_MS }];
  return copies.filter((copy) => !copy.isCut).flatMap(closeLoose);
}

const LOOK_AGAIN_MS = 1_000;

function tradesOf({ pairs, targets, isFirstLook }: PlanInput, { copyOf, extras }: Binding): Ticket[] {
  const standing = [...copyOf].filter(([, copy]) => copy.standing !== null || isFirstLook).map(([masterTicket]) => masterTicket);
  return [...new Set([...pairs.keys(), ...(targets?.keys() ?? []), ...standing, ...extras.keys()])].sort((a, b) => a - b);
}

function planTrade(input: PlanInput, { copyOf, extras, unexplained: nobodys }: Binding, masterTicket: Ticket): readonly Action[] {
  const known = input.pairs.get(masterTicket) ?? null;
  // Invariant 2.
  if (known?.busy === true) return [];
  const trade: Trade = { masterTicket, known, target: input.targets?.get(masterTicket) ?? { kind: "gone", reason: "master_closed" } };
  const copy: OwnCopy | null = copyOf.get(masterTicket) ?? null;
  if (copy === null && known?.pair.status !== "Open" && input.barrier === "waiting" && nobodys.length > 0) return []; // 4
  return [...(extras.get(masterTicket) ?? []).flatMap(closeLoose), ...ruleFor(input, trade, copy)];
}

function ruleFor(input: PlanInput, trade: Trade, copy: OwnCopy | null): readonly Action[] {
  if (copy !== null && copy.standing !== null) return standingCopy(input, trade, copy, copy.standing);
  if (copy !== null && copy.ended !== null) return endedCopy(input, trade, copy, copy.ended);
  return trade.known === null ? noCopyYet(input, trade) : absentCopy(input, trade, trade.known);
}

/** Rows first; loose orders go with the closes. */
const RANK = { close: 1, cancel: 1, modify: 2, change: 2, open: 3, place: 3 } as const;

/** Invariant 3; rows come before the orders that rest on them. */
function inOrder(actions: readonly Action[], maxOrders: number, monotonicMs: number): readonly Action[] {
  const isOrder = (action: Action): boolean => action.kind === "order" || action.kind === "loose";
  const rank = (action: Action): number => (action.kind === "order" || action.kind === "loose" ? RANK[action.order.kind] : 0);
  const sorted = [...actions].sort((a, b) => rank(a) - rank(b));
  const orders = sorted.filter(isOrder);
  if (orders.length <= maxOrders) return sorted;
  return [...sorted.filter((action) => !isOrder(action)), ...orders.slice(0, maxOrders), { kind: "again", atMs: monotonicMs }];
}
