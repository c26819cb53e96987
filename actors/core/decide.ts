// Owns the decision for one trade on one link: what the master holds now, what the copy is now,
// and from these the one next order, or the reason why there is none. No clock, no I/O.
//
// 1. It looks at the state, not at the event: a lost, doubled or overtaken tick changes nothing
//    about what is right now, and two quick changes become one order.
// 2. A pair that is ended or not settled gets no order.
// 3. Only a trade without a pair may open, and only `opening` allows it.
// 4. Closes come before modifies.
// 5. Levels that the broker would refuse at this quote are not sent: the others go without them, and
//    they follow when the market allows it.

import type { Link } from "../../protocol/accounts.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Pair } from "../../protocol/pairs.ts";
import type { ReasonDetail, SkipReason } from "../../protocol/reasons.ts";
import { masterTicketOfComment, tagComment } from "../../protocol/tags.ts";
import type { MasterPending, MasterPosition, TickBody } from "../../protocol/ticks.ts";
import { pendingSide, type Quote, type SymbolSpec } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import { NO_VOLUME, priceText, rescalePoints, type BrokerMs, type WallMs } from "../../protocol/units.ts";
import { sendingPair, skippedPair, type RowStart } from "./pairRow.ts";
import { NO_STOPS, pointsAgainst, sameStops, stopsAt, stopsTaken, worstPrice, type Stops } from "./prices.ts";
import { copyVolume, volumeToClose } from "./sizing.ts";

/** What the master holds of one trade. */
export type Target =
  | { readonly kind: "position"; readonly position: MasterPosition }
  | { readonly kind: "pending"; readonly pending: MasterPending }
  | { readonly kind: "gone"; readonly reason: "master_closed" | "master_cancelled" };

/** What the master still holds. */
export type LiveTarget = Exclude<Target, { kind: "gone" }>;

export const tradeOf = (target: LiveTarget): MasterPosition | MasterPending => (target.kind === "position" ? target.position : target.pending);

/** The master's side of an open or placed trade, by its broker's clock. */
export const openedAtMs = (target: LiveTarget): BrokerMs => (target.kind === "position" ? target.position.openTimeMs : target.pending.placedTimeMs);

/** How old the master's open is, and whether it comes to us as news or was found afterwards. */
export interface Opening {
  readonly late: boolean;
  /** Two readings of the master broker's clock. */
  readonly ageMs: number;
}

/** The follower's side of the market for this trade. */
export interface Market {
  readonly symbol: Pair["symbol"];
  /** Null: its broker has no such symbol. */
  readonly spec: SymbolSpec | null;
  readonly quote: Quote | null;
}

export interface DecideInput {
  readonly link: Link;
  readonly target: Target;
  readonly pair: Pair | null;
  readonly market: Market;
  readonly opening: Opening;
  /** Open and place without stops: the broker refused them once, they are set by a modify afterwards. */
  readonly plain: boolean;
  readonly nowMs: WallMs;
}

export type Decision =
  | { readonly kind: "nothing" }
  /** `pair`: the row as it is once the order is on its way. */
  | { readonly kind: "order"; readonly order: Order; readonly pair: Pair }
  /** Levels wait for the market: their broker would refuse them now. */
  | { readonly kind: "later" }
  /** Not copied, and why: `pair` is ended by it. */
  | { readonly kind: "skip"; readonly pair: Pair };

const NOTHING: Decision = { kind: "nothing" };

export function decide(input: DecideInput): Decision {
  const { target, pair } = input;
  if (pair === null) {
    switch (target.kind) {
      case "position":
        return openPosition(input, target.position);
      case "pending":
        return placePending(input, target.pending);
      case "gone":
        return NOTHING;
      default:
        return unreachable(target);
    }
  }
  if (pair.status !== "Open" || pair.followerTicket === null) return NOTHING;
  const ticket = pair.followerTicket;
  switch (target.kind) {
    case "gone":
      return pair.holds === "pending" ? order(pair, { kind: "cancel", ticket, symbol: pair.symbol }) : order({ ...pair, masterVolume: NO_VOLUME, reason: null }, { kind: "close", ticket, symbol: pair.symbol, volume: pair.volume, part: false });
    case "position":
      // Our own pending fills by its own broker's quotes; until then there is nothing to close or modify.
      return pair.holds === "position" ? followPosition(input, pair, ticket, target.position) : NOTHING;
    case "pending":
      return pair.holds === "pending" ? followPending(input, pair, ticket, target.pending) : NOTHING;
    default:
      return unreachable(target);
  }
}

const order = (pair: Pair, next: Order): Decision => ({ kind: "order", order: next, pair });

function openPosition(input: DecideInput, position: MasterPosition): Decision {
  const { link, market, opening } = input;
  const { ageLimitMs, lateOpenMs, slippagePoints } = link.settings;
  const refused = opensNothing(input, position);
  if (refused !== null) return skip(input, position, refused.reason, refused.detail);
  const { spec, quote } = market;
  if (spec === null) return skip(input, position, "symbol_unknown", { followerSymbol: market.symbol });
  if (quote === null) return skip(input, position, "no_quote", { followerSymbol: market.symbol });
  const isLate = opening.late || opening.ageMs > ageLimitMs;
  if (isLate && opening.ageMs > lateOpenMs) return skip(input, position, "too_old", { ageMs: opening.ageMs, lateOpenMs });
  const sized = copyVolume(link.settings, position.volume, spec);
  if (sized.kind === "skip") return skip(input, position, sized.reason, sized.detail);

  const masterPrice = rescalePoints(position.openPrice, position.digits, spec.digits);
  const againstPoints = pointsAgainst(position.side, masterPrice, quote);
  if (againstPoints > slippagePoints) {
    const reason = isLate ? "late_open_price_moved" : "price_moved";
    return skip(input, position, reason, { againstPoints, slippagePoints, masterPrice: priceText(masterPrice, spec.digits) });
  }
  const stops = stopsTaken(position.side, openingStops(input, spec, position), NO_STOPS, quote, spec.stopLevelPoints); // 5
  const pair = sendingPair({ ...rowStart(input, position), volume: sized.volume });
  return order(pair, {
    kind: "open",
    symbol: market.symbol,
    side: position.side,
    volume: sized.volume,
    priceLimit: worstPrice(position.side, masterPrice, slippagePoints),
    ...stops,
    magic: link.magic,
    comment: tagComment(position.masterTicket),
  });
}

function placePending(input: DecideInput, pending: MasterPending): Decision {
  const { link, market } = input;
  // Copied as a market order when it fills.
  if (!link.settings.copyPendings) return NOTHING;
  const refused = opensNothing(input, pending);
  if (refused !== null) return skip(input, pending, refused.reason, refused.detail);
  const { spec } = market;
  if (spec === null) return skip(input, pending, "symbol_unknown", { followerSymbol: market.symbol });
  const sized = copyVolume(link.settings, pending.volume, spec);
  if (sized.kind === "skip") return skip(input, pending, sized.reason, sized.detail);
  const pair = sendingPair({ ...rowStart(input, pending), volume: sized.volume });
  return order(pair, {
    kind: "place",
    symbol: market.symbol,
    pending: pending.kind,
    volume: sized.volume,
    price: rescalePoints(pending.price, pending.digits, spec.digits),
    ...openingStops(input, spec, pending),
    magic: link.magic,
    comment: tagComment(pending.masterTicket),
  });
}

/** What forbids a new copy whatever the market; closes are never stopped by it. */
function opensNothing({ link }: DecideInput, trade: MasterPosition | MasterPending): { reason: SkipReason; detail: ReasonDetail } | null {
  if (!link.enabled) return { reason: "link_off", detail: {} };
  // No loops: a trade that carries a tag is somebody's copy already.
  if (masterTicketOfComment(trade.comment) !== null) return { reason: "own_tag", detail: { comment: trade.comment, magic: trade.magic } };
  return null;
}

function openingStops(input: DecideInput, spec: SymbolSpec, master: Stops & { readonly digits: number }): Stops {
  return input.link.settings.copyStops && !input.plain ? stopsAt(spec, master) : NO_STOPS;
}

function followPosition(input: DecideInput, pair: Pair, ticket: Ticket, position: MasterPosition): Decision {
  const { link, market } = input;
  if (market.spec === null) return NOTHING;
  const share = { initialVolume: pair.initialVolume, masterInitialVolume: pair.masterInitialVolume, masterVolume: position.volume };
  const volume = volumeToClose(share, pair.volume, market.spec, link.settings.residue);
  if (volume !== NO_VOLUME) {
    return order({ ...pair, masterVolume: position.volume, reason: null }, { kind: "close", ticket, symbol: pair.symbol, volume, part: volume < pair.volume });
  }
  const wanted = stopsAt(market.spec, position);
  if (!link.settings.copyStops || sameStops(wanted, pair)) return NOTHING;
  const stops = market.quote === null ? wanted : stopsTaken(pair.side, wanted, pair, market.quote, market.spec.stopLevelPoints);
  return sameStops(stops, pair) ? { kind: "later" } : order(pair, { kind: "modify", ticket, symbol: pair.symbol, ...stops });
}

function followPending(input: DecideInput, pair: Pair, ticket: Ticket, pending: MasterPending): Decision {
  const { link, market } = input;
  if (market.spec === null) return NOTHING;
  const price = rescalePoints(pending.price, pending.digits, market.spec.digits);
  const stops = link.settings.copyStops ? stopsAt(market.spec, pending) : { stopLoss: pair.stopLoss, takeProfit: pair.takeProfit };
  if (price === pair.openPrice && sameStops(stops, pair)) return NOTHING;
  return order(pair, { kind: "change", ticket, symbol: pair.symbol, price, ...stops });
}

/** The row of a trade that is not copied, and why. */
function skip(input: RowContext, trade: MasterPosition | MasterPending, reason: SkipReason, detail: ReasonDetail): Decision {
  return { kind: "skip", pair: skippedPair(rowStart(input, trade), reason, detail) };
}

/** Whether a tick may open a trade we do not have: what lies between opening and end says nothing about one. */
export const opensTrade = ({ kind }: TickBody): boolean => kind === "opened" || kind === "pending_placed" || kind === "pending_filled";

/** The row of a trade that the master ended before its copy was sent. */
export function neverCopiedPair(input: RowContext, target: LiveTarget): Pair {
  // A pending order of a link that copies none was never ours to copy.
  const pendingsOff = target.kind === "pending" && !input.link.settings.copyPendings;
  return skippedPair(rowStart(input, tradeOf(target)), pendingsOff ? "pendings_off" : "gone_before_copy", {});
}

type RowContext = Pick<DecideInput, "link" | "market" | "nowMs">;

/** The fields that a trade's row has from the start, in the follower's digits where it has the symbol. */
function rowStart({ link, market, nowMs }: RowContext, trade: MasterPosition | MasterPending): Omit<RowStart, "volume"> {
  const pending = "kind" in trade;
  return {
    link,
    masterTicket: trade.masterTicket,
    holds: pending ? "pending" : "position",
    side: pending ? pendingSide(trade.kind) : trade.side,
    symbol: market.symbol,
    digits: market.spec?.digits ?? trade.digits,
    masterVolume: trade.volume,
    nowMs,
  };
}
