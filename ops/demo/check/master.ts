// Owns the rules about the master: what was played on it is what the statement says.
//
// 1. A chain is one trade: opened with the sum of its rows' volumes under the first row's ticket,
//    and part-closed row by row.
// 2. The stops of a row are final: those of a chain's last row are compared where the trade ends. One
//    that the broker could not hold there (the price of the end is already at or beyond it) is not.
// 3. A stop-out is the broker's act, or is played as a close.
// 4. A filled pending was filled at the price of its trade; where its own price does not allow that,
//    it stood at that one.

import type { SymbolName } from "../../../protocol/ids.ts";
import type { CloseReason, PendingKind } from "../../../protocol/trades.ts";
import { lotsText, priceText, type Points, type VolumeUnits } from "../../../protocol/units.ts";
import type { ClosedTrade, FilledPending, OpenTrade } from "../../statement/model.ts";
import { endOf, sameLevels, type Close, type Levels, type PositionLife, type Trade } from "./history.ts";
import { levelsAreValid, NO_LEVELS } from "./limits.ts";
import { type MasterCase, type PendingPart, type TradePart } from "./parts.ts";
import { levelsText, tradeText } from "./wording.ts";

type Row = ClosedTrade | OpenTrade;
const isClosed = (row: Row): row is ClosedTrade => "closeTimeMs" in row;

const inChains = ({ parts }: MasterCase, check: (chain: TradePart, trade: Trade, position: PositionLife) => string[]): string[] =>
  parts.flatMap((part) => (part.kind === "trade" && part.played !== null && part.played.position !== null ? check(part, part.played, part.played.position) : []));

function masterMissing({ parts }: MasterCase): string[] {
  return parts.flatMap((part) => {
    if (part.kind === "trade" ? (part.played?.position ?? null) !== null : part.isOptional || (part.played?.pending ?? null) !== null) return [];
    const { ticket, symbol, volume } = part.kind === "trade" ? part.rows[0] : part.row;
    return [`s${ticket} ${lotsText(volume)} ${symbol} was not played`];
  });
}

function masterForeign({ foreign }: MasterCase): string[] {
  return foreign.map((trade) => `${tradeText(trade)} is not in the statement, or was played before`);
}

function masterOpening(master: MasterCase): string[] {
  return inChains(master, ({ rows }, trade, position) => {
    const [first] = rows;
    const volume = rows.reduce((sum, row) => sum + row.volume, 0) as VolumeUnits;
    const is = `${position.side} ${lotsText(position.volume)} ${trade.symbol} at ${priceText(position.openPrice, trade.digits)}`;
    const wanted = `${first.side} ${lotsText(volume)} ${first.symbol} at ${priceText(first.openPrice, first.digits)}`;
    return is === wanted ? [] : [`${tradeText(trade)}: opened as ${is}, expected ${wanted}`];
  });
}

function masterClose(master: MasterCase): string[] {
  return inChains(master, ({ rows }, trade, position) => {
    const wanted = rows.filter(isClosed).map((row) => closeText(row.volume, row.closePrice, row.digits, playedReason(row.closeReason)));
    const is = position.closes.map((close) => closeText(close.volume, close.price, trade.digits, playedReason(close.reason)));
    const odd = Array.from({ length: Math.max(wanted.length, is.length) }, (_, index) => index).find((index) => wanted[index] !== is[index]);
    if (odd !== undefined) return [`${tradeText(trade)}: close ${odd + 1} is ${is[odd] ?? "missing"}, expected ${wanted[odd] ?? "none"}`];
    const standsInStatement = rows.some((row) => !isClosed(row));
    return (position.end === null) === standsInStatement ? [] : [`${tradeText(trade)}: expected it ${standsInStatement ? "open" : "closed"} at the end`];
  });
}

/** Either way of playing a stop-out (3). */
const playedReason = (reason: CloseReason): CloseReason => (reason === "stop_out" ? "manual" : reason);

const closeText = (volume: VolumeUnits, price: Close["price"], digits: number, reason: string): string => `${lotsText(volume)} at ${priceText(price, digits)} (${reason})`;

function masterLevels(master: MasterCase): string[] {
  return inChains(master, ({ rows }, trade, position) => {
    const last = rows.at(-1);
    const is = position.levels.at(-1)?.value ?? NO_LEVELS;
    const wanted = last === undefined ? is : heldAtEnd(last, is);
    return sameLevels(wanted, is) ? [] : [`${tradeText(trade)}: ended with ${levelsText(is, trade.digits)}, expected ${levelsText(wanted, trade.digits)}`];
  });
}

/** The row's stops, or what stands where the broker could not hold the row's (2). */
function heldAtEnd(row: Row, is: Levels): Levels {
  const reference = isClosed(row) ? row.closePrice : row.marketPrice;
  const reason = isClosed(row) ? row.closeReason : "manual";
  const canHold = (levels: Partial<Levels>): boolean => levelsAreValid({ ...NO_LEVELS, ...levels }, NO_LEVELS, row.side, reference, { stopLevelPoints: 0 });
  // The one that was hit must have been there, and reached: then the end is not on its right side.
  const stopLoss = reason === "stop_loss" ? row.stopLoss !== null && !canHold({ stopLoss: row.stopLoss }) : canHold({ stopLoss: row.stopLoss });
  const takeProfit = reason === "take_profit" ? row.takeProfit !== null && !canHold({ takeProfit: row.takeProfit }) : canHold({ takeProfit: row.takeProfit });
  return { stopLoss: stopLoss ? row.stopLoss : is.stopLoss, takeProfit: takeProfit ? row.takeProfit : is.takeProfit };
}

function masterPending({ parts }: MasterCase): string[] {
  return parts.flatMap((part) => {
    if (part.played === null) return [];
    if (part.kind === "trade") return part.filled === null ? [] : filledFault(part, part.filled, part.played);
    return pendingFault(part, part.played);
  });
}

function pendingFault({ row, end }: PendingPart, trade: Trade): string[] {
  if (trade.pending === null) return [];
  const wrong = termsFault(trade, row.kind, [row.volume], row.symbol, row.price, row.digits);
  if (wrong !== null) return [wrong];
  if (trade.position !== null) return [`${tradeText(trade)}: it was filled, expected it ${end}`];
  return (endOf(trade) !== null) === (end === "removed") ? [] : [`${tradeText(trade)}: expected it ${end} at the end`];
}

/** The position itself is judged as its trade is. */
function filledFault({ rows: [first] }: TradePart, row: FilledPending, trade: Trade): string[] {
  if (trade.pending === null) return [`${tradeText(trade)}: opened at the market, expected a ${row.kind} that was filled`];
  const wrong = termsFault(trade, row.kind, [row.volume, row.filledVolume], row.symbol, canFillAt(row, first.openPrice) ? row.price : first.openPrice, row.digits);
  return wrong === null ? [] : [wrong];
}

/** Whether an order at the row's price is filled, and only then, when the market comes to this one (4). */
function canFillAt({ kind, price }: FilledPending, market: Points): boolean {
  return kind === "buy_limit" || kind === "sell_stop" ? market <= price : market >= price;
}

function termsFault(trade: Trade, kind: PendingKind, volumes: readonly VolumeUnits[], symbol: SymbolName, price: Points, digits: number): string | null {
  const { pending } = trade;
  const last = pending?.terms.at(-1)?.value;
  if (pending === null || last === undefined) return `${tradeText(trade)}: no pending order`;
  const text = (of: PendingKind, volume: VolumeUnits, name: SymbolName, at: string): string => `${of} ${lotsText(volume)} ${name} at ${at}`;
  const is = text(pending.kind, pending.volume, trade.symbol, priceText(last.price, trade.digits));
  const wanted = volumes.map((volume) => text(kind, volume, symbol, priceText(price, digits)));
  return wanted.includes(is) ? null : `${tradeText(trade)}: ${is}, expected ${[...new Set(wanted)].join(" or ")}`;
}

export const masterRules = {
  "master-missing": masterMissing,
  "master-foreign": masterForeign,
  "master-opening": masterOpening,
  "master-close": masterClose,
  "master-levels": masterLevels,
  "master-pending": masterPending,
} as const;
