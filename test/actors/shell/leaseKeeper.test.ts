// Owns the cases of a node's lease and the gate that it opens.

import { test } from "node:test";
import assert from "node:assert/strict";
import { LeaseKeeper, type LeaseProfile } from "../../../actors/shell/leaseKeeper.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { isLockstepError, LockstepError } from "../../../protocol/errors.ts";
import { accountId, bootId, nodeId, type AccountId, type Epoch } from "../../../protocol/ids.ts";
import type { ClaimTerms, HeldAccount, Identity, Registry, RenewReply } from "../../../protocol/ports/storage.ts";
import { CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

const PROFILE: LeaseProfile = { ttlMs: 60_000, renewMs: 5_000, marginMs: 15_000, retryMs: 2_000 };
const REACH_MS = 45_000;
const ME: Identity = { node: nodeId("node1"), boot: bootId("boot1") };
const held = (id: string, epoch: number): HeldAccount => ({ account: accountId(id), epoch: epoch as Epoch });

/** A registry by script, with one free account and a delay. */
class ScriptedRegistry implements Registry {
  readonly clock: FakeScheduler;
  owned: HeldAccount[] = [];
  free: HeldAccount[] = [held("a", 1)];
  reply: Partial<RenewReply> = {};
  down = false;
  answerAfterMs = 10;
  readonly released: AccountId[] = [];
  left = false;

  constructor(clock: FakeScheduler) {
    this.clock = clock;
  }

  async renew(): Promise<RenewReply> {
    await this.#time();
    return { held: true, wasLive: true, accounts: [...this.owned], othersLogOk: false, shares: [], ...this.reply };
  }

  async claim(_: Identity, { limit }: ClaimTerms): Promise<readonly HeldAccount[]> {
    await this.#time();
    const taken = this.free.splice(0, limit);
    this.owned.push(...taken);
    return taken;
  }

  async release(_: Identity, { account }: HeldAccount): Promise<boolean> {
    this.released.push(account);
    return Promise.resolve(true);
  }

  async leave(): Promise<void> {
    this.left = true;
    return Promise.resolve();
  }

  #time(): Promise<void> {
    return new Promise((resolve, reject) => this.clock.after(this.answerAfterMs, () => (this.down ? reject(new LockstepError("database_busy", "no connection")) : resolve())));
  }
}

function keeping(capacity = 4) {
  const clock = new FakeScheduler(1);
  const registry = new ScriptedRegistry(clock);
  const gate = SharedGate.create(capacity, clock);
  const told: string[] = [];
  const metrics = new CountingMetrics();
  const keeper = new LeaseKeeper({
    registry, me: ME, profile: PROFILE, capacity, gate, clock, logger: recordingLogger(), metrics,
    onAcquired: ({ account, epoch }, slot) => told.push(`acquired ${account} at ${epoch} in ${slot}`),
    onLost: (account) => told.push(`lost ${account}`),
    onTrip: () => told.push("trip"),
    onLeaseEnd: () => told.push("lease end"), onLift: () => told.push("lift"),
  });
  const check = (epoch = 1, slot = 0) => gate.check({ slot, epoch: epoch as Epoch });
  return { clock, registry, gate, told, metrics, keeper, check };
}

test("a node starts fenced; the first renewal opens the gate before anything is claimed", async () => {
  const run = keeping();
  assert.equal(run.check(), "closed");
  await elapsed(run.clock, run.keeper.start());
  assert.deepEqual(run.told, ["lift", "acquired a at 1 in 0"]);
  assert.equal(run.check(), "open");
  assert.equal(run.check(2), "epoch");
});

test("one failed renewal changes nothing, and the next one heals it", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(6_000);
  run.registry.down = false;
  await run.clock.advance(120_000);
  assert.equal(run.check(), "open");
  assert.deepEqual(run.told, ["lift", "acquired a at 1 in 0"]);
});

test("a database that does not answer: tripped at the deadline, though no renewal ever returns; the next one lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const startMs = run.clock.monotonicMs();
  run.registry.answerAfterMs = 1e9;
  await run.clock.until(() => run.check() !== "open", 60_000);
  assert.ok(run.clock.monotonicMs() - startMs <= REACH_MS);
  assert.deepEqual([run.told.at(-1), run.metrics.of("lease_trips"), run.check()], ["trip", 1, "closed"]);
});

test("a passed deadline is lifted by the next renewal, and then reconciled", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  assert.equal(run.check(), "closed");
  run.registry.down = false;
  await run.clock.advance(3_000);
  assert.deepEqual(run.told.slice(2), ["trip", "lift"]);
  assert.equal(run.check(), "open");
});

test("the deadline counts from before the renewal was sent: a late reply gives no more", async () => {
  const run = keeping();
  run.registry.answerAfterMs = 20_000;
  void run.keeper.start();
  await run.clock.advance(20_000);
  assert.ok(run.gate.lifted);
  run.registry.answerAfterMs = 1e9;
  await run.clock.advance(REACH_MS - 20_000 - 1);
  assert.ok(run.gate.lifted);
  await run.clock.advance(2);
  assert.ok(!run.gate.lifted);
});

test("a renewal that comes after the deadline trips, whatever it says; the one after it lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 42_000; // sent at 5 s, answered at 47 s
  await run.clock.advance(47_000);
  assert.equal(run.check(), "closed");
  assert.equal(run.told.filter((what) => what === "lift").length, 1, "a reply that was sent for before the trip does not lift");
  run.registry.answerAfterMs = 10;
  await run.clock.advance(6_000);
  assert.equal(run.check(), "open");
  assert.equal(run.metrics.of("lease_trips"), 1);
});

test("a lease that had lapsed at the database trips, and the next renewal confirms", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false };
  await run.clock.until(() => run.told.includes("trip"));
  run.registry.reply = {};
  await run.clock.advance(5_100);
  assert.deepEqual(run.told.slice(2), ["trip", "lift"]);
});

test("a wall clock that jumps past the deadline closes the gate until a renewal lifts it; a jump back changes nothing", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.clock.wallOffsetMs = -3_600_000;
  assert.equal(run.check(), "open");
  await run.clock.advance(6_000);
  run.clock.wallOffsetMs = 3_600_000;
  assert.equal(run.check(), "clock");
  assert.equal(run.check(), "closed");
  await run.clock.advance(6_000);
  assert.deepEqual([run.check(), run.told.at(-1)], ["open", "lift"]);
});

test("an account that the database gives another epoch, or no more, is forgotten at once, and it alone", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1), held("b", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.owned = [held("b", 1)];
  await run.clock.advance(5_100);
  assert.deepEqual([run.told.at(-1), run.check(1, 0), run.check(1, 1)], ["lost a", "epoch", "open"]);
  run.registry.owned = [held("b", 2)];
  await run.clock.advance(5_100);
  assert.deepEqual(run.told.slice(-2), ["lost b", "acquired b at 2 in 1"]);
  assert.equal(run.check(1, 1), "epoch");
});

test("an account that is ours although its claim's reply was lost is taken", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.owned.push(held("b", 7));
  await run.clock.advance(5_100);
  assert.equal(run.told.at(-1), "acquired b at 7 in 1");
});

test("no more accounts than slots are taken", async () => {
  const run = keeping(1);
  run.registry.free = [held("a", 1), held("b", 1)];
  await elapsed(run.clock, run.keeper.start());
  await run.clock.advance(20_000);
  assert.deepEqual(run.keeper.accounts, [held("a", 1)]);
});

test("a name that another live process has is refused", async () => {
  const run = keeping();
  run.registry.reply = { held: false };
  await assert.rejects(elapsed(run.clock, run.keeper.start()), (error) => isLockstepError(error, "configuration"));
  assert.equal(run.check(), "closed");
});

test("a stop closes the gate, gives everything back and leaves no timer; a claim under way takes nothing", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.free = [held("late", 1)];
  await run.clock.advance(4_995); // the next renewal has been answered, its claim is under way
  await elapsed(run.clock, run.keeper.stop());
  await run.clock.advance(60_000);
  assert.deepEqual([run.check(), run.registry.released, run.registry.left, run.clock.pending], ["closed", ["a"], true, 0]);
  assert.ok(!run.told.some((what) => what.includes("late")));
});

test("a claim that does not come back delays no renewal", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.claim = () => new Promise(() => undefined);
  await run.clock.advance(200_000);
  assert.deepEqual([run.check(), run.metrics.of("lease_trips")], ["open", 0]);
});

test("an account claimed while a renewal is under way is not forgotten for missing in its reply", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const late = held("late", 1);
  run.registry.claim = () => new Promise((resolve) => run.clock.after(5_005, () => resolve([late])));
  run.registry.renew = () => {
    const accounts = [...run.registry.owned];
    return new Promise((resolve) => run.clock.after(10, () => resolve({ held: true, wasLive: true, accounts, othersLogOk: false, shares: [] })));
  };
  await run.clock.until(() => run.told.includes("acquired late at 1 in 1"));
  run.registry.owned.push(late);
  await run.clock.advance(30_000);
  assert.ok(!run.told.some((what) => what.startsWith("lost")));
});

test("a lost account's slot is never another's: what still waits for a call under it stays out", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const waiting = { slot: 0, epoch: 1 as Epoch };
  assert.equal(run.gate.check(waiting), "open");
  run.registry.owned = [held("b", 1)];
  await run.clock.advance(6_000);
  assert.deepEqual(run.told.slice(2), ["lost a", "acquired b at 1 in 1"]);
  assert.equal(run.gate.check(waiting), "epoch");
});

test("when the lease itself has run out, what is unanswered is given up: margin after the trip, and not after a lift", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS);
  assert.equal(run.told.at(-1), "trip");
  await run.clock.advance(PROFILE.marginMs);
  assert.equal(run.told.at(-1), "lease end");
  run.registry.down = false;
  await run.clock.advance(120_000);
  assert.deepEqual(run.told.filter((what) => what === "lease end").length, 1);
});

test("an account that is given up goes back, and its gate is shut at once", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  await run.keeper.giveUp(accountId("a"));
  assert.deepEqual([run.registry.released, run.check()], [["a"], "epoch"]);
});
