// Owns the rules about the master: what was played on it is what the statement says.
//
// 1. A chain is one trade: opened with the sum of its rows' volumes under the first row's ticket,
//    and part-closed row by row.
// 2. The stops of a row are final: those of a chain's last row are compared where the trade ends. One
//    that the broker could not hold there (the price of the end is already at or beyond it) is not.

import type { Ticket } from "../../../protocol/ids.ts";
import { lotsText, priceText, type VolumeUnits } from "../../../protocol/units.ts";
import type { ClosedTrade, OpenTrade, Statement } from "../../statement/model.ts";
import { endOf, sameLevels, type AccountHistory, type Close, type Levels, type PositionLife, type Trade } from "./history.ts";
import { levelsAreValid, NO_LEVELS } from "./limits.ts";
import { playedTicket } from "./names.ts";
import { levelsText, tradeText } from "./wording.ts";

type Row = ClosedTrade | OpenTrade;
const isClosed = (row: Row): row is ClosedTrade => "closeTimeMs" in row;

/** One trade of the statement: its rows in the order of their closing (1). */
interface Chain {
  readonly first: Row;
  readonly rows: readonly Row[];
}

export interface MasterCase {
  readonly statement: Statement;
  readonly history: AccountHistory;
  readonly chains: readonly Chain[];
  readonly played: ReadonlyMap<number, readonly Trade[]>;
}

export function masterCase(statement: Statement, history: AccountHistory): MasterCase {
  const rows: readonly Row[] = [...statement.positions, ...statement.open];
  const rests = rows.filter(({ chainFrom }) => chainFrom !== null);
  const chains = rows.filter(({ chainFrom }) => chainFrom === null).map((first) => ({ first, rows: chainOf(first, rests) }));
  const played = new Map<number, Trade[]>();
  for (const trade of history.trades) {
    const ticket = playedTicket(trade.comment);
    if (ticket !== null) played.set(ticket, [...(played.get(ticket) ?? []), trade]);
  }
  return { statement, history, chains, played };
}

/** A rest is the row that its part names and that names its part; on MT5 all rows of a chain have one ticket. */
function chainOf(first: Row, rests: readonly Row[]): Row[] {
  const chain = [first];
  for (let part: Row | undefined = first; part !== undefined && isClosed(part) && part.chainTo !== null; ) {
    const { ticket, chainTo }: ClosedTrade = part;
    part = rests.find((rest) => rest.ticket === chainTo && rest.chainFrom === ticket && !chain.includes(rest));
    if (part !== undefined) chain.push(part);
  }
  return chain;
}

/** What was played for a row, or for the pending order that became it. */
function tradeOf({ played, statement }: MasterCase, ticket: Ticket): Trade | null {
  const filled = statement.filledPendings.find(({ filledAs }) => filledAs === ticket);
  return played.get(ticket)?.[0] ?? played.get(filled?.ticket ?? 0)?.[0] ?? null;
}
const positionOf = (master: MasterCase, ticket: Ticket): PositionLife | null => tradeOf(master, ticket)?.position ?? null;
const inChains = (master: MasterCase, check: (chain: Chain, trade: Trade, position: PositionLife) => string[]): string[] =>
  master.chains.flatMap((chain) => {
    const trade = tradeOf(master, chain.first.ticket);
    return trade === null || trade.position === null ? [] : check(chain, trade, trade.position);
  });

function masterMissing(master: MasterCase): string[] {
  const { statement, chains } = master;
  const trades = chains.filter(({ first }) => positionOf(master, first.ticket) === null).map(({ first }) => first);
  const pendings = [...statement.pendings, ...statement.working].filter(({ ticket }) => (tradeOf(master, ticket)?.pending ?? null) === null);
  return [...trades, ...pendings].map(({ ticket, symbol, volume }) => `s${ticket} ${lotsText(volume)} ${symbol} was not played`);
}

function masterForeign({ history, chains, statement, played }: MasterCase): string[] {
  const known = new Set<number>([...chains.map(({ first }) => first), ...statement.pendings, ...statement.filledPendings, ...statement.working].map(({ ticket }) => ticket));
  const foreign = history.trades.filter((trade) => {
    const ticket = playedTicket(trade.comment);
    return ticket === null || !known.has(ticket) || played.get(ticket)?.[0] !== trade;
  });
  return foreign.map((trade) => `${tradeText(trade)} is not in the statement, or was played before`);
}

function masterOpening(master: MasterCase): string[] {
  return inChains(master, ({ first, rows }, trade, position) => {
    const volume = rows.reduce((sum, row) => sum + row.volume, 0) as VolumeUnits;
    const is = `${position.side} ${lotsText(position.volume)} ${trade.symbol} at ${priceText(position.openPrice, trade.digits)}`;
    const wanted = `${first.side} ${lotsText(volume)} ${first.symbol} at ${priceText(first.openPrice, first.digits)}`;
    return is === wanted ? [] : [`${tradeText(trade)}: opened as ${is}, expected ${wanted}`];
  });
}

function masterClose(master: MasterCase): string[] {
  return inChains(master, ({ rows }, trade, position) => {
    const wanted = rows.filter(isClosed).map((row) => closeText(row.volume, row.closePrice, row.digits, row.closeReason === "stop_out" ? "manual" : row.closeReason));
    const is = position.closes.map((close) => closeText(close.volume, close.price, trade.digits, close.reason));
    const odd = Array.from({ length: Math.max(wanted.length, is.length) }, (_, index) => index).find((index) => wanted[index] !== is[index]);
    if (odd !== undefined) return [`${tradeText(trade)}: close ${odd + 1} is ${is[odd] ?? "missing"}, expected ${wanted[odd] ?? "none"}`];
    const standsInStatement = rows.some((row) => !isClosed(row));
    return (position.end === null) === standsInStatement ? [] : [`${tradeText(trade)}: expected it ${standsInStatement ? "open" : "closed"} at the end`];
  });
}

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

function masterPending(master: MasterCase): string[] {
  const ended = master.statement.pendings.map((row) => ({ row, isRemoved: true }));
  const working = master.statement.working.map((row) => ({ row, isRemoved: false }));
  return [...ended, ...working].flatMap(({ row, isRemoved }) => {
    const trade = tradeOf(master, row.ticket);
    if (trade === null || trade.pending === null) return [];
    const last = trade.pending.terms.at(-1)?.value;
    const terms = `${trade.pending.kind} ${lotsText(trade.pending.volume)} ${trade.symbol} at ${last === undefined ? "no price" : priceText(last.price, trade.digits)}`;
    const wanted = `${row.kind} ${lotsText(row.volume)} ${row.symbol} at ${priceText(row.price, row.digits)}`;
    if (terms !== wanted) return [`${tradeText(trade)}: ${terms}, expected ${wanted}`];
    if (trade.position !== null) return [`${tradeText(trade)}: it was filled, expected it ${isRemoved ? "removed" : "working"}`];
    return (endOf(trade) !== null) === isRemoved ? [] : [`${tradeText(trade)}: expected it ${isRemoved ? "removed" : "working"} at the end`];
  });
}

export const masterRules = {
  "master-missing": masterMissing,
  "master-foreign": masterForeign,
  "master-opening": masterOpening,
  "master-close": masterClose,
  "master-levels": masterLevels,
  "master-pending": masterPending,
} as const;
