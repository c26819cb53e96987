// Owns playing a statement's script at a real broker without waiting, and reading what the
// master's account then has in the form of the statement's rows.
//
// 1. What is expected comes from the statement's rows alone, not from the demo's roles or path.

import { accountId, type Ticket } from "../../../protocol/ids.ts";
import type { CloseReason, Side } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import { MemoryLogSink } from "../../../ops/broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../../../ops/broker/server.ts";
import type { BrokerLogEntry } from "../../../ops/broker/log.ts";
import { castOf } from "../../../ops/demo/cast.ts";
import { pace } from "../../../ops/demo/pace.ts";
import { play } from "../../../ops/demo/player.ts";
import { scriptOf } from "../../../ops/demo/script.ts";
import type { ClosedTrade, OpenTrade, Statement } from "../../../ops/statement/model.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";

/** A clock on which every wait is over at once. */
function hurriedClock(): Clock {
  let nowMs = 0;
  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    after(delayMs, fn) {
      nowMs += delayMs;
      queueMicrotask(fn);
      return { cancel: () => undefined };
    },
    soon: (fn) => queueMicrotask(fn),
  };
}

export interface Closed {
  readonly volume: VolumeUnits;
  readonly price: Points;
  readonly reason: CloseReason;
}

/** One trade, with its part-closes, without what has no counterpart at the other side. */
export interface Row {
  readonly symbol: string;
  readonly side: Side;
  readonly volume: VolumeUnits;
  readonly openPrice: Points;
  readonly closes: readonly Closed[];
  /** Null: nothing is left open. */
  readonly left: VolumeUnits | null;
}

export interface PendingRow {
  readonly symbol: string;
  readonly kind: string;
  readonly volume: VolumeUnits;
  readonly price: Points;
  readonly end: "removed" | "working" | "filled";
}

export interface Account {
  readonly trades: Readonly<Record<string, Row>>;
  readonly pendings: Readonly<Record<string, PendingRow>>;
}

export interface Levels {
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}

export interface Played extends Account {
  /** Stop and target at each close, and at the end of what is left. */
  readonly levels: Readonly<Record<string, readonly Levels[]>>;
  readonly log: readonly BrokerLogEntry[];
}

const MAX_ENTRIES = 1_000_000;

/** @throws LockstepError `bad_statement` when the master's broker refuses a step */
export async function playedAccount(statement: Statement): Promise<Played> {
  const cast = castOf(statement, 1);
  const sink = new MemoryLogSink(MAX_ENTRIES);
  const clock = hurriedClock();
  const server = new BrokerServer({
    ...BROKER_SERVER_DEFAULTS,
    maxOpen: 10_000,
    instruments: cast.instruments,
    accounts: [cast.master],
    clock,
    timeBaseMs: () => clock.wallMs(),
    logSinks: [sink],
  });
  const scenes = scriptOf(statement);
  await play({ server, trader: server.trader(accountId("master")), scenes, offsetsMs: pace(scenes, "default"), clock, onScene: () => undefined });
  if (sink.missed > 0) throw new Error(`${sink.missed} entries are not in the log`);
  return { ...heldBy(sink.entries), log: sink.entries };
}

function heldBy(log: readonly BrokerLogEntry[]): Omit<Played, "log"> {
  interface Growing extends Row {
    closes: Closed[];
    left: VolumeUnits | null;
  }
  const trades: Record<string, Growing> = {};
  const pendings: Record<string, PendingRow & { price: Points; end: PendingRow["end"] }> = {};
  const levels: Record<string, Levels[]> = {};
  const roleOf = new Map<Ticket, string>();
  const standing = new Map<string, Levels>();
  const levelsOf = ({ stopLoss, takeProfit }: Levels): Levels => ({ stopLoss, takeProfit });
  for (const entry of log) {
    const begun = (entry.kind === "deal" && entry.deal === "opened") || (entry.kind === "pending" && entry.step === "filled") ? entry.position : null;
    if (begun !== null) {
      const { ticket, comment, symbol, side, volume, openPrice } = begun;
      roleOf.set(ticket, comment);
      trades[comment] = { symbol, side, volume, openPrice, closes: [], left: volume };
      standing.set(comment, levelsOf(begun));
    }
    if (entry.kind === "deal" && entry.deal !== "opened") {
      const { position, closePrice: price, reason } = entry.closed;
      const role = roleOf.get(position.ticket) ?? "nobody";
      const trade = trades[role];
      if (trade === undefined) throw new Error(`a deal of ticket ${position.ticket}, which nobody opened`);
      trade.closes.push({ volume: position.volume, price, reason });
      (levels[role] ??= []).push(levelsOf(position));
      trade.left = entry.deal === "closed" ? null : entry.rest.volume;
      if (entry.deal === "closed") standing.delete(role);
      else roleOf.set(entry.rest.ticket, role);
    } else if (entry.kind === "modified") {
      standing.set(roleOf.get(entry.position.ticket) ?? "nobody", levelsOf(entry.position));
    } else if (entry.kind === "pending") {
      const pending = entry.step === "removed" ? entry.removed.pending : entry.pending;
      const { ticket, comment, symbol, kind, volume, price } = pending;
      if (entry.step === "placed") roleOf.set(ticket, comment);
      const role = roleOf.get(ticket) ?? "nobody";
      pendings[role] = { symbol, kind, volume, price, end: entry.step === "removed" || entry.step === "filled" ? entry.step : "working" };
    }
  }
  for (const [role, held] of standing) (levels[role] ??= []).push(held);
  return { trades, pendings, levels };
}

const isClosed = (row: ClosedTrade | OpenTrade): row is ClosedTrade => "closeTimeMs" in row;

/** The rows of each of the statement's trades, in the order of their closing. */
export function chainsOf(statement: Statement): ReadonlyMap<string, readonly (ClosedTrade | OpenTrade)[]> {
  const rows = [...statement.positions, ...statement.open];
  const byTicket = new Map(rows.map((row) => [row.ticket, row]));
  const chains = new Map<string, (ClosedTrade | OpenTrade)[]>();
  for (const first of rows) {
    if (first.chainFrom !== null) continue;
    const chain: (ClosedTrade | OpenTrade)[] = [];
    for (let row: ClosedTrade | OpenTrade | undefined = first; row !== undefined; row = isClosed(row) && row.chainTo !== null ? byTicket.get(row.chainTo) : undefined) chain.push(row);
    chains.set(`s${first.ticket}`, chain);
  }
  return chains;
}

/** What the master's account must have at the end (1). */
export function expectedAccount(statement: Statement): Account {
  const trades: Record<string, Row> = {};
  for (const [role, rows] of chainsOf(statement)) {
    const { symbol, side, openPrice } = rows[0] as ClosedTrade | OpenTrade;
    const closes = rows.filter(isClosed).map(({ volume, closePrice: price, closeReason }): Closed => ({ volume, price, reason: closeReason }));
    const left = rows.find((row) => !isClosed(row))?.volume ?? null;
    trades[role] = { symbol, side, volume: rows.reduce((sum, row) => sum + row.volume, 0) as VolumeUnits, openPrice, closes, left };
  }
  const pendings: Record<string, PendingRow> = {};
  for (const { ticket, symbol, kind, volume, price } of statement.pendings) pendings[`s${ticket}`] = { symbol, kind, volume, price, end: "removed" };
  for (const { ticket, symbol, kind, volume, price } of statement.working) pendings[`s${ticket}`] = { symbol, kind, volume, price, end: "working" };
  return { trades, pendings };
}

/** The levels that a row must have ended with; undefined where its broker cannot have held what the row shows. */
export function expectedLevels(row: ClosedTrade | OpenTrade): Partial<Levels> {
  const price = isClosed(row) ? row.closePrice : row.marketPrice;
  const reason = isClosed(row) ? row.closeReason : "manual";
  const sign = row.side === "buy" ? 1 : -1;
  const { stopLoss, takeProfit } = row;
  const stopIsHit = stopLoss !== null && sign * (price - stopLoss) <= 0;
  const targetIsHit = takeProfit !== null && sign * (takeProfit - price) <= 0;
  // What a mark names closed it: at the row's level, or where the row's was not reached at the price of the close.
  const lower = reason === "stop_loss" && !stopIsHit ? price : stopLoss;
  const upper = reason === "take_profit" && !targetIsHit ? price : takeProfit;
  // Both cannot have stood at once when no price is between them.
  if (lower !== null && upper !== null && sign * (upper - lower) < 2) return {};
  return {
    ...(stopLoss === null || stopIsHit !== (reason === "stop_loss") ? {} : { stopLoss }),
    ...(takeProfit === null || targetIsHit !== (reason === "take_profit") ? {} : { takeProfit }),
  };
}
