// Owns the simulation of a cell's leases: some nodes under random faults of processes, machines, network and database. What
// must hold at every moment is in test/sim/keepers.ts and ends the run; afterwards everything converges.
//
// 1. A wall clock that is put back just before its machine is suspended leaves a node no clock that tells the time that
//    passed. Nobody promises anything then, so one machine meets only one of the two.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAST } from "../../../actors/core/leaseProfile.ts";
import { KeeperCell, type KeeperNode } from "../../sim/keepers.ts";
import { heal, type Channel } from "../../sim/tornRegistry.ts";

const NAMES = ["n1", "n2", "n3", "n4"] as const;
const REACH_MS = FAST.ttlMs - FAST.marginMs;
const HOUR_MS = 3_600_000;

type Fault =
  | { readonly kind: "join" | "leave" | "kill" | "vanish" | "heal" }
  | { readonly kind: "stopped" | "suspended"; readonly forMs: number }
  | { readonly kind: "wall"; readonly byMs: number }
  | { readonly kind: "network"; readonly of: "renewals" | "claims" | "both"; readonly channel: Channel }
  | { readonly kind: "fail over"; readonly byMs: number };
type Step = { readonly name: (typeof NAMES)[number]; readonly fault: Fault; readonly pauseMs: number };

const chance = fc.constantFrom(0, 0, 0.2, 0.5, 1);
const channel: fc.Arbitrary<Channel> = fc.record({ lostQuestions: chance, lostAnswers: chance, hopMs: fc.constantFrom(4, 4, 1_000, 4_000), statementMs: fc.constantFrom(0, 0, 20, 3_000, 20_000) });
const forMs = fc.integer({ min: 100, max: 25_000 });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("join" as const, "join" as const, "leave" as const, "kill" as const, "vanish" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("heal" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("stopped" as const, "suspended" as const), forMs }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("wall" as const), byMs: fc.constantFrom(-HOUR_MS, -5_000, 5_000, HOUR_MS) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("network" as const), of: fc.constantFrom("renewals" as const, "claims" as const, "both" as const), channel }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail over" as const), byMs: fc.constantFrom(0, 30_000, -30_000, 600) }) },
);
const step: fc.Arbitrary<Step> = fc.record({ name: fc.constantFrom(...NAMES), fault, pauseMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 20_000 })) });

/** Which of the two befalls this machine: see the file's head. */
const isSuspendable = (name: string): boolean => name === "n1" || name === "n2";
const rateOf = (cell: KeeperCell): number => 1 + (cell.clock.random.next() - 0.5) / 100;

async function carryOut(cell: KeeperCell, { name, fault: what, pauseMs }: Step): Promise<void> {
  const node = cell.living.find((one) => one.name === name);
  if (node === undefined) {
    if (what.kind === "join") cell.join(name, { rate: rateOf(cell) });
  } else befall(cell, node, what);
  if (what.kind === "fail over") cell.tables.server.failOver(what.byMs);
  await cell.clock.advance(pauseMs);
}

function befall(cell: KeeperCell, node: KeeperNode, what: Fault): void {
  switch (what.kind) {
    case "leave":
      return void cell.leave(node.name).catch(() => undefined);
    case "kill":
    case "vanish":
      return void cell.kill(node.name, what.kind === "kill");
    case "heal":
      return heal(node.link);
    case "stopped":
    case "suspended":
      if (what.kind === "suspended" && !isSuspendable(node.name)) return;
      node.machine.halt(what.kind);
      return void cell.clock.after(what.forMs, () => node.machine.resume());
    case "wall":
      if (what.byMs > 0 || !isSuspendable(node.name)) node.machine.wallOffsetMs += what.byMs;
      return;
    case "network":
      if (what.of !== "claims") Object.assign(node.link.renewals, what.channel);
      if (what.of !== "renewals") Object.assign(node.link.claims, what.channel);
      return;
    case "join":
    case "fail over":
      return;
  }
}

function isAtRest(cell: KeeperCell): boolean {
  const even = [cell.counts("mt4"), cell.counts("mt5")].every((counts) => (counts[0] ?? 0) - (counts.at(-1) ?? 0) <= 1);
  return even && cell.allHeld && cell.members.every(({ alive, gate }) => !alive || gate.lifted);
}

async function cellOf(seed: number, nodes: number, accounts: number): Promise<KeeperCell> {
  const cell = new KeeperCell(seed, FAST);
  await cell.put(accounts, 1);
  for (const name of NAMES.slice(0, nodes)) cell.join(name, { rate: rateOf(cell) });
  await cell.clock.until(() => cell.allHeld, 60_000);
  return cell;
}

test("row 11: whatever befalls processes, machines, network and database: never two open gates, epochs only rise, and everything converges", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.array(step, { minLength: 3, maxLength: 30 }), async (seed, steps) => {
      const cell = await cellOf(seed, 3, 6);
      for (const one of steps) await carryOut(cell, one);
      for (const { machine, link } of cell.members) {
        machine.resume();
        heal(link);
      }
      await cell.clock.advance(2 * FAST.ttlMs);
      if (cell.living.length === 0) cell.join("n1");
      for (let left = 20; left > 0 && !isAtRest(cell); left -= 1) await cell.clock.advance(60_000);
      assert.ok(isAtRest(cell), `${cell.counts("mt4").join(", ")} and ${cell.counts("mt5").join(", ")}`);
      const { orders } = cell;
      await cell.clock.advance(1_000);
      assert.ok(cell.orders > orders, "every gate is open");
    }),
    { numRuns: 60 },
  );
});

test("row 23: claims that judged a lease before it was renewed, and commit afterwards, never meet an open gate", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const cell = await cellOf(seed, 2, 8);
    const [back, rival] = [cell.node("n1"), cell.node("n2")];
    await cell.clock.advance(2 * FAST.ttlMs);
    back.link.down = true;
    await cell.clock.advance(FAST.ttlMs - FAST.renewMs);
    rival.link.claims.statementMs = 6_000;
    await cell.clock.advance(FAST.renewMs + 3_000 * cell.clock.random.next());
    back.link.down = false;
    await cell.clock.advance(2 * FAST.ttlMs);
    heal(rival.link);
    await cell.clock.advance(60_000);
    assert.ok(cell.allHeld && cell.members.every(({ gate }) => gate.lifted));
  }
});

test("row 29: answers that come after a suspend, when the gate has closed and opened again, open nothing", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const cell = await cellOf(seed, 2, 8);
    const [asleep, other] = [cell.node("n1"), cell.node("n2")];
    await cell.clock.advance(2 * FAST.ttlMs);
    // Its rival's accounts become free, and it asks for them, or for its own, just before it falls asleep.
    asleep.link.claims.hopMs = 1_500;
    await cell.kill("n2");
    await cell.clock.advance(1_500 * cell.clock.random.next());
    asleep.machine.halt("suspended");
    cell.join("n3");
    await cell.clock.advance(FAST.ttlMs + 10_000);
    asleep.machine.resume();
    await cell.clock.advance(2 * FAST.ttlMs);
    heal(asleep.link);
    await cell.clock.advance(120_000);
    assert.ok(!other.alive && cell.allHeld);
  }
});

for (const kind of ["stopped", "suspended"] as const) {
  test(`rows 13, 28: a node that is ${kind} for longer than its lease sends nothing when it goes on: its first act is refused, whatever runs first`, async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const cell = await cellOf(seed, 2, 8);
      const node = cell.node("n1");
      const epochs = node.keeper.accounts;
      node.machine.halt(kind);
      await cell.clock.advance(FAST.ttlMs + 10_000);
      assert.equal(cell.node("n2").keeper.accounts.length, 9, "all of it is the other's meanwhile");
      node.machine.resume();
      await cell.clock.advance(FAST.renewMs + 1_000);
      assert.deepEqual(node.lost.toSorted(), epochs.map(({ account }) => account).toSorted());
      assert.ok(node.journal.of("fenced").length > 0);
    }
  });
}

test("row 10: wall clocks that are an hour off, each another way, change nothing", async () => {
  const [plain, skewed] = await Promise.all([0, HOUR_MS].map(async (byMs) => {
    const cell = await cellOf(7, 3, 9);
    for (const [index, { machine }] of cell.members.entries()) machine.wallOffsetMs = byMs * (1 - index);
    const first = cell.members[0];
    await cell.clock.advance(REACH_MS);
    const before = cell.moves;
    await cell.clock.advance(120_000);
    return [cell.moves - before, cell.counts("mt4"), first?.gate.lifted];
  }));
  assert.deepEqual(skewed, plain);
});

test("a database clock that jumps 30 s ahead at a fail-over moves nothing: nobody takes what only seems to have lapsed, also not a node that has just started", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const cell = await cellOf(seed, 3, 9);
    await cell.clock.advance(2 * FAST.ttlMs);
    // One cannot reach the new server for as long as its gate may stay open; another starts just then.
    const cut = cell.node("n1");
    const { acquired } = cut;
    const before = cell.moves;
    cut.link.down = true;
    cell.tables.server.failOver(30_000);
    cell.join("n4", { capacity: 9 });
    await cell.clock.advance(REACH_MS);
    assert.equal(cell.moves, before);
    cut.link.down = false;
    await cell.clock.advance(2 * FAST.renewMs);
    assert.deepEqual([cut.lost, cut.acquired.length, cut.keeper.accounts.length > 0], [[], acquired.length, true]);
    for (const name of ["n1", "n2", "n3"]) assert.equal(cell.node(name).journal.of("clock_jumped").length, 1);
  }
});

test("row 38: the first node back after an outage of all takes nothing from the others, and each finds its own", async () => {
  const cell = await cellOf(3, 3, 9);
  await cell.clock.advance(2 * FAST.ttlMs);
  const before = cell.moves;
  cell.databaseDown = true;
  await cell.clock.advance(2 * FAST.ttlMs);
  cell.node("n1").link.down = false;
  await cell.clock.advance(FAST.renewMs + FAST.retryMs);
  for (const { link } of cell.members) link.down = false;
  await cell.clock.advance(4 * FAST.ttlMs);
  assert.equal(cell.moves, before);
  assert.deepEqual(cell.members.map(({ lost }) => lost), [[], [], []]);
  assert.ok(cell.members.every(({ gate, journal }) => gate.lifted && journal.of("confirmed").length > 0), "each at a raised epoch");
});

test("row 22: a renewal that comes late restores nothing: a node that was away finds its accounts another's, and the list of its own renewals says so", async () => {
  const cell = await cellOf(5, 2, 6);
  const away = cell.node("n1");
  const { renewals } = away.link;
  renewals.statementMs = 120_000; // one stands still between its snapshot and its end
  await cell.clock.advance(FAST.renewMs + 10);
  renewals.lostQuestions = 1; // the others do not get there at all
  await cell.clock.until(() => cell.node("n2").keeper.accounts.length === 7, 60_000);
  await cell.clock.advance(120_000);
  heal(away.link);
  await cell.clock.advance(60_000);
  assert.ok(away.lost.length > 0);
});

test("row 2: a network that swallows everything in both directions, and then carries again: the same process goes on by itself", async () => {
  const cell = await cellOf(9, 1, 6);
  const node = cell.node("n1");
  for (const one of [node.link.renewals, node.link.claims]) one.lostQuestions = 1;
  await cell.clock.advance(3 * FAST.ttlMs);
  assert.equal(cell.members[0]?.gate.lifted, false);
  assert.ok(node.journal.of("renew_failed").length > 3);
  heal(node.link);
  await cell.clock.until(() => cell.members[0]?.gate.lifted === true, FAST.renewMs + FAST.queryTimeoutMs + FAST.retryMs);
  assert.equal(node.keeper.accounts.length, 7);
});
