// Owns the statements of the checker's tests and how they are played.

import { accountId, type AccountId, type Ticket } from "../../../../protocol/ids.ts";
import type { BrokerMs, Points } from "../../../../protocol/units.ts";
import { castOf } from "../../../../ops/demo/cast.ts";
import type { ClosedTrade, OpenTrade, RemovedPending, Statement, WorkingOrder } from "../../../../ops/statement/model.ts";
import type { Order } from "../../../../protocol/orders.ts";
import { HonestCopier, type Bend } from "./honestCopier.ts";
import { EUR, GBP, GOLD, lots, points, Theatre } from "./theatre.ts";

const DIGITS: Readonly<Record<string, number>> = { [EUR]: 5, [GBP]: 5, [GOLD]: 2 };
const AT = { openTimeMs: 1 as BrokerMs, closeTimeMs: 2 as BrokerMs, placedTimeMs: 1 as BrokerMs, removedTimeMs: 2 as BrokerMs } as const;

type Essential<T, K extends keyof T> = Pick<T, K> & Partial<T>;

const row = (ticket: number, symbol: ClosedTrade["symbol"], volume: string) => ({ ticket: ticket as Ticket, symbol, digits: DIGITS[symbol] ?? 5, volume: lots(volume), stopLoss: null, takeProfit: null, magic: null, comment: "" });

export function closed(ticket: number, symbol: ClosedTrade["symbol"], volume: string, more: Essential<ClosedTrade, "side" | "openPrice" | "closePrice">): ClosedTrade {
  return { ...row(ticket, symbol, volume), openTimeMs: AT.openTimeMs, closeTimeMs: AT.closeTimeMs, closeReason: "manual", gap: false, chainFrom: null, chainTo: null, ...more };
}

export function stillOpen(ticket: number, symbol: OpenTrade["symbol"], volume: string, more: Essential<OpenTrade, "side" | "openPrice" | "marketPrice">): OpenTrade {
  return { ...row(ticket, symbol, volume), openTimeMs: AT.openTimeMs, chainFrom: null, ...more };
}

function removed(ticket: number, symbol: RemovedPending["symbol"], volume: string, more: Essential<RemovedPending, "kind" | "price" | "marketPrice">): RemovedPending {
  return { ...row(ticket, symbol, volume), placedTimeMs: AT.placedTimeMs, removedTimeMs: AT.removedTimeMs, reason: "cancelled", reasonText: "cancelled", ...more };
}

function working(ticket: number, symbol: WorkingOrder["symbol"], volume: string, more: Essential<WorkingOrder, "kind" | "price" | "marketPrice">): WorkingOrder {
  return { ...row(ticket, symbol, volume), placedTimeMs: AT.placedTimeMs, ...more };
}

export function statementOf(lists: Partial<Pick<Statement, "positions" | "open" | "pendings" | "working">>): Statement {
  const all = { positions: [], open: [], pendings: [], filledPendings: [], working: [], ...lists };
  return { format: "mt4-html", ...all, chains: 0, unresolvedChains: [], ignored: {}, symbols: [EUR, GBP, GOLD].map((symbol) => ({ symbol, digits: DIGITS[symbol] ?? 5 })), fromMs: null, toMs: null };
}

export interface Played {
  readonly theatre: Theatre;
  readonly copier: HonestCopier;
}

/** A theatre with an honest copier engaged, and prices. */
export function staged(statement: Statement): Played {
  const theatre = new Theatre(statement, castOf(statement, 6));
  const copier = new HonestCopier(theatre);
  theatre.engage(copier);
  theatre.quote(EUR, 108_500);
  theatre.quote(GBP, 125_000);
  theatre.quote(GOLD, 241_000);
  theatre.rest();
  return { theatre, copier };
}

const price = (value: number): Points => points(value);

/** Every kind of thing that happens in a statement, once. */
export const EVERYTHING = statementOf({
  positions: [
    closed(101, EUR, "0.10", { side: "buy", openPrice: price(108_500), closePrice: price(108_600), chainTo: 102 as Ticket }),
    closed(102, EUR, "0.21", { side: "buy", openPrice: price(108_500), closePrice: price(108_650), stopLoss: price(108_404), takeProfit: price(108_700), chainFrom: 101 as Ticket, chainTo: 103 as Ticket }),
    closed(103, EUR, "0.10", { side: "buy", openPrice: price(108_500), closePrice: price(108_700), stopLoss: price(108_404), takeProfit: price(108_700), closeReason: "take_profit", chainFrom: 102 as Ticket }),
    closed(110, GBP, "0.01", { side: "sell", openPrice: price(125_000), closePrice: price(125_100), stopLoss: price(125_100), closeReason: "stop_loss" }),
    closed(120, GOLD, "0.10", { side: "buy", openPrice: price(241_000), closePrice: price(241_500) }),
    closed(125, GBP, "0.10", { side: "buy", openPrice: price(125_100), closePrice: price(125_900) }),
    closed(126, GBP, "0.10", { side: "sell", openPrice: price(125_900), closePrice: price(125_900) }),
  ],
  open: [stillOpen(150, EUR, "0.20", { side: "sell", openPrice: price(108_700), marketPrice: price(108_650), stopLoss: price(108_651) })],
  pendings: [removed(130, EUR, "0.10", { kind: "buy_limit", price: price(108_333), marketPrice: price(108_700) })],
  working: [working(140, EUR, "0.10", { kind: "sell_stop", price: price(108_111), marketPrice: price(108_650) })],
});

/** Plays EVERYTHING, with time to follow after each step where the statement has it. */
export function playEverything(theatre: Theatre): void {
  const chain = theatre.open(101, EUR, "buy", "0.41");
  theatre.rest();
  theatre.quote(EUR, 108_600);
  const rest = theatre.partClose(chain, "0.10");
  theatre.rest();
  theatre.modify(rest, 108_404, 108_700);
  theatre.rest();
  theatre.quote(EUR, 108_650);
  theatre.partClose(rest, "0.21");
  theatre.rest();
  const limit = theatre.place(130, EUR, "buy_limit", "0.10", 108_300);
  theatre.rest();
  theatre.change(limit, 108_333);
  theatre.rest();
  theatre.quote(EUR, 108_700); // the chain's target
  theatre.rest();
  theatre.cancel(limit);
  theatre.place(140, EUR, "sell_stop", "0.10", 108_111);
  theatre.rest();

  theatre.open(110, GBP, "sell", "0.01", { stopLoss: price(125_100) });
  const gold = theatre.open(120, GOLD, "buy", "0.10");
  theatre.rest();
  theatre.quote(GOLD, 241_500);
  theatre.close(gold);
  theatre.quote(GBP, 125_100); // the stop of 110
  theatre.rest();

  const moved = theatre.open(125, GBP, "buy", "0.10");
  theatre.pass(5);
  theatre.quote(GBP, 125_900); // away from it before it can be copied
  theatre.rest();
  theatre.close(moved);
  theatre.close(theatre.open(126, GBP, "sell", "0.10")); // gone before it can be copied
  theatre.rest();

  const last = theatre.open(150, EUR, "sell", "0.20");
  theatre.rest();
  theatre.quote(EUR, 108_650);
  theatre.modify(last, 108_651, null); // nearer than the stop level of some
  theatre.rest();
  theatre.rest();
}

/** One trade: opened, part-closed, its stop moved, closed. */
export const ONE = statementOf({
  positions: [
    closed(201, EUR, "0.20", { side: "buy", openPrice: price(108_500), closePrice: price(108_500), chainTo: 202 as Ticket }),
    closed(202, EUR, "0.20", { side: "buy", openPrice: price(108_500), closePrice: price(108_500), stopLoss: price(108_000), chainFrom: 201 as Ticket }),
  ],
});

export function playOne(theatre: Theatre, { isClosed = true } = {}): void {
  const first = theatre.open(201, EUR, "buy", "0.40");
  theatre.rest();
  const rest = theatre.partClose(first, "0.20");
  theatre.rest();
  theatre.modify(rest, 108_000, null);
  theatre.rest();
  if (isClosed) theatre.close(rest);
  theatre.rest();
}

/** A pending order that is changed once and cancelled. */
export const PENDING = statementOf({ pendings: [removed(301, EUR, "0.10", { kind: "buy_limit", price: price(108_200), marketPrice: price(108_500) })] });

export function playPending(theatre: Theatre): void {
  const pending = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
  theatre.rest();
  theatre.change(pending, 108_200);
  theatre.rest();
  theatre.cancel(pending);
  theatre.rest();
}

export const F1 = accountId("f1");
export const F4 = accountId("f4");
export const F5 = accountId("f5");
export const F6 = accountId("f6");

/** A pending order that fills, and is closed. The statement knows only the trade. */
export function playFilled(theatre: Theatre): void {
  theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
  theatre.rest();
  theatre.quote(EUR, 108_300);
  theatre.rest();
  theatre.closeAll();
  theatre.rest();
}

/** Breaks what goes out for one follower; the others stay honest. */
export const bendFor = (broken: AccountId, bend: (order: Order) => readonly Order[]): Bend => (order, follower) => (follower === broken ? bend(order) : [order]);
