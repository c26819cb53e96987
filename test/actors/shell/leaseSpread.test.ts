// Owns the cases of accounts that are spread over the nodes of a cell, and handed over between them.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAST, freeForMs, liveForMs, STEADY } from "../../../actors/core/leaseProfile.ts";
import { elapsed } from "../../sim/cell.ts";
import { KeeperCell } from "../../sim/keepers.ts";

/** The slowest way of a claim: the next poll, and there and back. */
const POLL_MS = STEADY.claimPollMs + 50;
const REST_MS = 120_000;

async function cellOf(names: readonly string[], mt4: number, mt5 = 0): Promise<KeeperCell> {
  const cell = new KeeperCell(1);
  await cell.put(mt4, mt5);
  for (const name of names) cell.join(name);
  await cell.clock.advance(REST_MS);
  return cell;
}

async function assertStill(cell: KeeperCell): Promise<void> {
  const before = cell.moves;
  await cell.clock.advance(REST_MS);
  assert.equal(cell.moves, before, "nothing moves at rest");
}

test("nodes that start together share what there is, and then stay still", async () => {
  const cell = await cellOf(["n1", "n2", "n3"], 12, 2);
  assert.deepEqual([cell.counts("mt4"), cell.counts("mt5")], [[4, 4, 4], [1, 1, 0]]);
  await assertStill(cell);
});

test("a third node gets its share from the two others, no account moves twice, and then all stay still", async () => {
  const cell = await cellOf(["n1", "n2"], 12, 2);
  assert.deepEqual([cell.counts("mt4"), cell.counts("mt5")], [[6, 6], [1, 1]]);
  const before = cell.moves;
  const joinedAtMs = cell.clock.monotonicMs();
  const third = cell.join("n3");
  await cell.clock.until(() => third.keeper.accounts.length === 4, REST_MS);
  assert.ok(cell.clock.monotonicMs() - joinedAtMs < 4 * STEADY.renewMs);
  await assertStill(cell);
  assert.deepEqual([cell.counts("mt4"), cell.counts("mt5"), cell.moves - before], [[4, 4, 4], [1, 1, 0], 4]);
  assert.deepEqual(cell.members.flatMap(({ lost }) => lost), [], "all of it by hand-over");
});

test("a node hands back one account at a time, each free before the next is drained", async () => {
  const cell = new KeeperCell(1);
  await cell.put(9);
  const draining: string[] = [];
  cell.join("n1", { handBackMs: (account) => (draining.push(account), 7_000) });
  await cell.clock.advance(10_000);
  cell.join("n2");
  await cell.clock.until(() => draining.length === 3, REST_MS);
  assert.equal(cell.node("n1").released.length, 2);
});

test("a dead process's accounts are taken by the others within a claim poll of its parent's word", async () => {
  const cell = await cellOf(["n1", "n2", "n3"], 12, 2);
  const before = cell.moves;
  await cell.kill("n2");
  await cell.clock.advance(POLL_MS);
  assert.deepEqual([cell.counts("mt4"), cell.counts("mt5")], [[6, 6], [1, 1]]);
  await assertStill(cell);
  assert.equal(cell.moves - before, 5);
});

test("a dead host's accounts are taken when its lease has run out", async () => {
  const cell = await cellOf(["n1", "n2", "n3"], 12, 2);
  await cell.kill("n2", false);
  await cell.clock.advance(STEADY.ttlMs - STEADY.renewMs - 100);
  assert.deepEqual(cell.counts("mt4"), [4, 4]);
  await cell.clock.advance(STEADY.renewMs + POLL_MS);
  assert.deepEqual([cell.counts("mt4"), cell.counts("mt5")], [[6, 6], [1, 1]]);
});

test("of a node that stops each account is free as soon as it has drained, and elsewhere a claim poll later", async () => {
  const cell = new KeeperCell(1);
  await cell.put(4);
  const slow = cell.join("n1", { handBackMs: (account) => 5_000 * (1 + Number(account.slice(1))) });
  await cell.clock.advance(5_000);
  const second = cell.join("n2", { capacity: 0 });
  await cell.clock.advance(10_000);
  await cell.kill("n2");
  const third = cell.join("n3", { handBackMs: () => 0 });
  await cell.clock.advance(500);
  const left = cell.leave("n1");
  await elapsed(cell.clock, left);
  assert.deepEqual([second.acquired.length, slow.released.length], [0, 4]);
  await cell.clock.advance(POLL_MS);
  for (const { account, atMs } of slow.released) {
    const taken = third.acquired.find((one) => one.account === account);
    assert.ok(taken && taken.atMs - atMs <= POLL_MS, `${account} was free for ${(taken?.atMs ?? Infinity) - atMs} ms`);
  }
  const [first, last] = [slow.released[0], slow.released.at(-1)];
  assert.ok(first && last && last.atMs - first.atMs > 10_000);
});

test("an outage of the database that outlasts every lease moves nothing: each finds its own again", async () => {
  const cell = await cellOf(["n1", "n2", "n3"], 12, 2);
  const before = cell.moves;
  cell.databaseDown = true;
  await cell.clock.advance(2 * STEADY.ttlMs);
  assert.ok(cell.members.every(({ gate }) => !gate.lifted));
  cell.databaseDown = false;
  await assertStill(cell);
  assert.equal(cell.moves, before);
  assert.ok(cell.members.every(({ gate }) => gate.lifted));
});

test("a node that does not come back from the outage is replaced once the others were live for long enough", async () => {
  const cell = await cellOf(["n1", "n2", "n3"], 12, 2);
  cell.databaseDown = true;
  await cell.clock.advance(2 * STEADY.ttlMs);
  await cell.kill("n2", false);
  cell.databaseDown = false;
  await cell.clock.advance(liveForMs(STEADY) - 100);
  assert.deepEqual(cell.counts("mt4"), [4, 4]);
  await cell.clock.advance(STEADY.retryMs + freeForMs(STEADY) + POLL_MS);
  assert.deepEqual(cell.counts("mt4"), [6, 6]);
});

test("a second process under a live name waits for the first to end, and takes over from it", async () => {
  const cell = await cellOf(["n1"], 3);
  const second = cell.join("n1");
  await cell.clock.advance(10_000);
  assert.deepEqual([second.keeper.accounts, second.fatal], [[], []]);
  const [first] = cell.members;
  assert.ok(first);
  first.alive = false;
  await elapsed(cell.clock, first.keeper.drain());
  await cell.clock.advance(STEADY.retryMs + POLL_MS);
  assert.equal(second.keeper.accounts.length, 3);
});

test("and ends itself when the first stays", async () => {
  const cell = await cellOf(["n1"], 3);
  const second = cell.join("n1");
  await cell.clock.advance(STEADY.ttlMs + STEADY.retryMs + 100);
  assert.deepEqual([second.fatal.length, second.alive, second.keeper.accounts.length], [1, false, 0]);
  assert.equal(cell.node("n1").keeper.accounts.length, 3);
});

test("full nodes leave the rest to whoever has room, beyond its share; nothing is passed on for nothing", async () => {
  const cell = new KeeperCell(1);
  await cell.put(10);
  for (const name of ["n1", "n2"]) cell.join(name, { capacity: 2 });
  cell.join("n3");
  await cell.clock.advance(REST_MS);
  assert.deepEqual(cell.counts("mt4"), [6, 2, 2]);
  await assertStill(cell);
});

test("an account that the node with room cannot serve settles elsewhere instead of going to and fro", async () => {
  const cell = await cellOf(["n1"], 4);
  const broken = cell.join("n2");
  // Each account that comes is given up at once.
  const watch = (): void => {
    for (const { account } of broken.keeper.accounts) void broken.keeper.giveUp(account);
    cell.clock.after(100, watch);
  };
  watch();
  const before = cell.moves;
  await cell.clock.advance(1_800_000);
  assert.deepEqual(cell.counts("mt4"), [4, 0]);
  assert.ok(cell.moves - before < 40, `${cell.moves - before} moves in half an hour`);
});

const NAMES = ["n1", "n2", "n3", "n4"];
type Step = { readonly kind: "join" | "leave" | "kill" | "vanish"; readonly name: string; readonly pauseMs: number } | { readonly kind: "outage"; readonly forMs: number; readonly pauseMs: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("join", "join", "leave", "kill", "vanish" as const), name: fc.constantFrom(...NAMES), pauseMs: fc.integer({ min: 0, max: 30_000 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("outage" as const), forMs: fc.integer({ min: 100, max: 40_000 }), pauseMs: fc.integer({ min: 0, max: 10_000 }) }) },
);

async function carryOut(cell: KeeperCell, what: Step): Promise<void> {
  if (what.kind === "outage") {
    cell.databaseDown = true;
    await cell.clock.advance(what.forMs);
    cell.databaseDown = false;
  } else {
    const isThere = cell.living.some(({ name }) => name === what.name);
    if (what.kind === "join" && !isThere) cell.join(what.name);
    if (what.kind === "leave" && isThere) await cell.leave(what.name);
    if (what.kind === "kill" && isThere) await cell.kill(what.name);
    if (what.kind === "vanish" && isThere) await cell.kill(what.name, false);
  }
  await cell.clock.advance(what.pauseMs);
}

function isEven(cell: KeeperCell): boolean {
  const counts = [cell.counts("mt4"), cell.counts("mt5")];
  return counts.every((ofPlatform) => (ofPlatform[0] ?? 0) - (ofPlatform.at(-1) ?? 0) <= 1) && cell.allHeld;
}

test("a node that leaves soon after it came delays the next hand-over once, not once for each of its accounts", async () => {
  const cell = await cellOf(["n1"], 12);
  cell.join("n2");
  await cell.clock.until(() => cell.node("n2").keeper.accounts.length === 6, REST_MS);
  await cell.leave("n2");
  await cell.clock.advance(POLL_MS);
  assert.deepEqual(cell.counts("mt4"), [12]);
  cell.join("n2");
  await cell.clock.advance(REST_MS);
  assert.deepEqual(cell.counts("mt4"), [6, 6]);
});

test("row 40: whoever comes, goes and dies: never two owners, and at rest an even spread in which nothing moves", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 0, max: 14 }), fc.integer({ min: 0, max: 5 }), fc.array(step, { minLength: 1, maxLength: 10 }), async (seed, mt4, mt5, steps) => {
      const cell = new KeeperCell(seed, FAST); // two open gates end the run (test/sim/keepers.ts)
      await cell.put(mt4, mt5);
      for (const one of steps) await carryOut(cell, one);
      if (cell.living.length === 0) cell.join("n1");
      // As long as it may take: whoever's hand-overs came back several times in a row waits for minutes.
      for (let left = 20; left > 0 && !isEven(cell); left -= 1) await cell.clock.advance(REST_MS / 2);
      for (const [platform, total] of [["mt4", mt4], ["mt5", mt5]] as const) {
        const counts = cell.counts(platform);
        assert.equal(counts.reduce((sum, count) => sum + count, 0), total, `${platform}: everything is held`);
        assert.ok((counts[0] ?? 0) - (counts.at(-1) ?? 0) <= 1, `${platform}: ${counts.join(", ")}`);
      }
      const before = cell.moves;
      await cell.clock.advance(60_000);
      assert.equal(cell.moves, before, "nothing moves at rest");
    }),
    { numRuns: 40 },
  );
});
