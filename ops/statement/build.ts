// Owns the way from raw orders to a statement: digits by symbol, what the comments say, chains,
// and which list each order belongs to. Knows nothing of file formats.

import { LockstepError } from "../../protocol/errors.ts";
import type { Magic, SymbolName, Ticket } from "../../protocol/ids.ts";
import type { CloseReason, PendingKind, Side } from "../../protocol/trades.ts";
import { NO_VOLUME, pointsFromPrice } from "../../protocol/units.ts";
import type { BrokerMs, Points, VolumeUnits } from "../../protocol/units.ts";
import { joinChains } from "./chains.ts";
import type { Chains } from "./chains.ts";
import { readPendingComment, readTradeComment, removalReason } from "./comments.ts";
import type { TradeComment } from "./comments.ts";
import type { ClosedTrade, OpenTrade, RemovedPending, Statement, StatementFormat, WorkingOrder } from "./model.ts";
import { decimalsOf, readAt } from "./values.ts";

/** One order as its row shows it. Prices are decimal text: a symbol's digits are only known when all rows are read. */
export interface RawOrder {
  /** Where it stands, for errors. */
  readonly place: string;
  readonly type: Side | PendingKind;
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly volume: VolumeUnits;
  readonly openTimeMs: BrokerMs;
  readonly price: string;
  /** `0.00` where none was set. */
  readonly stopLoss: string;
  readonly takeProfit: string;
  /** Null while it is open or working. */
  readonly closeTimeMs: BrokerMs | null;
  /** At the close or removal, else the market's when the statement was made. */
  readonly lastPrice: string;
  readonly comment: string;
  /** The words on how a pending order ended. */
  readonly outcome: string;
}

/** A raw order with its prices in points of its symbol's digits. */
interface PricedOrder {
  readonly raw: RawOrder;
  readonly digits: number;
  readonly price: Points;
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
  readonly lastPrice: Points;
}

interface PricedTrade extends PricedOrder {
  readonly side: Side;
  readonly said: TradeComment;
}

/**
 * @param bookings the type words of rows that are no order
 * @throws LockstepError `bad_statement`: a ticket that stands twice, an end before its start, a price that is too large.
 */
export function buildStatement(format: StatementFormat, orders: readonly RawOrder[], bookings: readonly string[]): Statement {
  checkOrders(orders);
  const digits = digitsBySymbol(orders);
  const ignored = new Map<string, number>();
  const ignore = (kind: string): void => void ignored.set(kind, (ignored.get(kind) ?? 0) + 1);
  for (const kind of bookings) ignore(kind);

  const trades: PricedTrade[] = [];
  const pendings: RemovedPending[] = [];
  const working: WorkingOrder[] = [];
  const kept: RawOrder[] = [];
  for (const raw of orders) {
    const said = readTradeComment(raw.comment);
    if (raw.volume === NO_VOLUME) {
      ignore(said.closeBy ? "close by" : "zero volume");
      continue;
    }
    kept.push(raw);
    const order = priced(raw, digits.get(raw.symbol) ?? 0);
    if (raw.type === "buy" || raw.type === "sell") trades.push({ ...order, side: raw.type, said });
    else if (raw.closeTimeMs === null) working.push(workingOrder(order, raw.type));
    else pendings.push(removedPending(order, raw.type, raw.closeTimeMs));
  }

  const chains = joinChains(trades.map(({ raw, side, price, said }) => ({ ticket: raw.ticket, symbol: raw.symbol, side, openTimeMs: raw.openTimeMs, openPrice: price, closed: raw.closeTimeMs !== null, namedFrom: said.chainFrom, namedTo: said.chainTo })));
  const positions: ClosedTrade[] = [];
  const open: OpenTrade[] = [];
  for (const trade of trades) {
    if (trade.raw.closeTimeMs === null) open.push(openTrade(trade, chains));
    else positions.push(closedTrade(trade, trade.raw.closeTimeMs, chains));
  }
  const times = kept.flatMap(({ openTimeMs, closeTimeMs }) => (closeTimeMs === null ? [openTimeMs] : [openTimeMs, closeTimeMs]));
  return {
    format,
    positions,
    open,
    pendings,
    working,
    chains: chains.to.size,
    unresolvedChains: chains.unresolved,
    ignored: Object.fromEntries(ignored),
    symbols: symbolsOf(kept, digits),
    fromMs: times.reduce<BrokerMs | null>((least, time) => (least === null || time < least ? time : least), null),
    toMs: times.reduce<BrokerMs | null>((most, time) => (most === null || time > most ? time : most), null),
  };
}

function checkOrders(orders: readonly RawOrder[]): void {
  const placeOf = new Map<Ticket, string>();
  for (const { ticket, place, openTimeMs, closeTimeMs } of orders) {
    const before = placeOf.get(ticket);
    if (before !== undefined) throw new LockstepError("bad_statement", `${place}: the ticket stands there twice, first at ${before}`);
    if (closeTimeMs !== null && closeTimeMs < openTimeMs) throw new LockstepError("bad_statement", `${place}: it ends before it begins`);
    placeOf.set(ticket, place);
  }
}

/** The most digits that any price of a symbol shows. */
function digitsBySymbol(orders: readonly RawOrder[]): Map<SymbolName, number> {
  const digits = new Map<SymbolName, number>();
  for (const { symbol, price, stopLoss, takeProfit, lastPrice } of orders) {
    digits.set(symbol, Math.max(digits.get(symbol) ?? 0, ...[price, stopLoss, takeProfit, lastPrice].map(decimalsOf)));
  }
  return digits;
}

function priced(raw: RawOrder, digits: number): PricedOrder {
  return readAt(raw.place, () => {
    const stop = (price: string): Points | null => {
      const points = pointsFromPrice(price, digits);
      return points === 0 ? null : points;
    };
    return { raw, digits, price: pointsFromPrice(raw.price, digits), stopLoss: stop(raw.stopLoss), takeProfit: stop(raw.takeProfit), lastPrice: pointsFromPrice(raw.lastPrice, digits) };
  });
}

function common({ raw, digits, stopLoss, takeProfit }: PricedOrder, magic: Magic | null, comment: string) {
  return { ticket: raw.ticket, symbol: raw.symbol, digits, volume: raw.volume, stopLoss, takeProfit, magic, comment };
}

function openTrade(trade: PricedTrade, chains: Chains): OpenTrade {
  const { raw, side, price, lastPrice, said } = trade;
  return { ...common(trade, said.magic, said.own), side, openTimeMs: raw.openTimeMs, openPrice: price, chainFrom: chains.from.get(raw.ticket) ?? null, marketPrice: lastPrice };
}

function closedTrade(trade: PricedTrade, closeTimeMs: BrokerMs, chains: Chains): ClosedTrade {
  const { raw, side, price, lastPrice, said } = trade;
  const chainTo = chains.to.get(raw.ticket) ?? null;
  return {
    ...common(trade, said.magic, said.own),
    side,
    openTimeMs: raw.openTimeMs,
    openPrice: price,
    chainFrom: chains.from.get(raw.ticket) ?? null,
    closeTimeMs,
    closePrice: lastPrice,
    closeReason: chainTo !== null ? "manual" : (said.closeReason ?? reasonByPrice(trade)),
    gap: said.gap,
    chainTo,
  };
}

/** Brokers that write no marks still close at exactly the stop or the target. */
function reasonByPrice({ lastPrice, stopLoss, takeProfit }: PricedOrder): CloseReason {
  if (lastPrice === stopLoss) return "stop_loss";
  return lastPrice === takeProfit ? "take_profit" : "manual";
}

function workingOrder(order: PricedOrder, kind: PendingKind): WorkingOrder {
  const { magic, own } = readPendingComment(order.raw.comment, "");
  return { ...common(order, magic, own), kind, placedTimeMs: order.raw.openTimeMs, price: order.price, marketPrice: order.lastPrice };
}

function removedPending(order: PricedOrder, kind: PendingKind, removedTimeMs: BrokerMs): RemovedPending {
  const { magic, own, reasonText } = readPendingComment(order.raw.comment, order.raw.outcome);
  return {
    ...common(order, magic, own),
    kind,
    placedTimeMs: order.raw.openTimeMs,
    price: order.price,
    removedTimeMs,
    reason: removalReason(reasonText),
    reasonText,
    marketPrice: order.lastPrice,
  };
}

function symbolsOf(orders: readonly RawOrder[], digits: ReadonlyMap<SymbolName, number>) {
  const names = [...new Set(orders.map(({ symbol }) => symbol))].sort();
  return names.map((symbol) => ({ symbol, digits: digits.get(symbol) ?? 0 }));
}
