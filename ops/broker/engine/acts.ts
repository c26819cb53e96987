// Owns what the broker does to a position by itself: nobody asked for it, or nobody asks any more.
// Pure decisions on one account's state. A new one is a variant of `BrokerAct` and a case below.

import { unreachable } from "../../../protocol/errors.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import { openingPrice, type Position } from "../../../protocol/trades.ts";
import { NO_VOLUME, type Points, type VolumeUnits } from "../../../protocol/units.ts";
import { decideOrder, isFull, refuse, type Decision, type OrderMoment } from "./orders.ts";
import { closedBy } from "./quotes.ts";
import type { AccountState } from "./state.ts";

export type BrokerAct =
  /** A part of a position is closed at the market, as where there is not liquidity enough for all of it. */
  | { readonly kind: "part_close"; readonly ticket: Ticket; readonly volume: VolumeUnits }
  /** A position is closed at the market for want of margin. */
  | { readonly kind: "stop_out"; readonly ticket: Ticket }
  /** MT5: server work gives a position another ticket. */
  | { readonly kind: "reticket"; readonly ticket: Ticket }
  /** MT5: more of an order fills that was filled in part. `first`: the position as that part made it. */
  | { readonly kind: "fill_rest"; readonly first: Position; readonly volume: VolumeUnits };

type ActOf<K extends BrokerAct["kind"]> = Extract<BrokerAct, { kind: K }>;

export function decideAct(state: AccountState, act: BrokerAct, at: OrderMoment): Decision {
  switch (act.kind) {
    case "part_close":
      return decidePartClose(state, act, at);
    case "stop_out":
      return decideStopOut(state, act, at);
    case "reticket":
      return decideReticket(state, act, at);
    case "fill_rest":
      return decideFillRest(state, act, at);
    default:
      return unreachable(act);
  }
}

function decidePartClose(state: AccountState, { ticket, volume }: ActOf<"part_close">, at: OrderMoment): Decision {
  const position = state.positions.get(ticket);
  if (position === undefined) return refuse("unknown_position");
  if (volume >= position.volume) return refuse("invalid_volume");
  return decideOrder(state, { kind: "close", ticket, symbol: position.symbol, volume, part: true }, at);
}

function decideStopOut(state: AccountState, { ticket }: ActOf<"stop_out">, at: OrderMoment): Decision {
  const position = state.positions.get(ticket);
  if (position === undefined) return refuse("unknown_position");
  const quote = state.quotes.get(position.symbol);
  if (quote === undefined) return refuse("off_quotes");
  const closed = closedBy(state, position, "stop_out", quote, at.nowMs);
  const outcome = { refusal: null, ticket: null, left: null, volume: position.volume, price: closed.closePrice };
  return { outcome, events: [{ kind: "deal", deal: "closed", closed }] };
}

function decideReticket(state: AccountState, { ticket }: ActOf<"reticket">, at: OrderMoment): Decision {
  const before = state.positions.get(ticket);
  if (before === undefined) return refuse("unknown_position");
  const position = state.rules.reticketed(before, at.newTicket);
  if (position === null) return refuse("invalid_request");
  const outcome = { refusal: null, ticket: position.ticket, left: position.ticket, volume: NO_VOLUME, price: null };
  return { outcome, events: [{ kind: "reticketed", before, position }] };
}

function decideFillRest(state: AccountState, { first, volume }: ActOf<"fill_rest">, at: OrderMoment): Decision {
  const quote = state.quotes.get(first.symbol);
  if (quote === undefined) return refuse("off_quotes");
  const price = openingPrice(first.side, quote);
  const standing = [...state.positions.values()].find(({ identifier }) => identifier === first.identifier);
  if (standing === undefined && isFull(state)) return refuse("too_many_positions");
  const position: Position =
    standing === undefined
      ? { ...first, volume, openPrice: price, openTimeMs: at.nowMs }
      : { ...standing, volume: (standing.volume + volume) as VolumeUnits, openPrice: averagePrice(standing, volume, price) };
  const outcome = { refusal: null, ticket: position.ticket, left: position.ticket, volume, price };
  return { outcome, events: [{ kind: "grown", position, volume, price }] };
}

function averagePrice(standing: Position, volume: VolumeUnits, price: Points): Points {
  const share = standing.volume / (standing.volume + volume);
  return Math.round(price + (standing.openPrice - price) * share) as Points;
}
