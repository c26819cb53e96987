// Owns what is open on a master and how its broker's changes become ticks.
//
// 1. A trade's identity is the first ticket of its chain. MetaTrader 4 closes a part under the old
//    ticket (`to #NEW`) and opens the rest under a new one (`from #OLD`), in either order.
// 2. An unresolved chain opens and closes nothing: a rest whose old ticket is not known is kept
//    apart, and a part whose rest has not come yet still counts as open.
// 3. One change gives at most one tick.
// 4. A trade keeps the identity it has: a snapshot whose history is too short does not rename it.
// 5. MetaTrader 5's server work may give a position another ticket: its identifier, the ticket it was
//    opened under, says which one it is.

import type { Ticket } from "../../protocol/ids.ts";
import { chainFrom, chainTo } from "../../protocol/tags.ts";
import type { MasterPending, MasterPosition, TickBody } from "../../protocol/ticks.ts";
import type { AccountChange, AccountSnapshot, ClosedPosition, PendingOrder, Position } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { grown } from "./settle.ts";

export interface MasterState {
  /** By current ticket. */
  readonly positions: ReadonlyMap<Ticket, MasterPosition>;
  readonly pendings: ReadonlyMap<Ticket, MasterPending>;
  /** Rests whose first ticket is not known: never traded. */
  readonly unresolved: ReadonlySet<Ticket>;
}

export const EMPTY_MASTER: MasterState = { positions: new Map(), pendings: new Map(), unresolved: new Set() };

export interface MasterStep {
  readonly state: MasterState;
  readonly tick: TickBody | null;
}

/** Folds one change of the master's broker. */
export function foldChange(state: MasterState, change: AccountChange): MasterStep {
  switch (change.kind) {
    case "position_opened":
      return opened(state, change.position);
    case "position_changed":
      return changed(state, change.position);
    case "position_closed":
      return closed(state, change.closed);
    case "pending_placed":
      return pendingTick(state, change.pending, "pending_placed");
    case "pending_changed":
      return pendingTick(state, change.pending, state.pendings.has(change.pending.ticket) ? "pending_changed" : "pending_placed");
    case "pending_removed": {
      const { ticket } = change.removed.pending;
      if (!state.pendings.has(ticket)) return { state, tick: null };
      return { state: { ...state, pendings: without(state.pendings, ticket) }, tick: { kind: "pending_cancelled", masterTicket: ticket, reason: change.removed.reason } };
    }
    case "pending_filled": {
      // The trade keeps the identity of its pending order, also where the position has another ticket.
      const position = masterPosition(change.position, change.pendingTicket, change.position.volume);
      return {
        state: { ...state, pendings: without(state.pendings, change.pendingTicket), positions: withEntry(state.positions, position.ticket, position) },
        tick: { kind: "pending_filled", position },
      };
    }
    default:
      return unreachable(change);
  }
}

function opened(state: MasterState, position: Position): MasterStep {
  if (knownAs(state, position) !== undefined) return changed(state, position);
  const old = chainFrom(position.comment);
  if (old !== null) return rest(state, position, old);
  const opening = masterPosition(position, position.identifier, position.volume);
  return { state: withPosition(state, opening), tick: { kind: "opened", position: opening } };
}

/** The rest of a part-closed position, under its new ticket. */
function rest(state: MasterState, position: Position, old: Ticket): MasterStep {
  const before = state.positions.get(old);
  // Invariant 2.
  if (before === undefined) return { state: { ...state, unresolved: new Set(state.unresolved).add(position.ticket) }, tick: null };
  const after = masterPosition(position, before.masterTicket, before.initialVolume);
  return {
    state: { ...state, positions: withEntry(without(state.positions, old), after.ticket, after) },
    tick: { kind: "part_closed", position: after },
  };
}

function changed(state: MasterState, position: Position): MasterStep {
  const before = knownAs(state, position);
  if (before === undefined) return state.unresolved.has(position.ticket) ? { state, tick: null } : opened(state, position);
  const after: MasterPosition = { ...before, ticket: position.ticket, volume: position.volume, stopLoss: position.stopLoss, takeProfit: position.takeProfit, initialVolume: grown(before.initialVolume, before.volume, position.volume) };
  const others = after.ticket === before.ticket ? state.positions : without(state.positions, before.ticket);
  const next: MasterState = { ...state, positions: withEntry(others, after.ticket, after) };
  if (after.volume < before.volume) return { state: next, tick: { kind: "part_closed", position: after } };
  const same = after.ticket === before.ticket && after.volume === before.volume && after.stopLoss === before.stopLoss && after.takeProfit === before.takeProfit;
  return { state: next, tick: same ? null : { kind: "modified", position: after } };
}

/** Invariant 5. */
function knownAs(state: MasterState, { ticket, identifier }: Position): MasterPosition | undefined {
  const known = state.positions.get(ticket);
  if (known !== undefined || identifier === ticket) return known;
  return [...state.positions.values()].find((position) => position.masterTicket === identifier);
}

function closed(state: MasterState, { position, closePrice, reason }: ClosedPosition): MasterStep {
  const before = knownAs(state, position);
  if (before === undefined) return { state: { ...state, unresolved: withoutMember(state.unresolved, position.ticket) }, tick: null };
  // Invariant 2: the rest is on its way under a new ticket, so the trade itself lives on.
  if (chainTo(position.comment) !== null) return { state, tick: null };
  return {
    state: { ...state, positions: without(state.positions, before.ticket) },
    tick: { kind: "closed", masterTicket: before.masterTicket, reason, closePrice, digits: position.digits },
  };
}

function pendingTick(state: MasterState, order: PendingOrder, kind: "pending_placed" | "pending_changed"): MasterStep {
  const pending = masterPending(order);
  return { state: { ...state, pendings: withEntry(state.pendings, order.ticket, pending) }, tick: { kind, pending } };
}

/** A login shows a day of history; a position that is nearly as old may have been part-closed before it. */
const SHOWN_HISTORY_MS = 20 * 3_600_000;

/**
 * Whether some position that `state` does not know may have begun before the history that is shown: as the rest of a chain, or
 * so long ago that parts of it may have been closed unseen. Only the whole history tells its first ticket and its whole volume.
 */
export function hasUnknownChain(state: MasterState, snapshot: AccountSnapshot): boolean {
  return snapshot.positions.some((position) => {
    const isOld = snapshot.takenAtMs - position.openTimeMs > SHOWN_HISTORY_MS;
    return (isOld || chainFrom(position.comment) !== null) && knownAs(state, position) === undefined;
  });
}

/** The whole state as a snapshot shows it; chains are followed back through the closed parts, or to a trade of `before`. */
export function stateOfSnapshot(snapshot: AccountSnapshot, before: MasterState): MasterState {
  const history = historyOf(snapshot);
  const positions = new Map<Ticket, MasterPosition>();
  const unresolved = new Set<Ticket>();
  for (const position of snapshot.positions) {
    const origin = originOf(position, history, before);
    if (origin === null) unresolved.add(position.ticket);
    else positions.set(position.ticket, masterPosition(position, origin.masterTicket, origin.initialVolume));
  }
  return { positions, pendings: new Map(snapshot.pendings.map((order) => [order.ticket, masterPending(order)])), unresolved };
}

interface History {
  /** What was closed under a ticket: MetaTrader 5 keeps the ticket of a position that is part-closed. */
  readonly closedVolume: ReadonlyMap<Ticket, number>;
  /** From a rest to the ticket it was before (`to #`). */
  readonly cameFrom: ReadonlyMap<Ticket, Ticket>;
}

function historyOf(snapshot: AccountSnapshot): History {
  const closedVolume = new Map<Ticket, number>();
  const cameFrom = new Map<Ticket, Ticket>();
  for (const { position } of snapshot.closed) {
    closedVolume.set(position.ticket, (closedVolume.get(position.ticket) ?? 0) + position.volume);
    const next = chainTo(position.comment);
    if (next !== null) cameFrom.set(next, position.ticket);
  }
  return { closedVolume, cameFrom };
}

function originOf(position: Position, { closedVolume, cameFrom }: History, before: MasterState): Pick<MasterPosition, "masterTicket" | "initialVolume"> | null {
  const same = knownAs(before, position);
  if (same !== undefined) return same; // 4
  let ticket = position.identifier;
  let initialVolume = position.volume + (closedVolume.get(ticket) ?? 0);
  const seen = new Set<Ticket>([ticket]);
  // A closed part's own comment says only where it went: where it came from, the part before it says.
  for (let old = cameFrom.get(ticket) ?? chainFrom(position.comment); ; old = cameFrom.get(ticket) ?? null) {
    const known = before.positions.get(ticket);
    if (known !== undefined) return known; // 4
    if (old === null) return { masterTicket: ticket, initialVolume: initialVolume as VolumeUnits };
    const closed = closedVolume.get(old) ?? before.positions.get(old)?.volume;
    if (closed === undefined || seen.has(old)) return null; // 2
    seen.add(old);
    ticket = old;
    initialVolume += closed;
  }
}

function masterPosition(position: Position, masterTicket: Ticket, initialVolume: VolumeUnits): MasterPosition {
  const { ticket, symbol, digits, side, volume, openPrice, openTimeMs, stopLoss, takeProfit, magic, comment } = position;
  return { masterTicket, ticket, symbol, digits, side, initialVolume, volume, openPrice, openTimeMs, stopLoss, takeProfit, magic, comment };
}

function masterPending(order: PendingOrder): MasterPending {
  const { ticket, symbol, digits, kind, volume, price, placedTimeMs, stopLoss, takeProfit, magic, comment } = order;
  return { masterTicket: ticket, symbol, digits, kind, volume, price, placedTimeMs, stopLoss, takeProfit, magic, comment };
}

const withPosition = (state: MasterState, position: MasterPosition): MasterState => ({ ...state, positions: withEntry(state.positions, position.ticket, position) });

function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V): Map<K, V> {
  return new Map(map).set(key, value);
}

function without<K, V>(map: ReadonlyMap<K, V>, key: K): Map<K, V> {
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}

function withoutMember<K>(set: ReadonlySet<K>, key: K): Set<K> {
  const copy = new Set(set);
  copy.delete(key);
  return copy;
}
