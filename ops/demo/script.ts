// Owns the script of a demo: all of a statement's trades as steps at the master's broker, in the
// statement's own order.
//
// 1. The steps of one moment are one scene: a quote first, then what is done at it.
// 2. A trade that its own stop or target ends is left to the broker.

import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { PendingKind, Side } from "../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../protocol/units.ts";
import { isReached } from "../broker/engine/validation.ts";
import type { Statement } from "../statement/model.ts";
import { pendingPath, stopsAround } from "./pendingPath.ts";
import { pricePath, type Mark, type Stretch, type TradePath } from "./pricePath.ts";
import { pendingRoles, tradeRoles, type Levels, type PendingRole, type TradeRole } from "./roles.ts";

/** `role`: the statement's ticket of the trade or pending order. */
export type Step =
  | { readonly kind: "quote"; readonly symbol: SymbolName; readonly bid: Points; readonly ask: Points }
  | ({ readonly kind: "open"; readonly role: Ticket; readonly symbol: SymbolName; readonly side: Side; readonly volume: VolumeUnits } & Levels)
  | ({ readonly kind: "modify"; readonly role: Ticket } & Levels)
  | { readonly kind: "part_close"; readonly role: Ticket; readonly volume: VolumeUnits }
  | { readonly kind: "close"; readonly role: Ticket }
  | { readonly kind: "stop_out"; readonly role: Ticket }
  | ({ readonly kind: "place"; readonly role: Ticket; readonly symbol: SymbolName; readonly pending: PendingKind; readonly volume: VolumeUnits; readonly price: Points } & Levels)
  | ({ readonly kind: "change"; readonly role: Ticket; readonly price: Points } & Levels)
  | { readonly kind: "cancel"; readonly role: Ticket };

export interface Scene {
  /** The statement's time. */
  readonly atMs: number;
  readonly steps: readonly Step[];
}

export function scriptOf(statement: Statement): Scene[] {
  const trades = tradeRoles(statement);
  const pendings = pendingRoles(statement);
  const scenes = statement.symbols.flatMap(({ symbol }) =>
    symbolScenes(
      trades.filter((trade) => trade.symbol === symbol),
      pendings.filter((pending) => pending.symbol === symbol),
      statement.toMs ?? 0,
    ),
  );
  // Every symbol has a price before anything happens.
  const openings = scenes.filter((scene) => scene.atMs === Number.NEGATIVE_INFINITY);
  const rest = scenes.filter((scene) => scene.atMs !== Number.NEGATIVE_INFINITY).sort((a, b) => a.atMs - b.atMs);
  return [{ atMs: rest[0]?.atMs ?? 0, steps: openings.flatMap((scene) => scene.steps) }, ...rest];
}

function symbolScenes(trades: readonly TradeRole[], pendings: readonly PendingRole[], endMs: number): Scene[] {
  const path = pricePath(trades, pendings, endMs);
  const { marks } = path;
  const [first] = marks;
  const symbol = trades[0]?.symbol ?? pendings[0]?.symbol;
  if (first === undefined || symbol === undefined) return [];
  const quote = (mark: Mark): Step => ({ kind: "quote", symbol, bid: mark.bid, ask: mark.ask });
  const scenes = marks.map((mark) => ({ atMs: mark.atMs, steps: [quote(mark)] }));
  const add = (index: number, step: Step): void => void scenes[index]?.steps.push(step);
  for (const trade of path.trades) {
    const opening = openingOrder(marks, trade);
    if (opening !== null) add(opening.from, opening.place);
    playTrade(trade, add, opening?.begun ?? null);
  }

  const placings: Scene[] = [];
  for (const pending of pendings) {
    const { ticket: role, kind, volume } = pending;
    const { placed, changed, removed } = pendingPath(marks, pending);
    if (changed !== null) {
      const { from, ...terms } = changed;
      add(from, { kind: "change", role, ...terms });
    }
    if (removed !== null) add(removed, { kind: "cancel", role });
    placings.push({ atMs: pending.placedMs, steps: [{ kind: "place", role, symbol, pending: kind, volume, ...placed }] });
  }
  // A pending is placed before the quotes of its own moment.
  return [{ atMs: Number.NEGATIVE_INFINITY, steps: [quote(first)] }, ...placings, ...scenes];
}

/**
 * The order that opens a trade by being filled, with the levels that the trade begins with, and the quote after which it is
 * placed: where the statement says or, if the market would fill it too early, after the last quote that would. Null where no
 * quote before the trade's own is free of that.
 */
function openingOrder(marks: readonly Mark[], { trade, stretches }: TradePath): { readonly from: number; readonly place: Step; readonly begun: Levels } | null {
  const [first] = stretches;
  if (trade.pending === null || first === undefined) return null;
  const { kind, price, placedMs } = trade.pending;
  const placed = marks.findIndex((mark) => mark.atMs >= placedMs);
  const lastFill = marks.findLastIndex((mark, index) => index >= placed && index < first.start && isReached(kind, price, mark));
  const from = lastFill === -1 ? placed : lastFill + 1;
  if (from >= first.start) return null;
  const begun = stopsAround(kind, price, levelsAt(first, first.start));
  return { from, place: { kind: "place", role: trade.ticket, symbol: trade.symbol, pending: kind, volume: trade.volume, price, ...begun }, begun };
}

/** @param begun the levels it begins with where an order of its own opens it; null: it is opened at the market */
function playTrade({ trade, stretches }: TradePath, add: (index: number, step: Step) => void, begun: Levels | null): void {
  const { ticket: role, symbol, side, volume } = trade;
  let held = begun;
  for (const [number, stretch] of stretches.entries()) {
    const changes = new Set([stretch.start, ...stretch.levels.map(({ from }) => from).sort((a, b) => a - b)]);
    for (const index of changes) {
      const levels = levelsAt(stretch, index);
      if (held === null) add(index, { kind: "open", role, symbol, side, volume, ...levels });
      else if (held.stopLoss !== levels.stopLoss || held.takeProfit !== levels.takeProfit) add(index, { kind: "modify", role, ...levels });
      held = levels;
    }
    const closing = trade.closings[number];
    if (closing === undefined || stretch.end === null) continue;
    if (number + 1 < stretches.length) add(stretch.end, { kind: "part_close", role, volume: closing.volume });
    else if (closing.reason === "stop_out") add(stretch.end, { kind: "stop_out", role });
    // Invariant 2.
    else if (closing.reason !== "stop_loss" && closing.reason !== "take_profit") add(stretch.end, { kind: "close", role });
  }
}

function levelsAt({ levels }: Stretch, index: number): Levels {
  const price = (name: keyof Levels): Points | null => levels.find((level) => level.name === name && level.from <= index)?.price ?? null;
  return { stopLoss: price("stopLoss"), takeProfit: price("takeProfit") };
}
