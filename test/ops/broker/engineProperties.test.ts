// Owns the properties of the engine that hold for any orders, quotes and acts of the broker: volumes
// are conserved, a ticket is in one place, and the log alone gives the state.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Magic, Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { PendingOrder, Platform, Position } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerAct } from "../../../ops/broker/engine/acts.ts";
import type { TradeEvent } from "../../../ops/broker/log.ts";
import { Engine, EURUSD, lots, points } from "./market.ts";

/** An order's or act's `ticket` is drawn as a number and becomes that one of what then stands. */
type Step =
  | { readonly kind: "quote"; readonly bid: number }
  | { readonly kind: "order"; readonly order: Order }
  | { readonly kind: "act"; readonly act: Exclude<BrokerAct, { kind: "fill_rest" }> }
  /** MT5: more of an order fills, whose position stands, or is closed. */
  | { readonly kind: "fill_rest"; readonly ticket: Ticket; readonly volume: VolumeUnits };

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

const act: fc.Arbitrary<Exclude<BrokerAct, { kind: "fill_rest" }>> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant("part_close"), ticket, volume }), weight: 2 },
  fc.record({ kind: fc.constant("stop_out"), ticket }),
  fc.record({ kind: fc.constant("reticket"), ticket }),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant("quote"), bid: fc.integer({ min: 107_900, max: 108_100 }) }), weight: 2 },
  { arbitrary: fc.record({ kind: fc.constant("order"), order }), weight: 6 },
  fc.record({ kind: fc.constant("act"), act }),
  fc.record({ kind: fc.constant("fill_rest"), ticket, volume }),
);

function run(platform: Platform, steps: readonly Step[]): Engine {
  const engine = new Engine(platform, { stopLevelPoints: 2 });
  engine.quote(108_000, 108_005);
  for (const one of steps) {
    if (one.kind === "quote") engine.quote(one.bid, one.bid + 5);
    else if (one.kind === "order") engine.ask(aimed(engine, one.order));
    else if (one.kind === "act") engine.act({ ...one.act, ticket: drawnFrom([...engine.state.positions.values()], one.act.ticket)?.ticket ?? one.act.ticket });
    else if (platform === "mt5") fillRest(engine, one.ticket, one.volume);
  }
  return engine;
}

const drawnFrom = <T>(all: readonly T[], drawn: number): T | undefined => all[drawn % Math.max(all.length, 1)];

/** Of any position there ever was: one that is closed may stand again. */
function fillRest(engine: Engine, drawn: Ticket, more: VolumeUnits): void {
  const first = drawnFrom(engine.events.flatMap((event) => ("position" in event ? [event.position] : [])), drawn);
  if (first !== undefined) engine.act({ kind: "fill_rest", first: { ...first, ticket: first.identifier }, volume: more });
}

function aimed({ state }: Engine, drawn: Order): Order {
  if (drawn.kind === "open" || drawn.kind === "place") return drawn;
  const aim = drawnFrom<Position | PendingOrder>([...(drawn.kind === "close" || drawn.kind === "modify" ? state.positions : state.pendings).values()], drawn.ticket);
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
    if (event.kind === "reticketed") positions.delete(event.before.ticket);
    if ("position" in event) positions.set(event.position.ticket, event.position);
  }
  return { positions: byTicket(positions.values()), pendings: byTicket(pendings.values()) };
}

/** Positions that were closed whole and do not stand again, by ticket; throws where one is closed that is. */
function endedBy(events: readonly TradeEvent[]): Ticket[] {
  const ended = new Set<Ticket>();
  for (const event of events) {
    if (event.kind === "grown" && event.volume === event.position.volume) ended.delete(event.position.ticket);
    if (event.kind === "reticketed") ended.add(event.before.ticket);
    if (event.kind !== "deal" || event.deal === "opened") continue;
    const { ticket: closed } = event.closed.position;
    assert.equal(ended.has(closed), false, "nothing is closed twice");
    if (event.deal === "closed" || event.rest.ticket !== closed) ended.add(closed);
  }
  return [...ended];
}

const kindOf = (event: TradeEvent): string => (event.kind === "deal" ? event.deal : event.kind === "pending" ? event.step : event.kind);
const byTicket = <T extends { readonly ticket: number }>(trades: Iterable<T>): T[] => [...trades].sort((a, b) => a.ticket - b.ticket);
const total = (volumes: readonly number[]): number => volumes.reduce((sum, one) => sum + one, 0);

for (const platform of ["mt4", "mt5"] as const) {
  describe(`${platform}: any orders, quotes and acts`, () => {
    const holds = (check: (engine: Engine) => void): void =>
      fc.assert(fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => check(run(platform, steps))), { numRuns: 150 });

    test("the runs below hold everything that can happen", () => {
      const steps = fc.sample(fc.array(step, { minLength: 5, maxLength: 60 }), { numRuns: 150, seed: 1 });
      const events = steps.flatMap((one) => run(platform, one).events);
      const byServer = platform === "mt5" ? ["grown", "reticketed"] : [];
      assert.deepEqual([...new Set(events.map(kindOf))].sort(), ["changed", "closed", "filled", "modified", "opened", "part_closed", "placed", "removed", ...byServer].sort());
      assert.equal(events.some((event) => event.kind === "grown" && event.volume === event.position.volume), platform === "mt5", "a position stands again");
      assert.equal(events.some((event) => event.kind === "deal" && event.deal === "closed" && event.closed.reason === "stop_out"), true);
    });

    test("what was opened is what was closed and what is open", () =>
      holds(({ state, events }) => {
        const opened = events.flatMap((event) => {
          if (event.kind === "grown") return [event.volume];
          return "position" in event && event.kind !== "modified" && event.kind !== "reticketed" ? [event.position.volume] : [];
        });
        assert.equal(total(opened), total(state.closed.map(({ position }) => position.volume)) + total([...state.positions.values()].map((open) => open.volume)));
      }));

    test("no wholly closed position is open, but for one that filled again, and no pending is also a position", () =>
      holds(({ state, events }) => {
        for (const one of [...endedBy(events), ...state.pendings.keys(), ...state.removed.map(({ pending }) => pending.ticket)]) assert.equal(state.positions.has(one), false);
      }));

    test("an identifier is that of one open position; on MT4 it is the ticket", () =>
      holds(({ state }) => {
        const open = [...state.positions.values()];
        assert.equal(new Set(open.map(({ identifier }) => identifier)).size, open.length);
        if (platform === "mt4") for (const { ticket: own, identifier } of open) assert.equal(identifier, own);
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
