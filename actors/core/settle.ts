// Owns how a pair changes: by the broker's answer to an order of ours, and by what the follower's
// broker reports by itself. Whichever comes first counts; the other finds nothing left to change.
//
// 1. An ended pair never changes.
// 2. The broker's report is the truth about tickets, volumes and stops; an answer only says how
//    our call ended.
// 3. MetaTrader 4's part-close moves the pair to the rest's new ticket (`from #OLD`).

import type { Answer, Order } from "../../protocol/orders.ts";
import type { Pair } from "../../protocol/pairs.ts";
import type { EndReason, ReasonDetail } from "../../protocol/reasons.ts";
import { isClosedOnRequest, isLive } from "../../protocol/pairs.ts";
import { chainFrom, chainTo, masterTicketOfComment } from "../../protocol/tags.ts";
import type { AccountChange, CloseReason, PendingOrder, Position } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { Target } from "./decide.ts";
import { NO_VOLUME, type VolumeUnits, type WallMs } from "../../protocol/units.ts";

type Executed = Extract<Answer, { kind: "done" | "done_in_part" }>;

/**
 * The pair after `order` was executed as `answer` says. Asked for something that is so already counts as executed.
 * @param sent the pair when the order was sent: where `pair` is other by now, the broker's report came first (invariant 2)
 */
export function afterExecution(pair: Pair, order: Order, answer: Executed, sent: Pair, nowMs: WallMs): Pair {
  if (!isLive(pair.status)) return pair;
  const changed: Pair = { ...pair, changedAtMs: nowMs };
  switch (order.kind) {
    case "open":
      return {
        ...changed,
        status: "Open",
        followerTicket: pair.followerTicket ?? answer.ticket,
        ...(pair.status === "Sending" ? { initialVolume: answer.volume, volume: answer.volume, stopLoss: order.stopLoss, takeProfit: order.takeProfit } : {}),
        openPrice: answer.price ?? pair.openPrice,
      };
    case "place":
      return {
        ...changed,
        status: "Open",
        followerTicket: pair.followerTicket ?? answer.ticket,
        ...(pair.status === "Sending" ? { openPrice: order.price, stopLoss: order.stopLoss, takeProfit: order.takeProfit } : {}),
      };
    case "close":
      if (pair.followerTicket !== order.ticket) return { ...changed, masterVolume: sent.masterVolume };
      if (leavesNothing(order, answer)) return end(changed, isClosedOnRequest(sent) ? "closed_on_request" : sent.masterVolume === NO_VOLUME ? "master_closed" : "part_below_grid", {});
      // MetaTrader 4 without the new ticket: nothing is known of the rest until it is looked for.
      if (answer.ticket === null) return notOnRequest(pair);
      return { ...notOnRequest(changed), masterVolume: sent.masterVolume, followerTicket: answer.ticket, volume: pair.volume === sent.volume ? ((pair.volume - answer.volume) as VolumeUnits) : pair.volume };
    case "modify":
      return pair.followerTicket === order.ticket ? { ...changed, stopLoss: order.stopLoss, takeProfit: order.takeProfit } : changed;
    case "change":
      return pair.followerTicket === order.ticket ? { ...changed, openPrice: order.price, stopLoss: order.stopLoss, takeProfit: order.takeProfit } : changed;
    case "cancel":
      return pair.followerTicket === order.ticket && pair.holds === "pending" ? end(changed, "master_cancelled", {}) : changed;
    default:
      return unreachable(order);
  }
}

/** Whether a close that was executed ended the whole position. */
export const leavesNothing = (order: Extract<Order, { kind: "close" }>, answer: Executed): boolean => !order.part && answer.kind === "done";

/** Whether an order ends its copy, as far as it is executed. */
export const endsCopy = (order: Order | null): boolean => order?.kind === "cancel" || (order?.kind === "close" && !order.part);

/** The pair once what a person asked for is known to leave it standing, or was not sent at all. */
export const notOnRequest = (pair: Pair): Pair => (isLive(pair.status) && isClosedOnRequest(pair) ? { ...pair, reason: null } : pair);

export type OwnEnding = Extract<EndReason, "master_closed" | "part_below_grid" | "closed_on_request">;

/** What a copy's end is called while `flight` is under way and the master holds `target` (null: not known); null when it is not our doing. */
export function ownEnding(flight: Order | null, target: Target | null): OwnEnding | null {
  if (target?.kind === "gone") return "master_closed";
  if (!endsCopy(flight)) return null;
  return target === null ? "master_closed" : "part_below_grid";
}

export function end(pair: Pair, reason: EndReason, detail: ReasonDetail): Pair {
  return { ...pair, status: "Closed", volume: NO_VOLUME, reason, detail };
}

/** The order that a report shows standing; null where it tells of an end. */
export function standingOrder(change: AccountChange): Position | PendingOrder | null {
  switch (change.kind) {
    case "position_opened":
    case "position_changed":
    case "pending_filled":
      return change.position;
    case "pending_placed":
    case "pending_changed":
      return change.pending;
    case "position_closed":
    case "pending_removed":
      return null;
    default:
      return unreachable(change);
  }
}

/** Whether a report is about this pair: by its ticket, its chain, or its tag while it has no ticket. */
export function concerns(pair: Pair, change: AccountChange, magic: number): boolean {
  switch (change.kind) {
    case "position_opened": {
      const { position } = change;
      if (pair.followerTicket !== null) return position.ticket === pair.followerTicket || chainFrom(position.comment) === pair.followerTicket;
      return position.magic === magic && masterTicketOfComment(position.comment) === pair.masterTicket;
    }
    case "position_changed":
      return isOf(pair, change.position, magic);
    case "position_closed":
      return isOf(pair, change.closed.position, magic);
    case "pending_placed":
    case "pending_changed":
      if (pair.followerTicket !== null) return change.pending.ticket === pair.followerTicket;
      return change.pending.magic === magic && masterTicketOfComment(change.pending.comment) === pair.masterTicket;
    case "pending_removed":
      return change.removed.pending.ticket === pair.followerTicket;
    case "pending_filled":
      if (pair.followerTicket !== null) return change.pendingTicket === pair.followerTicket;
      return change.position.magic === magic && masterTicketOfComment(change.position.comment) === pair.masterTicket;
    default:
      return unreachable(change);
  }
}

/** By its ticket or, where MetaTrader 5's server work gave it another, by its identifier or tag. */
function isOf(pair: Pair, { ticket, identifier, magic, comment }: Position, ownMagic: number): boolean {
  if (ticket === pair.followerTicket) return true;
  if (ticket === identifier || pair.followerTicket === null) return false;
  return identifier === pair.followerTicket || (magic === ownMagic && masterTicketOfComment(comment) === pair.masterTicket);
}

/**
 * The pair after a report that concerns it.
 * @param ours what the copy's end is called if it is our doing (its master's trade is gone, or a close or cancel of ours is under
 *   way): else a manual close is somebody's hand.
 */
export function afterChange(pair: Pair, change: AccountChange, ours: OwnEnding | null, nowMs: WallMs): Pair {
  if (!isLive(pair.status)) return pair;
  const changed: Pair = { ...pair, changedAtMs: nowMs };
  switch (change.kind) {
    case "position_opened":
      return pair.followerTicket === null || pair.status === "Sending" ? adopted(changed, change.position) : withPosition(changed, change.position);
    case "position_changed":
      return withPosition(changed, change.position);
    case "position_closed": {
      const { position, reason } = change.closed;
      // Invariant 3: only a part; the rest is reported under its own ticket.
      if (chainTo(position.comment) !== null) return pair;
      return end(changed, endReason(reason, isClosedOnRequest(pair) ? "closed_on_request" : ours), { followerTicket: position.ticket });
    }
    case "pending_placed":
      return adoptedPending(changed, change.pending);
    case "pending_changed":
      return adoptedPending(changed, change.pending);
    case "pending_removed":
      return end(changed, ours === null ? "removed" : "master_cancelled", { followerTicket: change.removed.pending.ticket, why: change.removed.reason });
    case "pending_filled":
      return adopted({ ...changed, holds: "position" }, change.position);
    default:
      return unreachable(change);
  }
}

/** The pair once its order is found standing as this position: an answer that never came is settled by it. */
export function adopted(pair: Pair, position: Position): Pair {
  return { ...withPosition(pair, position), status: "Open", holds: "position", initialVolume: position.volume, openPrice: position.openPrice };
}

/** The same for a pending order. */
export function adoptedPending(pair: Pair, pending: PendingOrder): Pair {
  return {
    ...pair,
    status: "Open",
    holds: "pending",
    followerTicket: pending.ticket,
    initialVolume: pending.volume,
    volume: pending.volume,
    openPrice: pending.price,
    stopLoss: pending.stopLoss,
    takeProfit: pending.takeProfit,
  };
}

/** What a position was opened with, once more of its order has been filled. */
export const grown = (initial: VolumeUnits, before: VolumeUnits, now: VolumeUnits): VolumeUnits => (now > before ? ((initial + now - before) as VolumeUnits) : initial);

function withPosition(pair: Pair, position: Position): Pair {
  const initialVolume = pair.status === "Open" && pair.holds === "position" && pair.followerTicket === position.ticket ? grown(pair.initialVolume, pair.volume, position.volume) : pair.initialVolume;
  return { ...pair, initialVolume, followerTicket: position.ticket, volume: position.volume, stopLoss: position.stopLoss, takeProfit: position.takeProfit };
}

/** Whether `now` settles an order of unknown outcome: an open that stands, or a part-close whose part is gone. Levels say nothing about it. */
export const showsEffect = (before: Pair, now: Pair): boolean => before.status === "Sending" || now.followerTicket !== before.followerTicket || now.volume !== before.volume;

export function endReason(reason: CloseReason, ours: OwnEnding | null): EndReason {
  return reason === "manual" ? (ours ?? reason) : reason;
}
