// Owns the state of one account at the broker and how an event changes it.
//
// 1. `applyEvent`, `applyQuote` and `applyComments` are the only code that changes a state; whatever
//    decides reads.
// 2. A ticket is open at most once. On MT4 it is never open and in the history; on MT5 an open
//    position's closed parts are in the history under its ticket, or under one it had before.
// 3. The history is bounded: past `maxHistory` the oldest goes.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountId, SymbolName, Ticket } from "../../../protocol/ids.ts";
import type { AccountSnapshot, ClosedPosition, PendingOrder, Platform, Position, Quote, RemovedPending, SymbolSpec } from "../../../protocol/trades.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import type { TradeEvent } from "../log.ts";
import { withComments, type CommentQuirks } from "./comments.ts";
import { fundsOf, wonCents } from "./funds.ts";
import { MT4 } from "./mt4.ts";
import { MT5 } from "./mt5.ts";
import type { PlatformRules } from "./platform.ts";

export interface EngineLimits {
  /** Positions and pendings together that an account may have at once. */
  readonly maxOpen: number;
  /** Closed positions, and removed pendings, that are remembered. */
  readonly maxHistory: number;
}

export interface AccountState {
  rules: PlatformRules;
  readonly limits: EngineLimits;
  readonly specs: ReadonlyMap<SymbolName, SymbolSpec>;
  readonly quotes: Map<SymbolName, Quote>;
  /** In the order in which they came to stand; a new ticket is put at the end. */
  readonly positions: Map<Ticket, Position>;
  readonly pendings: Map<Ticket, PendingOrder>;
  readonly closed: ClosedPosition[];
  readonly removed: RemovedPending[];
  /** What closed positions have won or lost so far. */
  wonCents: number;
}

export function newAccountState(platform: Platform, symbols: readonly SymbolSpec[], limits: EngineLimits): AccountState {
  return {
    rules: rulesOf(platform),
    limits,
    specs: new Map(symbols.map((spec) => [spec.symbol, spec])),
    quotes: new Map(),
    positions: new Map(),
    pendings: new Map(),
    closed: [],
    removed: [],
    wonCents: 0,
  };
}

const rulesOf = (platform: Platform): PlatformRules => (platform === "mt4" ? MT4 : MT5);

/** From now on comments are treated so; those that are stored already stay. */
export function applyComments(state: AccountState, platform: Platform, quirks: CommentQuirks): void {
  state.rules = withComments(rulesOf(platform), quirks);
}

export function applyQuote(state: AccountState, quote: Quote): void {
  state.quotes.set(quote.symbol, quote);
}

export function applyEvent(state: AccountState, event: TradeEvent): void {
  switch (event.kind) {
    case "deal":
      return applyDeal(state, event);
    case "modified":
    case "grown":
      state.positions.set(event.position.ticket, event.position);
      return;
    case "reticketed":
      state.positions.delete(event.before.ticket);
      state.positions.set(event.position.ticket, event.position);
      return;
    case "pending":
      return applyPending(state, event);
    default:
      return unreachable(event);
  }
}

function applyDeal(state: AccountState, event: Extract<TradeEvent, { kind: "deal" }>): void {
  switch (event.deal) {
    case "opened":
      state.positions.set(event.position.ticket, event.position);
      return;
    case "closed":
      state.positions.delete(event.closed.position.ticket);
      close(state, event.closed);
      return;
    case "part_closed":
      // MT5: `set` of the same ticket leaves it in its place; MT4: the old one goes. (2)
      if (event.rest.ticket !== event.closed.position.ticket) state.positions.delete(event.closed.position.ticket);
      state.positions.set(event.rest.ticket, event.rest);
      close(state, event.closed);
      return;
    default:
      return unreachable(event);
  }
}

function applyPending(state: AccountState, event: Extract<TradeEvent, { kind: "pending" }>): void {
  switch (event.step) {
    case "placed":
    case "changed":
      state.pendings.set(event.pending.ticket, event.pending);
      return;
    case "removed":
      state.pendings.delete(event.removed.pending.ticket);
      remember(state.removed, event.removed, state.limits.maxHistory);
      return;
    case "filled":
      state.pendings.delete(event.pending.ticket);
      state.positions.set(event.position.ticket, event.position);
      return;
    default:
      return unreachable(event);
  }
}

function close(state: AccountState, closed: ClosedPosition): void {
  remember(state.closed, closed, state.limits.maxHistory);
  state.wonCents += wonCents(closed.position, closed.closePrice);
}

function remember<T>(history: T[], entry: T, max: number): void {
  history.push(entry);
  if (history.length > max) history.shift(); // 3
}

/** All of an account, with what ended at or after `historyFromMs`. */
export function snapshotOf(state: AccountState, account: AccountId, nowMs: BrokerMs, historyFromMs: BrokerMs): AccountSnapshot {
  return {
    account,
    takenAtMs: nowMs,
    synced: true,
    positions: [...state.positions.values()],
    pendings: [...state.pendings.values()],
    closed: state.closed.filter((closed) => closed.closeTimeMs >= historyFromMs),
    removed: state.removed.filter((removed) => removed.removedTimeMs >= historyFromMs),
    funds: fundsOf(state),
  };
}
