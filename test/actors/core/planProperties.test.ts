// Owns the properties of reconcile, for any mixture of what the master holds, what the follower's broker
// holds and remembers, and what we believe: planning and carrying out comes to rest, and a trade is
// never opened twice, nor one that was completed.

import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Target } from "../../../actors/core/decide.ts";
import type { Action, KnownPair } from "../../../actors/core/reconcile/input.ts";
import { plan } from "../../../actors/core/reconcile/plan.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import { isLive, type Pair } from "../../../protocol/pairs.ts";
import type { AccountSnapshot, ClosedPosition, PendingOrder, Position, RemovedPending } from "../../../protocol/trades.ts";
import { tagComment } from "../../../protocol/tags.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import { brokerMs, closed, link, lots, market, masterPending, masterPosition, NOW, pair, pending, points, position, removed, sending, snapshot, ticket } from "./examples.ts";

type Live = Exclude<Target, { kind: "gone" }>;

/** One trade of the master as it may be found. */
interface Found {
  readonly master: "position" | "part" | "pending" | "gone";
  readonly broker: readonly ("position" | "part" | "rest" | "pending" | "closed" | "removed")[];
  readonly believed: "nothing" | "open" | "pending" | "sending" | "unsettled" | "ended" | "busy";
  readonly stopLoss: number | null;
}

const found: fc.Arbitrary<Found> = fc.record({
  master: fc.constantFrom("position", "part", "pending", "gone"),
  broker: fc.array(fc.constantFrom("position", "part", "rest", "pending", "closed", "removed"), { maxLength: 2 }),
  believed: fc.constantFrom("nothing", "open", "pending", "sending", "unsettled", "ended", "busy"),
  stopLoss: fc.constantFrom(null, 109_000),
});

const HALF = lots(0.5);

/** The follower's broker, and what we know: changed by carrying out actions. */
class World {
  readonly targets = new Map<Ticket, Live>();
  readonly pairs = new Map<Ticket, KnownPair>();
  readonly positions = new Map<Ticket, Position>();
  readonly pendings = new Map<Ticket, PendingOrder>();
  readonly closed: ClosedPosition[] = [];
  readonly removed: RemovedPending[] = [];
  readonly opened: Ticket[] = [];
  monotonicMs = 0;
  #lastTicket = 1_000;

  constructor(trades: readonly Found[]) {
    trades.forEach((trade, index) => this.#add(ticket(index + 1), trade));
  }

  #add(masterTicket: Ticket, { master, broker, believed, stopLoss }: Found): void {
    const level = stopLoss === null ? null : points(stopLoss);
    const volume = master === "part" ? HALF : lots(1);
    if (master === "pending") this.targets.set(masterTicket, { kind: "pending", pending: masterPending({ masterTicket, stopLoss: level }) });
    else if (master !== "gone") this.targets.set(masterTicket, { kind: "position", position: masterPosition({ masterTicket, volume, stopLoss: level }) });
    const first = ticket(100 * masterTicket);
    broker.forEach((what, index) => this.#stand(what, ticket(first + 2 * index), tagComment(masterTicket)));
    const of = { masterTicket, followerTicket: first };
    switch (believed) {
      case "nothing":
        return;
      case "open":
        return void this.pairs.set(masterTicket, { pair: pair(of), busy: false, settlesAtMs: null });
      case "pending":
        return void this.pairs.set(masterTicket, { pair: pair({ ...of, holds: "pending", openPrice: points(109_500) }), busy: false, settlesAtMs: null });
      case "sending":
      case "unsettled":
        return void this.pairs.set(masterTicket, { pair: sending({ masterTicket }), busy: false, settlesAtMs: believed === "sending" ? null : 30_000 });
      case "ended":
        return void this.pairs.set(masterTicket, { pair: pair({ ...of, status: "Closed", reason: "manual" }), busy: false, settlesAtMs: null });
      case "busy":
        return void this.pairs.set(masterTicket, { pair: pair(of), busy: true, settlesAtMs: null });
    }
  }

  #stand(what: Found["broker"][number], as: Ticket, comment: string): void {
    const whole = position({ ticket: as, comment });
    switch (what) {
      case "position":
        return void this.positions.set(as, whole);
      case "part":
        this.positions.set(as, { ...whole, volume: HALF });
        return void this.closed.push(closed({ ...whole, volume: HALF }));
      case "rest": {
        const rest = ticket(as + 1);
        this.positions.set(rest, { ...whole, ticket: rest, identifier: rest, volume: HALF, comment: `from #${as}` });
        return void this.closed.push(closed({ ...whole, volume: HALF, comment: `to #${rest}` }));
      }
      case "pending":
        return void this.pendings.set(as, pending({ ticket: as, comment }));
      case "closed":
        return void this.closed.push(closed(whole, "stop_loss"));
      case "removed":
        return void this.removed.push(removed(pending({ ticket: as, comment })));
    }
  }

  /** Each trade that still stands becomes what is said of it, where that can come of it. */
  masterGoesOn(then: readonly Found["master"][]): void {
    [...this.targets].forEach(([masterTicket, target], index) => {
      const next = then[index];
      if (next === "gone") this.targets.delete(masterTicket);
      else if (next === "part" && target.kind === "position") this.targets.set(masterTicket, { kind: "position", position: { ...target.position, volume: (target.position.volume / 2) as VolumeUnits } });
    });
  }

  snapshot(): AccountSnapshot {
    return snapshot({ positions: [...this.positions.values()], pendings: [...this.pendings.values()], closed: this.closed, removed: this.removed });
  }

  plan(): readonly Action[] {
    return plan({ link: link(), targets: this.targets, snapshot: this.snapshot(), pairs: this.pairs, market: () => market(), masterNowMs: brokerMs(0), masterSilentMs: 0, snapshotAgeMs: 0, emptinessConfirmed: true, monotonicMs: this.monotonicMs, nowMs: NOW, settledAtMs: 0, sinceMs: 0, barrier: "open", isFirstLook: false, limits: { staleAfterMs: 15_000, settleMs: 30_000, maxOrders: 200 } });
  }

  carryOut(action: Action): void {
    switch (action.kind) {
      case "missing":
        return;
      case "again":
        this.monotonicMs = Math.max(this.monotonicMs, action.atMs);
        return;
      case "row":
        return this.#know(action.pair);
      case "loose":
        return this.#order(action.order, null);
      case "order":
        return this.#order(action.order, action.pair);
    }
  }

  #know(of: Pair): void {
    this.pairs.set(of.masterTicket, { pair: of, busy: false, settlesAtMs: null });
  }

  #order(order: Order, row: Pair | null): void {
    switch (order.kind) {
      case "open":
      case "place": {
        assert.ok(row !== null);
        const as = ticket(++this.#lastTicket);
        this.opened.push(row.masterTicket);
        const levels = { stopLoss: order.stopLoss, takeProfit: order.takeProfit, magic: order.magic, comment: order.comment, volume: order.volume };
        if (order.kind === "open") this.positions.set(as, position({ ticket: as, ...levels }));
        else this.pendings.set(as, pending({ ticket: as, kind: order.pending, price: order.price, ...levels }));
        return this.#know({ ...row, status: "Open", followerTicket: as, volume: order.volume, stopLoss: order.stopLoss, takeProfit: order.takeProfit, openPrice: order.kind === "place" ? order.price : points(110_000) });
      }
      case "close": {
        const of = this.positions.get(order.ticket);
        assert.ok(of !== undefined && order.volume <= of.volume, "a close of what stands");
        this.closed.push(closed({ ...of, volume: order.volume }));
        const left = (of.volume - order.volume) as VolumeUnits;
        if (left === 0) this.positions.delete(order.ticket);
        else this.positions.set(order.ticket, { ...of, volume: left });
        return;
      }
      case "cancel": {
        const of = this.pendings.get(order.ticket);
        assert.ok(of !== undefined, "a cancel of what stands");
        this.pendings.delete(order.ticket);
        return void this.removed.push(removed(of));
      }
      case "modify": {
        const of = this.positions.get(order.ticket);
        assert.ok(of !== undefined, "a modify of what stands");
        return void this.positions.set(order.ticket, { ...of, stopLoss: order.stopLoss, takeProfit: order.takeProfit });
      }
      case "change": {
        const of = this.pendings.get(order.ticket);
        assert.ok(of !== undefined, "a change of what stands");
        return void this.pendings.set(order.ticket, { ...of, price: order.price, stopLoss: order.stopLoss, takeProfit: order.takeProfit });
      }
    }
  }
}

const ROUNDS = 4;
const trades = fc.array(found, { minLength: 1, maxLength: 5 });
/** One order a trade: a second one of the same trade waits for the next round, as in the actor. */
function round(world: World, actions: readonly Action[]): void {
  const ordered = new Set<Ticket>();
  for (const action of actions) {
    if (action.kind === "order" && ordered.has(action.pair.masterTicket)) continue;
    if (action.kind === "order") ordered.add(action.pair.masterTicket);
    world.carryOut(action);
  }
}

test("carrying out plans comes to rest: what is left is only what cannot be concluded", () => {
  fc.assert(
    fc.property(trades, (of) => {
      const world = new World(of);
      for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
      // While an order is under way, what nothing explains may be that order.
      const isBusy = [...world.pairs.values()].some(({ busy }) => busy);
      assert.deepEqual(world.plan().filter(({ kind }) => kind !== "missing" && !(isBusy && kind === "again")), []);
    }),
    { numRuns: 500 },
  );
});

test("no trade is opened twice, none that has a copy, and none that was completed", () => {
  fc.assert(
    fc.property(trades, (of) => {
      const world = new World(of);
      const completed = new Set([...world.pairs.values()].filter(({ pair: known }) => !isLive(known.status)).map(({ pair: known }) => known.masterTicket));
      of.forEach(({ broker }, index) => {
        // A MetaTrader 4 rest has lost its tag: it is found by the pair alone.
        if (broker.some((what) => what !== "rest")) completed.add(ticket(index + 1));
      });
      for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
      assert.equal(new Set(world.opened).size, world.opened.length, "opened twice");
      assert.deepEqual(world.opened.filter((masterTicket) => completed.has(masterTicket)), []);
    }),
    { numRuns: 500 },
  );
});

test("at rest every trade has at most one copy, alike to the master's, and none whose master is gone", () => {
  fc.assert(
    fc.property(trades, (of) => {
      const world = new World(of);
      for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
      of.forEach((trade, index) => {
        const masterTicket = ticket(index + 1);
        const standing = [...world.positions.values(), ...world.pendings.values()].filter(({ comment }) => comment === tagComment(masterTicket));
        const known = world.pairs.get(masterTicket);
        if (known === undefined || known.busy) return;
        assert.ok(standing.length <= 1, "two copies");
        const [copy] = standing;
        if (copy === undefined) return;
        assert.notEqual(trade.master, "gone");
        assert.equal(copy.ticket, known.pair.followerTicket);
        if ("kind" in copy === (trade.master === "pending")) assert.equal(copy.stopLoss, trade.stopLoss);
      });
    }),
    { numRuns: 500 },
  );
});

test("while an order of it is under way, a trade gets no action", () => {
  fc.assert(
    fc.property(trades, (of) => {
      const busy = new Set(of.flatMap(({ believed }, index) => (believed === "busy" ? [ticket(index + 1)] : [])));
      for (const action of new World(of).plan()) if ("pair" in action) assert.ok(!busy.has(action.pair.masterTicket));
    }),
  );
});

test("the same input gives the same plan, and planning changes nothing", () => {
  fc.assert(
    fc.property(trades, (of) => {
      const world = new World(of);
      const before = JSON.stringify([[...world.pairs], world.snapshot()]);
      assert.deepEqual(world.plan(), world.plan());
      assert.equal(JSON.stringify([[...world.pairs], world.snapshot()]), before);
    }),
  );
});

/** The orders of a plan as texts; what only changes rows is left out. */
const ordersOf = (actions: readonly Action[]): string[] => actions.flatMap((action) => (action.kind === "order" || action.kind === "loose" ? [JSON.stringify(action.order)] : [])).sort();

test("rows that the database has lost change no order: what they knew is found at the broker", () => {
  const healthy = fc.record({ master: fc.constantFrom("position", "part", "pending", "gone" as const), broker: fc.constant([]), believed: fc.constant("nothing" as const), stopLoss: fc.constantFrom(null, 109_000) });
  fc.assert(
    fc.property(fc.array(healthy, { minLength: 1, maxLength: 5 }), fc.array(fc.constantFrom("position", "part", "pending", "gone" as const), { minLength: 5, maxLength: 5 }), fc.nat(), (of, then, cut) => {
      const world = new World(of);
      for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
      // The master goes on, and a new owner comes with a suffix of the rows missing.
      const before = [...world.pairs.keys()];
      world.masterGoesOn(then);
      const whole = ordersOf(world.plan());
      for (const masterTicket of before.slice(cut % (before.length + 1))) world.pairs.delete(masterTicket);
      assert.deepEqual(ordersOf(world.plan()), whole);
    }),
    { numRuns: 500 },
  );
});

test("however part-closes come, a copy holds its share of what it was opened with", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 6 }), (opened, parts) => {
      const world = new World([]);
      let left = opened * 10;
      const hold = (): void => void world.targets.set(ticket(1), { kind: "position", position: masterPosition({ masterTicket: ticket(1), initialVolume: lots(opened / 10), volume: lots(left / 100) }) });
      hold();
      round(world, world.plan());
      for (const part of parts) {
        left = Math.max(1, left - part);
        hold();
        for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
        const [copy] = [...world.positions.values()];
        assert.equal(copy?.volume, lots(left / 100), "one to one: the copy holds what the master holds");
      }
      world.targets.clear();
      for (let count = 0; count < ROUNDS; count++) round(world, world.plan());
      assert.equal(world.closed.reduce((sum, { position: { volume } }) => sum + volume, 0), lots(opened / 10), "all that was opened is closed");
    }),
  );
});
