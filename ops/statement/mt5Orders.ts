// Owns what the order history of an MT5 report says about its positions: what opened one, why one was
// closed, and which pending order became which position.
//
// 1. A position's number is that of the order which opened it. Where a server gave another one, a
//    filled pending order is known by symbol, side, second and volume, if only one position fits.
// 2. A closing order stands for itself: it has no position's number. It is known by symbol, opposite
//    side, second and volume; where several fit and differ in what they say, nothing is concluded.

import { oppositeSide, pendingSide } from "../../protocol/trades.ts";
import type { Side } from "../../protocol/trades.ts";
import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { BrokerMs, VolumeUnits } from "../../protocol/units.ts";
import type { CloseMark, RawPending, RawTrade } from "./raw.ts";

/** An order to buy or sell at once, by a person, a program, or the broker at a stop or target. */
export interface MarketOrder {
  readonly ticket: Ticket;
  readonly symbol: SymbolName;
  readonly side: Side;
  readonly endMs: BrokerMs | null;
  readonly executed: VolumeUnits;
  readonly comment: string;
}

const STOP_OR_TARGET = /\[(sl|tp)(?:\s+(\d[\d\s]*(?:\.\d+)?))?\]$/i;
const STOP_OUT = /\[so\b[^\]]*\]$/i;

/** What a closing order's comment says; null where somebody asked for it. */
function closeMark(comment: string, closePrice: string): CloseMark | null {
  const level = STOP_OR_TARGET.exec(comment);
  if (level === null) return STOP_OUT.test(comment) ? { reason: "stop_out", gap: false } : null;
  const [, word, price] = level;
  const gap = price !== undefined && Number(price.replace(/\s/g, "")) !== Number(closePrice);
  return { reason: word?.toLowerCase() === "sl" ? "stop_loss" : "take_profit", gap };
}

/** The trades with what the orders know of them: the opening one's comment, the closing one's mark. */
export function explainedTrades(trades: readonly RawTrade[], orders: readonly MarketOrder[], pendings: readonly RawPending[]): RawTrade[] {
  const commentOf = new Map([...orders, ...pendings].map(({ ticket, comment }) => [ticket, comment]));
  const opened = new Set(trades.map(({ ticket }) => ticket));
  const closing = new Map<string, MarketOrder[]>();
  for (const order of orders) {
    if (order.endMs === null || opened.has(order.ticket)) continue;
    put(closing, momentKey(order.symbol, order.side, order.endMs, order.executed), order);
  }
  const markOf = ({ symbol, side, closeTimeMs, volume, lastPrice }: RawTrade): CloseMark | null => {
    if (closeTimeMs === null) return null;
    const fitting = closing.get(momentKey(symbol, oppositeSide(side), closeTimeMs, volume)) ?? [];
    const [first = null, ...others] = fitting.map(({ comment }) => closeMark(comment, lastPrice));
    return others.every((mark) => mark?.reason === first?.reason) ? first : null; // Invariant 2.
  };
  return trades.map((trade) => ({ ...trade, comment: trade.comment === "" ? (commentOf.get(trade.ticket) ?? "") : trade.comment, mark: markOf(trade) }));
}

/** The pending orders, each filled one with the trade that it became. */
export function linkedPendings(pendings: readonly RawPending[], trades: readonly RawTrade[], orders: readonly MarketOrder[]): RawPending[] {
  const ordered = new Set([...orders, ...pendings].map(({ ticket }) => ticket));
  const byTicket = new Map<Ticket, RawTrade[]>();
  for (const trade of trades) put(byTicket, trade.ticket, trade);
  /** Positions whose number is no order's, by the moment of their opening. */
  const strangers = new Map<string, RawTrade[]>();
  for (const [ticket, [first, ...others]] of byTicket) {
    if (first === undefined || ordered.has(ticket)) continue;
    const volume = others.reduce((sum, part) => sum + part.volume, Number(first.volume)) as VolumeUnits;
    put(strangers, momentKey(first.symbol, first.side, first.openTimeMs, volume), first);
  }
  const tradeOf = ({ ticket, symbol, kind, placedTimeMs }: RawPending, endMs: BrokerMs, volume: VolumeUnits): RawTrade | null => {
    const side = pendingSide(kind);
    const own = byTicket.get(ticket)?.find((trade) => trade.symbol === symbol && trade.side === side && trade.openTimeMs >= placedTimeMs);
    if (own !== undefined) return own;
    const fitting = strangers.get(momentKey(symbol, side, endMs, volume)) ?? [];
    return fitting.length === 1 ? (fitting.pop() ?? null) : null; // Invariant 1; popped, for it became of one order only.
  };
  return pendings.map((pending) => {
    const { end } = pending;
    if (end.kind !== "filled") return pending;
    const trade = tradeOf(pending, end.timeMs, end.volume);
    return trade === null ? pending : { ...pending, end: { ...end, timeMs: trade.openTimeMs, as: trade.ticket } };
  });
}

const momentKey = (symbol: SymbolName, side: Side, atMs: BrokerMs, volume: VolumeUnits): string => `${symbol} ${side} ${atMs} ${volume}`;

function put<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
