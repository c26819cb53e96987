// Owns the price path of one symbol: the quotes between which the statement's trades can have
// happened, and from when on each trade may carry its stop and target.
//
// 1. Every open and close happens at a quote that shows exactly the row's price on the side that
//    trades.
// 2. A statement holds final stops. A level that an earlier quote would have hit was set later: it
//    is set after the last such quote.
// 3. Where the quote before a close leaves no room for a level, one is put in between that does. Only
//    trades that end later see it, and theirs are looked at afterwards: no two trades can be in each
//    other's way.
// 4. The quote of a close hits the level that the row says it hit, and no other that stands: what a
//    row shows and its broker cannot have held is left out.
// 5. The last quote is the market when the statement was made, if something stood then.

import { oppositeSide, pendingSide, type CloseReason, type Side } from "../../protocol/trades.ts";
import type { Points } from "../../protocol/units.ts";
import { clearOfPending, roomForWorking, SPREAD_POINTS } from "./pendingPath.ts";
import type { Closing, Levels, PendingRole, TradeRole } from "./roles.ts";

export interface Quoted {
  readonly bid: Points;
  readonly ask: Points;
}

export interface Mark extends Quoted {
  readonly atMs: number;
  /** Whose price it shows; null for a quote that no row asks for. */
  readonly of: TradeRole | PendingRole | null;
}

export type LevelName = keyof Levels;

export interface Level {
  readonly name: LevelName;
  readonly price: Points;
}

/** `from`: index of the quote after which the level stands. */
export interface LevelStart extends Level {
  readonly from: number;
}

/** What a trade is between two of its quotes: from its open or a part-close to the next close. */
export interface Stretch {
  readonly start: number;
  readonly levels: readonly LevelStart[];
  /** Index of the quote of its close; null: it stands when the path ends. */
  readonly end: number | null;
}

export interface TradePath {
  readonly trade: TradeRole;
  /** One for each of the trade's closes, and one for what stands after them. */
  readonly stretches: readonly Stretch[];
}

export interface PricePath {
  readonly marks: readonly Mark[];
  readonly trades: readonly TradePath[];
}

interface RowMark extends Mark {
  readonly closing: Closing | null;
}

/** The path of one symbol. `endMs`: when the statement was made. */
export function pricePath(trades: readonly TradeRole[], pendings: readonly PendingRole[], endMs: number): PricePath {
  const marks: Mark[] = [];
  const paths = new Map<TradeRole, { start: number; readonly stretches: Stretch[] }>();
  for (const { closing, ...mark } of rowMarks(trades, pendings)) {
    if (mark.of !== null && "closings" in mark.of) {
      const { side } = mark.of;
      const path = paths.get(mark.of) ?? { start: marks.length, stretches: [] };
      paths.set(mark.of, path);
      if (closing !== null) {
        const levels = heldLevels(side, closing, closing.reason, mark);
        const before = marks.at(-1);
        if (before !== undefined && levels.some((level) => hits(side, level, before))) marks.push(roomBetween(side, levels, before, mark)); // 3
        path.stretches.push({ start: path.start, levels: levelStarts(side, levels, marks, path.start), end: marks.length });
        path.start = marks.length;
      }
    }
    marks.push(mark);
  }
  const last = lastMark(trades, pendings, endMs);
  if (last !== null) marks.push(last); // 5
  const end = marks.at(-1);
  for (const [{ side, standing }, { start, stretches }] of paths) {
    if (standing === null || end === undefined) continue;
    stretches.push({ start, levels: levelStarts(side, heldLevels(side, standing, null, end), marks, start), end: null });
  }
  return { marks, trades: [...paths].map(([trade, { stretches }]) => ({ trade, stretches })) };
}

/** A quote that shows `price` to whoever buys (the ask) or sells (the bid). */
function showing(deal: Side, price: number): Quoted {
  const bid = deal === "sell" ? price : Math.max(1, price - SPREAD_POINTS);
  return { bid: bid as Points, ask: (deal === "sell" ? price + SPREAD_POINTS : price) as Points };
}

function rowMarks(trades: readonly TradeRole[], pendings: readonly PendingRole[]): RowMark[] {
  const marks: RowMark[] = [];
  for (const trade of trades) {
    marks.push({ atMs: trade.openedMs, ...showing(trade.side, trade.openPrice), of: trade, closing: null });
    // The market when its order was placed had not reached the order's price.
    if (trade.pending !== null) marks.push({ atMs: trade.pending.placedMs, ...clearQuote({ ...trade.pending, marketPrice: null }), of: null, closing: null });
    for (const closing of trade.closings) marks.push({ atMs: closing.atMs, ...showing(oppositeSide(trade.side), closing.price), of: trade, closing });
  }
  for (const pending of pendings) {
    if (pending.removedMs === null) continue;
    marks.push({ atMs: pending.removedMs, ...clearQuote(pending), of: pending, closing: null });
  }
  return marks.sort((a, b) => a.atMs - b.atMs);
}

function clearQuote(pending: Pick<PendingRole, "kind" | "price" | "marketPrice">): Quoted {
  const { deal, price } = clearOfPending(pending);
  return showing(deal, price);
}

/** Null where nothing stood at the end, or no price leaves all working orders unfilled. */
function lastMark(trades: readonly TradeRole[], pendings: readonly PendingRole[], endMs: number): Mark | null {
  const working = pendings.filter((pending) => pending.removedMs === null);
  const shown = [
    ...trades.flatMap(({ side, standing }) => (standing === null ? [] : [showing(oppositeSide(side), standing.marketPrice)])),
    ...working.map(({ kind, price, marketPrice }) => showing(pendingSide(kind), marketPrice ?? price)),
  ];
  // Of one moment and one market: one tells as much as all.
  const [market] = shown;
  if (market === undefined) return null;
  const { low, high } = roomForWorking(working);
  if (high - low < 2) return null;
  return { atMs: endMs, ...showing("sell", between(low, high, market.bid)), of: null };
}

/** Whether a quote would close a position at this level. */
function hits(side: Side, { name, price }: Level, { bid, ask }: Quoted): boolean {
  if (side === "buy") return name === "stopLoss" ? bid <= price : bid >= price;
  return name === "stopLoss" ? ask >= price : ask <= price;
}

const REASON_OF = { stopLoss: "stop_loss", takeProfit: "take_profit" } as const satisfies Record<LevelName, CloseReason>;

/** Invariant 4: what can have stood just before a quote that closes for this reason, or leaves it standing (null). */
function heldLevels(side: Side, row: Levels, reason: CloseReason | null, end: Quoted): Level[] {
  const closePrice = side === "buy" ? end.bid : end.ask;
  const levels = (["stopLoss", "takeProfit"] as const).flatMap((name): Level[] => {
    const price = row[name];
    const level = price === null || price <= 0 ? null : { name, price };
    const isHit = level !== null && hits(side, level, end);
    // A level that a mark names and the row does not show, or shows on the other side of the price, stood where it closed.
    if (reason === REASON_OF[name]) return [isHit ? level : { name, price: closePrice }];
    return level === null || isHit ? [] : [level];
  });
  const { low, high } = roomFor(side, levels);
  // No price is between the two: the one that did not close it was not there.
  return high - low >= 2 ? levels : levels.filter(({ name }) => (reason === "take_profit" ? name === "takeProfit" : name === "stopLoss"));
}

/** The closing price has to stay above `low` and below `high`. */
function roomFor(side: Side, levels: readonly Level[]): { readonly low: number; readonly high: number } {
  const price = (name: LevelName): number | undefined => levels.find((level) => level.name === name)?.price;
  const [low, high] = side === "buy" ? [price("stopLoss"), price("takeProfit")] : [price("takeProfit"), price("stopLoss")];
  return { low: low ?? 0, high: high ?? Infinity };
}

const between = (low: number, high: number, wanted: number): number => Math.min(Math.max(wanted, low + 1), high - 1);

/** Invariant 3: as near to the close as the levels allow. */
function roomBetween(side: Side, levels: readonly Level[], before: Mark, end: Mark): Mark {
  const { low, high } = roomFor(side, levels);
  const price = between(low, high, side === "buy" ? end.bid : end.ask);
  return { atMs: (before.atMs + end.atMs) / 2, ...showing(oppositeSide(side), price), of: null };
}

/** Invariant 2: looking back from the last quote before the end. */
function levelStarts(side: Side, levels: readonly Level[], marks: readonly Mark[], start: number): LevelStart[] {
  return levels.map((level) => {
    let from = marks.length;
    for (let index = from - 1; index >= start; index--) {
      const mark = marks[index];
      if (mark === undefined || hits(side, level, mark)) break;
      from = index;
    }
    return { ...level, from };
  });
}
