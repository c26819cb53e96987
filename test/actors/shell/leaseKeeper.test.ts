// Owns the cases of a node's lease and the gate that it opens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, owned, REACH_MS } from "./keeperFixture.ts";

test("a node starts fenced; its first renewal opens the gate, since nothing is to be confirmed, before anything is claimed", async () => {
  const run = keeping();
  assert.equal(run.check(), "closed");
  await elapsed(run.clock, run.keeper.start());
  assert.deepEqual([run.told, run.registry.renewals.length], [["lift", "acquired a at 1 in 0"], 1]);
  assert.equal(run.check(), "open");
  assert.equal(run.check(2), "epoch");
});

test("row 14: one failed renewal changes nothing, and the next one heals it", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(6_000);
  run.registry.down = false;
  await run.clock.advance(120_000);
  assert.equal(run.check(), "open");
  assert.deepEqual(run.told, ["lift", "acquired a at 1 in 0"]);
});

test("row 1: a database that does not answer: tripped at the deadline, though no renewal ever returns; the next one lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const startMs = run.clock.monotonicMs();
  run.registry.answerAfterMs = 1e9;
  await run.clock.until(() => run.check() !== "open", 60_000);
  await run.clock.advance(1);
  assert.ok(run.clock.monotonicMs() - startMs <= REACH_MS + 1);
  assert.deepEqual([run.told.at(-1), run.metrics.of("lease_trips"), run.check()], ["trip", 1, "closed"]);
});

test("row 25: a passed deadline: the next renewal confirms the account at a raised epoch, and lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  assert.equal(run.check(), "closed");
  run.registry.down = false;
  await run.clock.advance(3_000);
  assert.deepEqual(run.told.slice(2), ["trip", "lift", "confirmed a at 2"]);
  assert.deepEqual([run.check(1), run.check(2)], ["epoch", "open"], "what still waits from before stays out");
});

test("row 17: the deadline counts from before the renewal was sent: a late reply gives no more", async () => {
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

test("row 17: so it does when an open gate is kept open", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = STEADY.queryTimeoutMs - 10; // sent at 5 s
  await run.clock.advance(STEADY.renewMs + STEADY.queryTimeoutMs - 5);
  run.registry.answerAfterMs = 1e9;
  assert.equal(run.gate.leftMs(), STEADY.renewMs + REACH_MS - run.clock.monotonicMs());
});

test("row 20: a renewal is given up at the deadline at the latest, however long a query may take; what it says later counts for nothing", async () => {
  const run = keeping({ profile: { ...STEADY, queryTimeoutMs: 1e9 } });
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 42_000; // sent at 5 s, answered at 47 s
  await run.clock.advance(46_500);
  assert.deepEqual(run.registry.renewals.map(({ timeoutMs }) => timeoutMs), [REACH_MS, REACH_MS - STEADY.renewMs]);
  run.registry.answerAfterMs = 1_000;
  await run.clock.advance(600); // the reply is there, the next renewal is under way
  assert.equal(run.check(), "closed");
  assert.equal(run.told.filter((what) => what === "lift").length, 1, "a reply that was sent for before the trip does not lift");
  run.registry.answerAfterMs = 10;
  await run.clock.advance(6_000);
  assert.equal(run.check(2), "open");
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
  assert.deepEqual([run.check(2), run.told.at(-1)], ["open", "confirmed a at 2"]);
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
  assert.deepEqual([run.check(2), run.told.at(-1)], ["open", "confirmed a at 2"]);
});

test("a jump of the wall clock that nobody noticed is noticed by the next renewal, which lifts", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.clock.wallOffsetMs = 3_600_000;
  await run.clock.advance(STEADY.renewMs + 100);
  assert.deepEqual([run.told.slice(2), run.check(2)], [["trip", "lift", "confirmed a at 2"], "open"]);
});

test("an account that the database gives to us no more is forgotten at once; one at another epoch is fenced alone and taken there", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1), held("b", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.owned = [held("b", 1)];
  await run.clock.advance(5_100);
  assert.deepEqual([run.told.at(-1), run.check(1, 0), run.check(1, 1)], ["lost a", "epoch", "open"]);
  run.registry.owned = [held("b", 2)];
  await run.clock.advance(5_100);
  assert.deepEqual([run.told.at(-1), run.check(1, 1), run.check(2, 1), run.check(3, 1)], ["confirmed b at 3", "epoch", "epoch", "open"]);
});

test("an account that came again while a renewal was under way is not forgotten for what it was before", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.renew = () => new Promise((resolve) => run.clock.after(4_000, () => resolve(run.registry.answer({ accounts: [] }))));
  await run.clock.advance(STEADY.renewMs); // a renewal is under way that found it held
  await elapsed(run.clock, run.keeper.giveUp(accountId("a")));
  run.registry.claim = async () => Promise.resolve([owned("a", 2)]);
  await run.clock.until(() => run.told.includes("acquired a at 2 in 4"), 2_000);
  await run.clock.advance(3_000);
  assert.deepEqual([run.keeper.accounts, run.check(2, 4)], [[held("a", 2)], "open"]);
});

test("row 15: an account that is ours although its claim's reply was lost is taken", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.owned.push(held("b", 7));
  await run.clock.advance(5_100);
  assert.equal(run.told.at(-1), "acquired b at 8 in 1", "by a take, which raises its epoch");
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
    await run.clock.advance(STEADY.renewMs + 100);
    assert.equal(run.gate.lifted, false);
    await run.clock.advance(STEADY.ttlMs - 15_000);
    run.registry.reply = {};
    await run.clock.advance(5_000);
    assert.equal(run.check(round + 2), "open");
  }
  assert.ok(!run.told.some((what) => what.startsWith("fatal")));
});

test("what the others say of the log is known from the last renewal: with when it was sent, and since when every one was answered", async () => {
  const run = keeping();
  const { others } = run.keeper;
  assert.equal(others, null);
  await elapsed(run.clock, run.keeper.start());
  assert.deepEqual(run.keeper.others, { reachLog: false, askedAtMs: 0, answeredSinceMs: 0 });
  run.registry.reply = { othersLogOk: true };
  await run.clock.advance(6_000);
  assert.deepEqual(run.keeper.others, { reachLog: true, askedAtMs: STEADY.renewMs, answeredSinceMs: 0 });
  run.registry.down = true;
  await run.clock.advance(10_000);
  assert.equal(run.keeper.others.askedAtMs, STEADY.renewMs);
  run.registry.down = false;
  await run.clock.advance(6_000);
  const { askedAtMs, answeredSinceMs } = run.keeper.others;
  assert.ok(answeredSinceMs > 15_000 && askedAtMs >= answeredSinceMs, `${askedAtMs}, ${answeredSinceMs}`);
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
  const late = owned("late", 1);
  run.registry.claim = () => new Promise((resolve) => run.clock.after(5_005, () => resolve([late])));
  run.registry.renew = () => {
    const accounts = [...run.registry.owned];
    return new Promise((resolve) => run.clock.after(10, () => resolve(run.registry.answer({ accounts }))));
  };
  await run.clock.until(() => run.told.includes("acquired late at 1 in 1"));
  run.registry.owned.push(late);
  await run.clock.advance(30_000);
  assert.ok(!run.told.some((what) => what.startsWith("lost")));
});

test("a lost account's slot is never another's: what still waits for a call under it stays out, also at the other's epoch", async () => {
  const run = keeping();
  run.registry.free = [held("a", 5)];
  await elapsed(run.clock, run.keeper.start());
  const waiting = { slot: 0, epoch: 5 as Epoch };
  assert.equal(run.gate.check(waiting), "open");
  run.registry.owned = [held("b", 4)];
  await run.clock.advance(6_000);
  assert.deepEqual(run.told.slice(2), ["lost a", "acquired b at 5 in 4"], "in the place of slot 0");
  assert.deepEqual([run.gate.check(waiting), run.check(5, 4)], ["epoch", "open"]);
});

test("row 19: when the lease itself has run out, what is unanswered is given up: margin after the trip, and not after a lift", async () => {
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
