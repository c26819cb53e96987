// Owns what a quote does on one account: pending orders that it fills, stops and targets that it
// hits. A pure decision on the account's state.
//
// 1. First the pendings it reaches are filled, in the order of their placing; then the stops of
//    the positions that stood *before* this quote are looked at, in the order in which they came
//    to stand. A position made by this quote is first looked at with the next.
// 2. Everything happens at the quote, not at the price that was asked for: a gap costs.
// 3. Buyers pay the ask and are closed at the bid; sellers the other way round.
// 4. A quote that hits both stop and target hits the stop.

import { closingPrice, openingPrice, pendingSide, type ClosedPosition, type CloseReason, type PendingOrder, type Position, type Quote } from "../../../protocol/trades.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import type { TradeEvent } from "../log.ts";
import type { AccountState } from "./state.ts";
import { isReached } from "./validation.ts";

export function decideQuote(state: AccountState, quote: Quote, nowMs: BrokerMs): TradeEvent[] {
  const events: TradeEvent[] = [];
  for (const pending of state.pendings.values()) {
    if (pending.symbol === quote.symbol && isReached(pending.kind, pending.price, quote)) events.push(filled(pending, quote, nowMs));
  }
  for (const position of state.positions.values()) { // 1: `state` is still as it was before the quote
    const reason = position.symbol === quote.symbol ? hit(position, quote) : null;
    if (reason !== null) events.push({ kind: "deal", deal: "closed", closed: closedBy(state, position, reason, quote, nowMs) });
  }
  return events;
}

function filled(pending: PendingOrder, quote: Quote, nowMs: BrokerMs): TradeEvent {
  const side = pendingSide(pending.kind);
  const { ticket, symbol, digits, volume, stopLoss, takeProfit, magic, comment } = pending;
  const openPrice = openingPrice(side, quote); // 2, 3
  return {
    kind: "pending",
    step: "filled",
    pending,
    position: { ticket, identifier: ticket, symbol, digits, side, volume, openPrice, openTimeMs: nowMs, stopLoss, takeProfit, magic, comment },
  };
}

function hit(position: Position, quote: Quote): CloseReason | null {
  const { side, stopLoss, takeProfit } = position;
  const price = closingPrice(side, quote); // 3
  if (stopLoss !== null && (side === "buy" ? price <= stopLoss : price >= stopLoss)) return "stop_loss"; // 4
  if (takeProfit !== null && (side === "buy" ? price >= takeProfit : price <= takeProfit)) return "take_profit";
  return null;
}

/** The whole position, as it ends in the history. */
export function closedBy(state: AccountState, position: Position, reason: CloseReason, quote: Quote, nowMs: BrokerMs): ClosedPosition {
  return {
    position: { ...position, comment: state.rules.historyComment(position.comment, reason) },
    closePrice: closingPrice(position.side, quote), // 2
    closeTimeMs: nowMs,
    reason,
  };
}
