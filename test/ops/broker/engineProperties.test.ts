// Owns the properties of the engine that hold for any orders and quotes: volumes are conserved, a
// ticket is in one place, and the log alone gives the state.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Magic, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { PendingOrder, Platform, Position } from "../../../protocol/trades.ts";
import type { TradeEvent } from "../../../ops/broker/log.ts";
import { Engine, EURUSD, lots, points } from "./market.ts";

/** An order's `ticket` is drawn as a number and becomes that one of what then stands. */
type Step = { readonly kind: "quote"; readonly bid: number } | { readonly kind: "order"; readonly order: Order };

const price = fc.integer({ min: 107_900, max: 108_100 }).map(points);
// Mostly none: most random stops are invalid, and an account that refuses everything proves nothing.
const stop = fc.oneof({ arbitrary: fc.constant(null), weight: 4 }, price);
const volume = fc.integer({ min: 1, max: 30 }).map((hundredths) => lots(`0.${String(hundredths).padStart(2, "0")}`));
const ticket = fc.nat({ max: 20 }).map((value) => value as Ticket);
const trade = { symbol: fc.constant(EURUSD), volume, stopLoss: stop, takeProfit: stop, magic: fc.constant(1 as Magic), comment: fc.string({ maxLength: 40 }) };
const standing = { ticket, symbol: fc.constant(EURUSD) };

const order: fc.Arbitrary<Order> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant("open"), side: fc.constantFrom("buy", "sell"), priceLimit: stop, ...trade }), weight: 4 },
  { arbitrary: fc.record({ kind: fc.constant("close"), volume, part: fc.boolean(), ...standing }), weight: 6 },
  { arbitrary: fc.record({ kind: fc.constant("modify"), stopLoss: stop, takeProfit: stop, ...standing }), weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant("place"), pending: fc.constantFrom("buy_limit", "sell_limit", "buy_stop", "sell_stop"), price, ...trade }), weight: 4 },
  { arbitrary: fc.record({ kind: fc.constant("change"), price, stopLoss: stop, takeProfit: stop, ...standing }), weight: 1 },
  { arbitrary: fc.record({ kind: fc.constant("cancel"), ...standing }), weight: 1 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("quote"), bid: fc.integer({ min: 107_900, max: 108_100 }) }),
  { arbitrary: fc.record({ kind: fc.constant("order"), order }), weight: 3 },
);

function run(platform: Platform, steps: readonly Step[]): Engine {
  const engine = new Engine(platform, { stopLevelPoints: 2 });
  engine.quote(108_000, 108_005);
  for (const one of steps) {
    if (one.kind === "quote") engine.quote(one.bid, one.bid + 5);
    else engine.ask(aimed(engine, one.order));
  }
  return engine;
}

function aimed({ state }: Engine, drawn: Order): Order {
  if (drawn.kind === "open" || drawn.kind === "place") return drawn;
  const held = [...(drawn.kind === "close" || drawn.kind === "modify" ? state.positions : state.pendings).values()];
  const aim = held[drawn.ticket % Math.max(held.length, 1)];
  if (aim === undefined) return drawn;
  return drawn.kind === "close" && !drawn.part ? { ...drawn, ticket: aim.ticket, volume: aim.volume } : { ...drawn, ticket: aim.ticket };
}

/** The log as a checker reads it: from JSON, with no help from the engine. */
function replayed(events: readonly TradeEvent[]): { readonly positions: Position[]; readonly pendings: PendingOrder[] } {
  const positions = new Map<number, Position>();
  const pendings = new Map<number, PendingOrder>();
  for (const event of JSON.parse(JSON.stringify(events)) as TradeEvent[]) {
    if (event.kind === "pending" && event.step === "removed") pendings.delete(event.removed.pending.ticket);
    if (event.kind === "pending" && event.step === "filled") pendings.delete(event.pending.ticket);
    if (event.kind === "pending" && (event.step === "placed" || event.step === "changed")) pendings.set(event.pending.ticket, event.pending);
    if (event.kind === "deal" && event.deal !== "opened") positions.delete(event.closed.position.ticket);
    if (event.kind === "deal" && event.deal === "part_closed") positions.set(event.rest.ticket, event.rest);
    if ("position" in event) positions.set(event.position.ticket, event.position);
  }
  return { positions: byTicket(positions.values()), pendings: byTicket(pendings.values()) };
}

const kindOf = (event: TradeEvent): string => (event.kind === "deal" ? event.deal : event.kind === "pending" ? event.step : event.kind);
const byTicket = <T extends { readonly ticket: number }>(trades: Iterable<T>): T[] => [...trades].sort((a, b) => a.ticket - b.ticket);
const total = (volumes: readonly number[]): number => volumes.reduce((sum, one) => sum + one, 0);

for (const platform of ["mt4", "mt5"] as const) {
  describe(`${platform}: any orders and quotes`, () => {
    const holds = (check: (engine: Engine) => void): void =>
      fc.assert(fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => check(run(platform, steps))), { numRuns: 150 });

    test("the runs below hold everything that can happen", () => {
      const steps = fc.sample(fc.array(step, { minLength: 5, maxLength: 60 }), { numRuns: 150, seed: 1 });
      const kinds = new Set(steps.flatMap((one) => run(platform, one).events.map(kindOf)));
      assert.deepEqual([...kinds].sort(), ["changed", "closed", "filled", "modified", "opened", "part_closed", "placed", "removed"]);
    });

    test("what was opened is what was closed and what is open", () =>
      holds(({ state, events }) => {
        const opened = events.flatMap((event) => ("position" in event && event.kind !== "modified" ? [event.position.volume] : []));
        assert.equal(total(opened), total(state.closed.map(({ position }) => position.volume)) + total([...state.positions.values()].map((open) => open.volume)));
      }));

    test("no wholly closed position is open, and no pending is also a position", () =>
      holds(({ state, events }) => {
        const whole = events.flatMap((event) => (event.kind === "deal" && event.deal === "closed" ? [event.closed.position.ticket] : []));
        const ended = platform === "mt4" ? state.closed.map(({ position }) => position.ticket) : whole;
        for (const one of [...ended, ...state.pendings.keys(), ...state.removed.map(({ pending }) => pending.ticket)]) assert.equal(state.positions.has(one), false);
        assert.equal(new Set(ended).size, ended.length, "nothing is closed twice");
      }));

    test("the log alone gives the state", () =>
      holds(({ state, events }) => {
        assert.deepEqual(replayed(events), { positions: byTicket(state.positions.values()), pendings: byTicket(state.pendings.values()) });
      }));

    test("every open volume is one the account could have opened", () =>
      holds(({ state }) => {
        for (const { volume: open } of state.positions.values()) assert.equal(open >= lots("0.01") && open % lots("0.01") === 0, true);
      }));
  });
}
