// Owns what the broker makes of an order: a pure decision on one account's state.
//
// 1. An order is judged whole before anything happens: a refusal has no events.
// 2. Market orders fill at the quote of now, whole; an open whose price limit is better than that
//    is a requote.
// 3. Stops that stay as they are, and an unchanged pending price, are not judged again: the market
//    may have come near them since.

import { unreachable } from "../../../protocol/errors.ts";
import type { SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import { closingPrice, openingPrice, pendingSide, type PendingOrder, type Position, type RemovalReason, type SymbolSpec } from "../../../protocol/trades.ts";
import { NO_VOLUME, type BrokerMs, type Points, type VolumeUnits } from "../../../protocol/units.ts";
import type { TradeEvent } from "../log.ts";
import type { Refusal } from "./refusals.ts";
import type { AccountState } from "./state.ts";
import { closeVolumeFault, pendingPriceFault, stopsFault, volumeFault, type Stops } from "./validation.ts";

/** What came of an order. */
export interface Outcome {
  readonly refusal: Refusal | null;
  /** As the platform's answer names it: MT4 names none after a close. */
  readonly ticket: Ticket | null;
  /** What stands at the broker afterwards, answered or not: after a part-close the rest. Null where nothing is left. */
  readonly left: Ticket | null;
  /** Executed. */
  readonly volume: VolumeUnits;
  /** Fill price; null where nothing was filled. */
  readonly price: Points | null;
}

export interface Decision {
  readonly outcome: Outcome;
  readonly events: readonly TradeEvent[];
}

/** `newTicket` is used by whatever comes to stand under a number of its own; a number that is not used is a gap. */
export interface OrderMoment {
  readonly nowMs: BrokerMs;
  readonly newTicket: Ticket;
}

type OrderOf<K extends Order["kind"]> = Extract<Order, { kind: K }>;

export const refusedOutcome = (refusal: Refusal): Outcome => ({ refusal, ticket: null, left: null, volume: NO_VOLUME, price: null });
export const refuse = (refusal: Refusal): Decision => ({ outcome: refusedOutcome(refusal), events: [] }); // 1

export function decideOrder(state: AccountState, order: Order, at: OrderMoment): Decision {
  switch (order.kind) {
    case "open":
      return decideOpen(state, order, at);
    case "close":
      return decideClose(state, order, at);
    case "modify":
      return decideModify(state, order);
    case "place":
      return decidePlace(state, order, at);
    case "change":
      return decideChange(state, order);
    case "cancel":
      return decideCancel(state, order, at);
    default:
      return unreachable(order);
  }
}

function decideOpen(state: AccountState, order: OrderOf<"open">, at: OrderMoment): Decision {
  const spec = state.specs.get(order.symbol);
  if (spec === undefined) return refuse("unknown_symbol");
  const quote = state.quotes.get(order.symbol);
  if (quote === undefined) return refuse("off_quotes");
  if (isFull(state)) return refuse("too_many_positions");
  const price = openingPrice(order.side, quote);
  const fault = volumeFault(spec, order.volume) ?? stopsFault(spec, order.side, closingPrice(order.side, quote), order);
  if (fault !== null) return refuse(fault);
  if (order.priceLimit !== null && (order.side === "buy" ? price > order.priceLimit : price < order.priceLimit)) return refuse("requote"); // 2
  const position: Position = {
    ticket: at.newTicket,
    identifier: at.newTicket,
    symbol: order.symbol,
    digits: spec.digits,
    side: order.side,
    volume: order.volume,
    openPrice: price,
    openTimeMs: at.nowMs,
    stopLoss: order.stopLoss,
    takeProfit: order.takeProfit,
    magic: order.magic,
    comment: state.rules.storedComment(order.comment),
  };
  const outcome = { refusal: null, ticket: position.ticket, left: position.ticket, volume: order.volume, price };
  return { outcome, events: [{ kind: "deal", deal: "opened", position }] };
}

function decideClose(state: AccountState, order: OrderOf<"close">, at: OrderMoment): Decision {
  const position = state.positions.get(order.ticket);
  if (position === undefined) return refuse("unknown_position");
  if (position.symbol !== order.symbol) return refuse("invalid_request");
  const quote = state.quotes.get(order.symbol);
  if (quote === undefined) return refuse("off_quotes");
  const fault = closeVolumeFault(heldSpec(state, order.symbol), position.volume, order.volume);
  if (fault !== null) return refuse(fault);

  const price = closingPrice(position.side, quote); // 2
  const ticket = state.rules.closeNamesTicket ? position.ticket : null;
  const end = { closePrice: price, closeTimeMs: at.nowMs, reason: "manual" } as const;
  if (order.volume === position.volume) {
    const outcome = { refusal: null, ticket, left: null, volume: order.volume, price };
    return { outcome, events: [{ kind: "deal", deal: "closed", closed: { position, ...end } }] };
  }
  const { part, rest } = state.rules.split(position, order.volume, at.newTicket);
  const outcome = { refusal: null, ticket, left: rest.ticket, volume: order.volume, price };
  return { outcome, events: [{ kind: "deal", deal: "part_closed", closed: { position: part, ...end }, rest }] };
}

function decideModify(state: AccountState, order: OrderOf<"modify">): Decision {
  const before = state.positions.get(order.ticket);
  if (before === undefined) return refuse("unknown_position");
  if (before.symbol !== order.symbol) return refuse("invalid_request");
  if (sameStops(before, order)) return refuse("no_changes");
  const quote = state.quotes.get(order.symbol);
  if (quote === undefined) return refuse("off_quotes");
  const fault = stopsFault(heldSpec(state, order.symbol), before.side, closingPrice(before.side, quote), changedStops(before, order)); // 3
  if (fault !== null) return refuse(fault);
  const position: Position = { ...before, stopLoss: order.stopLoss, takeProfit: order.takeProfit };
  return { outcome: standing(position.ticket), events: [{ kind: "modified", before, position }] };
}

function decidePlace(state: AccountState, order: OrderOf<"place">, at: OrderMoment): Decision {
  const spec = state.specs.get(order.symbol);
  if (spec === undefined) return refuse("unknown_symbol");
  const quote = state.quotes.get(order.symbol);
  if (quote === undefined) return refuse("off_quotes");
  if (isFull(state)) return refuse("too_many_pendings");
  const fault =
    volumeFault(spec, order.volume) ?? pendingPriceFault(spec, order.pending, order.price, quote) ?? stopsFault(spec, pendingSide(order.pending), order.price, order);
  if (fault !== null) return refuse(fault);
  const pending: PendingOrder = {
    ticket: at.newTicket,
    symbol: order.symbol,
    digits: spec.digits,
    kind: order.pending,
    volume: order.volume,
    price: order.price,
    placedTimeMs: at.nowMs,
    stopLoss: order.stopLoss,
    takeProfit: order.takeProfit,
    magic: order.magic,
    comment: state.rules.storedComment(order.comment),
  };
  return { outcome: standing(pending.ticket), events: [{ kind: "pending", step: "placed", pending }] };
}

function decideChange(state: AccountState, order: OrderOf<"change">): Decision {
  const before = state.pendings.get(order.ticket);
  if (before === undefined) return refuse("unknown_pending");
  if (before.symbol !== order.symbol) return refuse("invalid_request");
  const samePrice = order.price === before.price;
  if (samePrice && sameStops(before, order)) return refuse("no_changes");
  const quote = state.quotes.get(order.symbol);
  if (quote === undefined) return refuse("off_quotes");
  const spec = heldSpec(state, order.symbol);
  const priceFault = samePrice ? null : pendingPriceFault(spec, before.kind, order.price, quote); // 3
  const fault = priceFault ?? stopsFault(spec, pendingSide(before.kind), order.price, samePrice ? changedStops(before, order) : order);
  if (fault !== null) return refuse(fault);
  const pending: PendingOrder = { ...before, price: order.price, stopLoss: order.stopLoss, takeProfit: order.takeProfit };
  return { outcome: standing(pending.ticket), events: [{ kind: "pending", step: "changed", before, pending }] };
}

function decideCancel(state: AccountState, order: OrderOf<"cancel">, at: OrderMoment): Decision {
  const pending = state.pendings.get(order.ticket);
  if (pending === undefined) return refuse("unknown_pending");
  if (pending.symbol !== order.symbol) return refuse("invalid_request");
  return { outcome: { ...standing(pending.ticket), left: null }, events: [removal(pending, "cancelled", at.nowMs)] };
}

/** The event of a pending that ends unfilled. */
export function removal(pending: PendingOrder, reason: RemovalReason, nowMs: BrokerMs): TradeEvent {
  return { kind: "pending", step: "removed", removed: { pending, removedTimeMs: nowMs, reason } };
}

/** Pendings count too: each may become a position. */
export const isFull = (state: AccountState): boolean => state.positions.size + state.pendings.size >= state.limits.maxOpen;

/** The spec of a symbol that something stands in: nothing could be opened without one. */
function heldSpec(state: AccountState, symbol: SymbolName): SymbolSpec {
  const spec = state.specs.get(symbol);
  if (spec === undefined) throw new Error(`a position or pending in ${symbol}, which has no spec`);
  return spec;
}

/** Done, nothing filled. */
const standing = (ticket: Ticket): Outcome => ({ refusal: null, ticket, left: ticket, volume: NO_VOLUME, price: null });

const sameStops = (a: Stops, b: Stops): boolean => a.stopLoss === b.stopLoss && a.takeProfit === b.takeProfit;

function changedStops(before: Stops, after: Stops): Stops {
  return {
    stopLoss: after.stopLoss === before.stopLoss ? null : after.stopLoss,
    takeProfit: after.takeProfit === before.takeProfit ? null : after.takeProfit,
  };
}
