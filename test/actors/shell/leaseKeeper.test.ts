// Owns the cases of a node's lease and the gate that it opens.

import { test } from "node:test";
import assert from "node:assert/strict";
import { STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { LeaseKeeper } from "../../../actors/shell/leaseKeeper.ts";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { isLockstepError, LockstepError } from "../../../protocol/errors.ts";
import { accountId, bootId, nodeId, type AccountId, type Epoch } from "../../../protocol/ids.ts";
import type { ClaimTerms, HeldAccount, Identity, Registry, RenewReply, RenewTerms } from "../../../protocol/ports/storage.ts";
import { CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

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
  readonly renewals: RenewTerms[] = [];
  readonly released: AccountId[] = [];
  left = false;

  constructor(clock: FakeScheduler) {
    this.clock = clock;
  }

  async renew(_: Identity, terms: RenewTerms): Promise<RenewReply> {
    this.renewals.push(terms);
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
    this.owned = this.owned.filter((one) => one.account !== account);
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

function keeping({ capacity = 4, profile = STEADY, handBackMs = 100 }: { readonly capacity?: number; readonly profile?: LeaseProfile; readonly handBackMs?: number } = {}) {
  const clock = new FakeScheduler(1);
  const registry = new ScriptedRegistry(clock);
  const gate = SharedGate.create(capacity, clock);
  const told: string[] = [];
  const metrics = new CountingMetrics();
  const keeper = new LeaseKeeper({
    registry, me: ME, profile, gate, clock, logger: recordingLogger(), metrics,
    report: () => ({ logOk: true, capacity, platforms: ["mt4", "mt5"], address: null }),
    platformOf: () => "mt4",
    onHandBack: async (account) => {
      told.push(`draining ${account}`);
      await new Promise<void>((resolve) => void clock.after(handBackMs, resolve));
    },
    onFatal: (error) => told.push(`fatal ${isLockstepError(error) ? error.code : "other"}`),
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
  await run.clock.advance(1);
  assert.ok(run.clock.monotonicMs() - startMs <= REACH_MS + 1);
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
  const run = keeping({ profile: { ...STEADY, queryTimeoutMs: 30_000 } });
  run.registry.answerAfterMs = 20_000;
  void run.keeper.start();
  await run.clock.until(() => run.gate.lifted);
  run.registry.answerAfterMs = 1e9;
  await run.clock.advance(REACH_MS - 20_000 - 1);
  assert.ok(run.gate.lifted);
  await run.clock.advance(2);
  assert.ok(!run.gate.lifted);
});

test("a renewal is given up at the deadline at the latest, however long a query may take; what it says later counts for nothing", async () => {
  const run = keeping({ profile: { ...STEADY, queryTimeoutMs: 1e9 } });
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 42_000; // sent at 5 s, answered at 47 s
  await run.clock.advance(46_500);
  assert.deepEqual(run.registry.renewals.map(({ timeoutMs }) => timeoutMs), [1e9, REACH_MS - STEADY.renewMs]);
  run.registry.answerAfterMs = 1_000;
  await run.clock.advance(600); // the reply is there, the next renewal is under way
  assert.equal(run.check(), "closed");
  assert.equal(run.told.filter((what) => what === "lift").length, 1, "a reply that was sent for before the trip does not lift");
  run.registry.answerAfterMs = 10;
  await run.clock.advance(6_000);
  assert.equal(run.check(), "open");
  assert.equal(run.metrics.of("lease_trips"), 1);
});

test("a reply that comes after the deadline by the wall clock alone trips, whatever it says; the next renewal lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 2_000;
  await run.clock.advance(6_000);
  run.clock.wallOffsetMs = 3_600_000;
  await run.clock.advance(1_500);
  assert.deepEqual([run.check(), run.told.at(-1)], ["closed", "trip"]);
  run.registry.answerAfterMs = 10;
  await run.clock.advance(6_000);
  assert.deepEqual([run.check(), run.told.at(-1)], ["open", "lift"]);
});

test("renewals are sent so often that two of them, both slow, fit before the deadline", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = STEADY.queryTimeoutMs - 1;
  const before = run.registry.renewals.length;
  await run.clock.advance(10 * STEADY.renewMs);
  assert.equal(run.registry.renewals.length - before, 10, "the pause counts from when the one before was sent");
  assert.equal(run.metrics.of("lease_trips"), 0);
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
  const run = keeping({ capacity: 1 });
  run.registry.free = [held("a", 1), held("b", 1)];
  await elapsed(run.clock, run.keeper.start());
  await run.clock.advance(20_000);
  assert.deepEqual(run.keeper.accounts, [held("a", 1)]);
});

test("a second process under a live name waits fenced and claims nothing; the name is its own when the first has ended", async () => {
  const run = keeping();
  run.registry.reply = { held: false, wasLive: false };
  await elapsed(run.clock, run.keeper.start());
  await run.clock.advance(STEADY.ttlMs - 5_000);
  assert.deepEqual([run.told, run.check()], [[], "closed"]);
  run.registry.reply = {};
  await run.clock.advance(5_000);
  assert.deepEqual(run.told, ["lift", "acquired a at 1 in 0"]);
});

test("after a ttl it is a mistake in the configuration, and nothing is tried any more", async () => {
  const run = keeping();
  run.registry.reply = { held: false, wasLive: false };
  await elapsed(run.clock, run.keeper.start());
  await run.clock.advance(STEADY.ttlMs + 3_000);
  assert.deepEqual([run.told, run.check(), run.clock.pending], [["fatal configuration"], "closed", 0]);
});

test("a name that was lost to another process closes the gate at once; time of one refusal does not count for the next", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  for (let round = 0; round < 3; round += 1) {
    run.registry.reply = { held: false, wasLive: false };
    await run.clock.advance(STEADY.ttlMs - 10_000);
    assert.equal(run.check(), "closed");
    run.registry.reply = {};
    await run.clock.advance(5_000);
    assert.equal(run.check(), "open");
  }
  assert.ok(!run.told.some((what) => what.startsWith("fatal")));
});

test("a drain claims nothing more, says so at once, hands every account back before its row is free, and leaves", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1), held("b", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.free = [held("late", 1)];
  await run.clock.advance(STEADY.claimPollMs + 5); // a claim is under way
  const drained = run.keeper.drain();
  await run.clock.advance(50);
  assert.equal(run.registry.renewals.at(-1)?.report.accepting, false);
  assert.deepEqual([run.told.slice(-2), run.registry.released.filter((account) => account !== "late"), run.check()], [["draining a", "draining b"], [], "open"], "orders under way may go on");
  await elapsed(run.clock, drained);
  await run.clock.advance(60_000);
  assert.deepEqual([run.check(), run.registry.released.toSorted(), run.registry.left, run.clock.pending], ["closed", ["a", "b", "late"], true, 0]);
  assert.ok(!run.told.some((what) => what.includes("late")), "what was claimed meanwhile goes back");
});

test("a drain waits for what is handed back already, and a second drain for the first", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 0, mine: 1, othersHaveRoom: true }] };
  await run.clock.until(() => run.told.includes("draining a"));
  await elapsed(run.clock, Promise.all([run.keeper.drain(), run.keeper.drain()]));
  assert.deepEqual([run.told.filter((what) => what === "draining a").length, run.registry.released, run.registry.left], [1, ["a"], true]);
});

test("of a node whose lease is lost while it drains nothing is released that is not its own, and it still ends", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const drained = run.keeper.drain();
  run.registry.owned = [];
  await elapsed(run.clock, drained);
  assert.deepEqual([run.registry.released, run.registry.left], [[], true]);
});

test("surplus is handed back one account at a time, the newest first, and only on shares that are newer than the last", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1), held("b", 1), held("c", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 1, mine: 3, othersHaveRoom: true }] };
  await run.clock.until(() => run.registry.released.length === 1);
  assert.deepEqual(run.told.slice(4), ["draining c"]);
  assert.equal(run.gate.check({ slot: 2, epoch: 1 as Epoch }), "epoch");
  run.registry.owned = [held("a", 1), held("b", 1)];
  await run.clock.until(() => run.registry.released.length === 2);
  assert.deepEqual(run.told.slice(4), ["draining c", "draining b"]);
});

test("shares that were asked for before a hand-over had ended hand nothing back: they still count what has gone", async () => {
  const run = keeping({ handBackMs: STEADY.renewMs - 5 }); // ends while the next renewal is under way
  run.registry.free = [held("a", 1), held("b", 1), held("c", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 2, mine: 3, othersHaveRoom: true }] };
  await run.clock.until(() => run.registry.released.length === 1);
  run.clock.after(6, () => (run.registry.reply = {})); // what renewals after it say
  await run.clock.advance(3 * STEADY.renewMs);
  assert.deepEqual(run.told.filter((what) => what.startsWith("draining")), ["draining c"]);
});

for (const [what, share] of [["holds no more than its share", { mine: 2, share: 2 }], ["has nobody to give to", { othersHaveRoom: false }]] as const) {
  test(`a node that ${what} keeps what it has`, async () => {
    const run = keeping();
    run.registry.free = [held("a", 1), held("b", 1)];
    await elapsed(run.clock, run.keeper.start());
    run.registry.reply = { shares: [{ platform: "mt4", share: 1, mine: 2, othersHaveRoom: true, ...share }] };
    await run.clock.advance(60_000);
    assert.deepEqual(run.registry.released, []);
  });
}

test("what comes back after it was handed back makes the node wait longer each time", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 0, mine: 1, othersHaveRoom: true }] };
  const atMs: number[] = [];
  const release = run.registry.release.bind(run.registry);
  run.registry.release = (me, { account, epoch }) => {
    atMs.push(run.clock.monotonicMs());
    run.registry.owned = [];
    run.registry.free = [held(account, epoch + 1)];
    return release(me, { account, epoch });
  };
  await run.clock.advance(600_000);
  const pauses = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
  assert.ok(pauses.length >= 3);
  assert.ok(pauses.every((pause, index) => pause >= 30_000 * 2 ** index), `${pauses.join(", ")}`);
});

test("a release whose answer was lost is made again when a renewal still lists the account, and it is not taken anew", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const release = run.registry.release.bind(run.registry);
  run.registry.release = () => Promise.reject(new LockstepError("database_busy", "no connection"));
  await run.keeper.giveUp(accountId("a"));
  run.registry.release = release;
  await run.clock.advance(6_000);
  assert.deepEqual([run.registry.released, run.told.filter((what) => what.startsWith("acquired"))], [["a"], ["acquired a at 1 in 0"]]);
});

test("an account that could not be served is avoided, longer each time", async () => {
  const run = keeping();
  const avoided: (readonly AccountId[])[] = [];
  const claim = run.registry.claim.bind(run.registry);
  run.registry.claim = (me, terms) => {
    avoided.push(terms.avoid);
    return terms.avoid.length > 0 ? Promise.resolve([]) : claim(me, terms);
  };
  await elapsed(run.clock, run.keeper.start());
  const pauses: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const atMs = run.clock.monotonicMs();
    run.registry.owned = [];
    run.registry.free = [held("a", round + 2)];
    await elapsed(run.clock, run.keeper.giveUp(accountId("a")));
    await run.clock.until(() => run.keeper.accounts.length === 1, 600_000);
    pauses.push(run.clock.monotonicMs() - atMs);
  }
  assert.ok(pauses.every((pause, round) => pause >= 30_000 * 2 ** round && pause < 30_000 * 2 ** round + 3_000), pauses.join(", "));
  assert.ok(avoided.some((list) => list.includes(accountId("a"))));
});

test("nothing is claimed while the node is fenced", async () => {
  const run = keeping();
  run.registry.free = [];
  await elapsed(run.clock, run.keeper.start());
  run.registry.renew = () => Promise.reject(new LockstepError("database_busy", "no connection"));
  await run.clock.advance(REACH_MS);
  run.registry.free = [held("a", 1)];
  await run.clock.advance(20_000);
  assert.deepEqual(run.keeper.accounts, []);
});

test("what the others say of the log is known from the last renewal", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  assert.equal(run.keeper.othersLogOk, false);
  run.registry.reply = { othersLogOk: true };
  await run.clock.advance(6_000);
  assert.equal(run.keeper.othersLogOk, true);
});

test("a claim that does not come back delays no renewal", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.claim = () => new Promise(() => undefined);
  await run.clock.advance(200_000);
  assert.deepEqual([run.check(), run.metrics.of("lease_trips")], ["open", 0]);
});

test("an account claimed while a renewal is under way is not forgotten for missing in its reply", async () => {
  const run = keeping({ profile: { ...STEADY, queryTimeoutMs: 6_000 } });
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
  await run.clock.advance(STEADY.marginMs);
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
