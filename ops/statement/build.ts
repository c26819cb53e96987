// Owns the way from raw rows to a statement: digits by symbol, chains, and which list each row belongs
// to. Knows nothing of file formats.

import { LockstepError, unreachable } from "../../protocol/errors.ts";
import type { SymbolName } from "../../protocol/ids.ts";
import type { CloseReason } from "../../protocol/trades.ts";
import { pointsFromPrice } from "../../protocol/units.ts";
import type { BrokerMs, Points } from "../../protocol/units.ts";
import { joinChains } from "./chains.ts";
import type { Chains } from "./chains.ts";
import type { ClosedTrade, FilledPending, OpenTrade, RemovedPending, Statement, WorkingOrder } from "./model.ts";
import type { RawPending, RawStatement, RawTrade } from "./raw.ts";
import { decimalsOf, readAt } from "./values.ts";

interface Levels {
  readonly digits: number;
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}
/** Raw rows with their prices in points of the symbol's digits. */
type Trade = Omit<RawTrade, "stopLoss" | "takeProfit" | "openPrice" | "lastPrice"> & Levels & { readonly openPrice: Points; readonly lastPrice: Points };
type Pending = Omit<RawPending, "stopLoss" | "takeProfit" | "price" | "marketPrice"> & Levels & { readonly price: Points; readonly marketPrice: Points | null };

/** @throws LockstepError `bad_statement`: an end before its start, a price that is too large. */
export function buildStatement(raw: RawStatement): Statement {
  for (const row of [...raw.trades, ...raw.pendings]) refuseBackwards(row);
  const digits = digitsBySymbol(raw);
  const trades = raw.trades.map((row) => pricedTrade(row, digits.get(row.symbol) ?? 0));
  const chains = joinChains(trades);
  const positions: ClosedTrade[] = [];
  const open: OpenTrade[] = [];
  for (const trade of trades) {
    if (trade.closeTimeMs === null) open.push(openTrade(trade, chains));
    else positions.push(closedTrade(trade, trade.closeTimeMs, chains));
  }
  const pendings: RemovedPending[] = [];
  const filledPendings: FilledPending[] = [];
  const working: WorkingOrder[] = [];
  for (const row of raw.pendings) {
    const pending = pricedPending(row, digits.get(row.symbol) ?? 0);
    const { end } = pending;
    switch (end.kind) {
      case "working":
        working.push({ ...placedOrder(pending), marketPrice: pending.marketPrice });
        break;
      case "removed":
        pendings.push({ ...placedOrder(pending), removedTimeMs: end.timeMs, reason: end.reason, reasonText: end.reasonText, marketPrice: pending.marketPrice });
        break;
      case "filled":
        filledPendings.push({ ...placedOrder(pending), filledTimeMs: end.timeMs, filledVolume: end.volume, filledAs: end.as });
        break;
      default:
        unreachable(end);
    }
  }
  const times = [...raw.trades, ...raw.pendings].map(lifeOf).flatMap(({ startMs, endMs }) => (endMs === null ? [startMs] : [startMs, endMs]));
  return {
    format: raw.format,
    positions,
    open,
    pendings,
    filledPendings,
    working,
    chains: chains.to.size,
    unresolvedChains: chains.unresolved,
    ignored: countedByKind(raw.ignored),
    symbols: [...digits].map(([symbol, most]) => ({ symbol, digits: most })).sort((a, b) => (a.symbol < b.symbol ? -1 : 1)),
    fromMs: times.reduce<BrokerMs | null>((least, time) => (least === null || time < least ? time : least), null),
    toMs: times.reduce<BrokerMs | null>((most, time) => (most === null || time > most ? time : most), null),
  };
}

function countedByKind(kinds: readonly string[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function lifeOf(row: RawTrade | RawPending): { readonly startMs: BrokerMs; readonly endMs: BrokerMs | null } {
  if ("side" in row) return { startMs: row.openTimeMs, endMs: row.closeTimeMs };
  return { startMs: row.placedTimeMs, endMs: row.end.kind === "working" ? null : row.end.timeMs };
}

function refuseBackwards(row: RawTrade | RawPending): void {
  const { startMs, endMs } = lifeOf(row);
  if (endMs !== null && endMs < startMs) throw new LockstepError("bad_statement", `${row.place}: it ends before it begins`);
}

/** The most digits that any price of a symbol shows. */
function digitsBySymbol({ trades, pendings }: RawStatement): Map<SymbolName, number> {
  const digits = new Map<SymbolName, number>();
  const see = (symbol: SymbolName, prices: readonly (string | null)[]): void => {
    digits.set(symbol, Math.max(digits.get(symbol) ?? 0, ...prices.map((price) => decimalsOf(price ?? ""))));
  };
  for (const { symbol, openPrice, stopLoss, takeProfit, lastPrice } of trades) see(symbol, [openPrice, stopLoss, takeProfit, lastPrice]);
  for (const { symbol, price, stopLoss, takeProfit, marketPrice } of pendings) see(symbol, [price, stopLoss, takeProfit, marketPrice]);
  return digits;
}

function pricedTrade(row: RawTrade, digits: number): Trade {
  return readAt(row.place, () => ({ ...row, ...levels(row, digits), openPrice: pointsFromPrice(row.openPrice, digits), lastPrice: pointsFromPrice(row.lastPrice, digits) }));
}

function pricedPending(row: RawPending, digits: number): Pending {
  return readAt(row.place, () => ({
    ...row,
    ...levels(row, digits),
    price: pointsFromPrice(row.price, digits),
    marketPrice: row.marketPrice === null ? null : pointsFromPrice(row.marketPrice, digits),
  }));
}

/** @throws LockstepError `invalid_value` */
function levels(row: RawTrade | RawPending, digits: number): Levels {
  const level = (price: string): Points | null => {
    const points = price === "" ? 0 : pointsFromPrice(price, digits);
    return points === 0 ? null : points;
  };
  return { digits, stopLoss: level(row.stopLoss), takeProfit: level(row.takeProfit) };
}

function common({ ticket, symbol, digits, volume, stopLoss, takeProfit, magic, comment }: Trade | Pending) {
  return { ticket, symbol, digits, volume, stopLoss, takeProfit, magic, comment };
}

function openTrade(trade: Trade, chains: Chains<Trade>): OpenTrade {
  const { side, openTimeMs, openPrice, lastPrice } = trade;
  return { ...common(trade), side, openTimeMs, openPrice, chainFrom: chains.from.get(trade)?.ticket ?? null, marketPrice: lastPrice };
}

function closedTrade(trade: Trade, closeTimeMs: BrokerMs, chains: Chains<Trade>): ClosedTrade {
  const { side, openTimeMs, openPrice, lastPrice, mark } = trade;
  const chainTo = chains.to.get(trade)?.ticket ?? null;
  return {
    ...common(trade),
    side,
    openTimeMs,
    openPrice,
    chainFrom: chains.from.get(trade)?.ticket ?? null,
    closeTimeMs,
    closePrice: lastPrice,
    closeReason: chainTo !== null ? "manual" : (mark?.reason ?? reasonByPrice(trade)),
    gap: mark?.gap ?? false,
    chainTo,
  };
}

/** Brokers that write no marks still close at exactly the stop or the target. */
function reasonByPrice({ lastPrice, stopLoss, takeProfit }: Trade): CloseReason {
  if (lastPrice === stopLoss) return "stop_loss";
  return lastPrice === takeProfit ? "take_profit" : "manual";
}

function placedOrder(pending: Pending) {
  return { ...common(pending), kind: pending.kind, placedTimeMs: pending.placedTimeMs, price: pending.price };
}
