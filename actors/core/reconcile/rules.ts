// Owns the rules of reconcile, each a small function: what a trade needs, given what the master
// holds, what is known of it, and what its copy at the broker is.

import { unreachable } from "../../../protocol/errors.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import { isLive, type Pair } from "../../../protocol/pairs.ts";
import type { ClosedPosition, RemovedPending } from "../../../protocol/trades.ts";
import { decide, openedAtMs, type Target } from "../decide.ts";
import { showsEffect } from "../settle.ts";
import type { OwnCopy, Standing } from "./copies.ts";
import type { Action, KnownPair, PlanInput } from "./input.ts";
import { completed, reopened, rowIfChanged, rowOf, standsAs } from "./rows.ts";

export interface Trade {
  readonly masterTicket: Ticket;
  readonly known: KnownPair | null;
  readonly target: Target;
}

/**
 * Its copy stands: adopt or refresh the row, then follow the master (part-close, modify, close when it is gone). A trade that
 * was completed is not copied again: only the rest of its own partly filled order may stand again, as the next opening.
 */
export function standingCopy(input: PlanInput, trade: Trade, copy: OwnCopy, standing: Standing): readonly Action[] {
  const before = trade.known?.pair ?? null;
  if (before?.status === "Closed" && !isOf(before, copy)) return closeLoose(copy);
  const row = before === null ? rowOf(input, trade.masterTicket, trade.target, copy) : isLive(before.status) ? before : reopened(before, copy);
  const pair = standsAs(input, row, copy, standing);
  if (trade.known !== null && isUnsettled(input, trade.known) && !showsEffect(trade.known.pair, pair)) return [{ kind: "again", atMs: trade.known.settlesAtMs }];
  return [...rowIfChanged(before, pair), ...follow(input, trade.target, pair)];
}

/** Its copy has ended at the broker: the row is completed with the reason that history gives, and the trade is never opened again. */
export function endedCopy(input: PlanInput, trade: Trade, copy: OwnCopy, entry: ClosedPosition | RemovedPending): readonly Action[] {
  const before = trade.known?.pair ?? null;
  if (before !== null && !isLive(before.status)) return [];
  // Old history needs no row, unless we have just come: then nobody may have told of it.
  if (before === null && trade.target.kind === "gone" && !input.isFirstLook) return [];
  return rowIfChanged(before, completed(input, trade.target, before ?? rowOf(input, trade.masterTicket, trade.target, copy), entry));
}

/** Nothing at the broker and nothing known: open late within slippage and age, or record why not. */
export function noCopyYet(input: PlanInput, { target }: Trade): readonly Action[] {
  const waits = input.monotonicMs < input.settledAtMs && wasBeforeUs(input, target);
  return waits ? [{ kind: "again", atMs: input.settledAtMs }] : follow(input, target, null);
}

const wasBeforeUs = (input: PlanInput, target: Target): boolean => target.kind !== "gone" && input.masterNowMs !== null && isOlderThanUs(input.masterNowMs - openedAtMs(target), input);

/** Whether the master opened a trade of this age before this ownership began, as far as clocks can tell: a former owner may have sent its copy. */
export const isOlderThanUs = (ageMs: number, { monotonicMs, sinceMs }: Pick<PlanInput, "monotonicMs" | "sinceMs">): boolean => ageMs > monotonicMs - sinceMs - LATE_READING_MS;

/** The master's clock is known from what the log brought: every age is too low by the time that took. */
const LATE_READING_MS = 250;

/** Known, but neither open nor in the history. */
export function absentCopy(input: PlanInput, { target }: Trade, known: KnownPair): readonly Action[] {
  if (!isLive(known.pair.status)) return [];
  if (known.pair.status === "Open") return [{ kind: "missing", pair: known.pair }];
  if (isUnsettled(input, known)) return [{ kind: "again", atMs: known.settlesAtMs }];
  if (target.kind !== "gone") return follow(input, target, null);
  return [{ kind: "row", pair: { ...known.pair, status: "Skipped", reason: "gone_before_copy", detail: {}, changedAtMs: input.nowMs } }];
}

/**
 * Ends an order that is no trade's copy: a second one for a trade that has its copy (executed after we had given it up, or
 * sent by a zombie), or one under our magic that nothing explains.
 */
export function closeLoose({ standing }: OwnCopy): readonly Action[] {
  if (standing === null) return [];
  if (standing.kind === "pending") return [{ kind: "loose", order: { kind: "cancel", ticket: standing.pending.ticket, symbol: standing.pending.symbol } }];
  const { ticket, symbol, volume } = standing.position;
  return [{ kind: "loose", order: { kind: "close", ticket, symbol, volume, part: false } }];
}

const isUnsettled = (input: PlanInput, known: KnownPair): known is KnownPair & { readonly settlesAtMs: number } => known.settlesAtMs !== null && known.settlesAtMs > input.monotonicMs;

/** Whether this is the copy that the pair knew. */
const isOf = ({ followerTicket }: Pair, { tickets }: OwnCopy): boolean => followerTicket !== null && tickets.includes(followerTicket);

/** The next order for the trade, as if its state were news; an open is a late one. */
function follow(input: PlanInput, target: Target, pair: Pair | null): readonly Action[] {
  if (pair === null && input.masterNowMs === null) return target.kind === "gone" ? [] : [{ kind: "again", atMs: input.monotonicMs + CLOCK_UNKNOWN_MS }];
  const decision = decide({
    link: input.link,
    target,
    pair,
    market: input.market(target),
    opening: { late: true, ageMs: target.kind === "gone" || input.masterNowMs === null ? 0 : input.masterNowMs - openedAtMs(target) },
    plain: false,
    nowMs: input.nowMs,
  });
  switch (decision.kind) {
    case "nothing":
    case "later": // the actor waits for the market itself
      return [];
    case "order":
      return [decision];
    case "skip":
      return [{ kind: "row", pair: decision.pair }];
    default:
      return unreachable(decision);
  }
}

/** A master that lives sends its clock every few seconds. */
const CLOCK_UNKNOWN_MS = 1_000;
