// Owns the cases of accounts that come to a node and go from it: claims, surplus, drains, what it cannot serve.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId, type AccountId, type Epoch } from "../../../protocol/ids.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, REACH_MS } from "./keeperFixture.ts";

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
  assert.deepEqual([run.check(), run.registry.released.toSorted(), run.registry.left, run.clock.pending], ["closed", ["a", "b", "late"], 1, 0]);
  assert.ok(!run.told.some((what) => what.includes("late")), "what was claimed meanwhile goes back");
});

test("a drain that begins while a renewal is under way is told with the next one, at once", async () => {
  const run = keeping({ handBackMs: 4_000 });
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 1_000;
  await run.clock.advance(STEADY.renewMs);
  assert.equal(run.registry.renewals.at(-1)?.report.accepting, true);
  const drained = run.keeper.drain();
  await run.clock.advance(1_000);
  assert.equal(run.registry.renewals.at(-1)?.report.accepting, false);
  await elapsed(run.clock, drained);
});

test("a drain waits for what is handed back already, and a second drain for the first", async () => {
  const run = keeping();
  run.registry.free = [held("a", 1)];
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 0, mine: 1, othersHaveRoom: true }] };
  await run.clock.until(() => run.told.includes("draining a"));
  await elapsed(run.clock, Promise.all([run.keeper.drain(), run.keeper.drain()]));
  assert.deepEqual([run.told.filter((what) => what === "draining a").length, run.registry.released, run.registry.left], [1, ["a"], 1]);
});

test("of a node whose lease is lost while it drains nothing is released that is not its own, and it still ends", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const drained = run.keeper.drain();
  run.registry.owned = [];
  await elapsed(run.clock, drained);
  assert.deepEqual([run.registry.released, run.registry.left], [[], 1]);
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

test("a fenced node hands nothing back: what it would say of its orders cannot be proven", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false, shares: [{ platform: "mt4", share: 0, mine: 1, othersHaveRoom: true }] };
  run.registry.loseReplies.add("take"); // so that it stays fenced
  await run.clock.advance(STEADY.renewMs + 100);
  assert.deepEqual(run.told.slice(2), ["trip"]);
});

test("what comes back after it was handed back makes the node wait longer each time", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { shares: [{ platform: "mt4", share: 0, mine: 1, othersHaveRoom: true }] };
  const atMs: number[] = [];
  const release = run.registry.release.bind(run.registry);
  run.registry.release = (me, { account, epoch }, unsettledMs) => {
    atMs.push(run.clock.monotonicMs());
    run.registry.owned = [];
    run.registry.free = [held(account, epoch + 1)];
    return release(me, { account, epoch }, unsettledMs);
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
  await elapsed(run.clock, run.keeper.handBack(accountId("a")));
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

test("an account that is given up goes back when the log has what its actor said, and its gate is shut by then", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  const givenUp = run.keeper.giveUp(accountId("a"));
  await run.clock.advance(50);
  assert.deepEqual([run.told.at(-1), run.registry.released], ["draining a", []]);
  await elapsed(run.clock, givenUp);
  assert.deepEqual([run.registry.released, run.check()], [["a"], "epoch"]);
});

test("an account that is given up goes back with a warning when the log takes nothing", async () => {
  const run = keeping({ flush: () => Promise.reject(new LockstepError("unreachable", "the log: no answer")) });
  await elapsed(run.clock, run.keeper.start());
  await elapsed(run.clock, run.keeper.giveUp(accountId("a")));
  assert.deepEqual(run.registry.released, ["a"]);
  assert.deepEqual(run.logger.lines.filter(({ level }) => level === "warn").map(({ text }) => text), ["handed back without everything in the log"]);
});

test("an account for which the gate has no place left goes back and is avoided, and that is said once; a place that is free again is used", async () => {
  const run = keeping({ capacity: 2, places: 1 });
  const avoided: (readonly AccountId[])[] = [];
  const claim = run.registry.claim.bind(run.registry);
  run.registry.claim = (me, terms) => {
    avoided.push(terms.avoid);
    return claim(me, terms);
  };
  await elapsed(run.clock, run.keeper.start());
  run.registry.free = [held("b", 1)];
  run.registry.release = (_, { account }) => Promise.resolve(run.registry.released.push(account) > 0); // carried out late: the next list has it still
  await run.clock.until(() => run.registry.released.length === 1);
  await run.clock.until(() => run.registry.released.length === 2);
  run.registry.owned = [held("a", 1)];
  await run.clock.advance(10_000);
  assert.deepEqual([run.registry.released, run.keeper.accounts, avoided.at(-1)], [["b", "b"], [held("a", 1)], ["b"]]);
  assert.equal(run.logger.lines.filter(({ text }) => text.startsWith("every place of the gate is taken")).length, 1);
  run.registry.owned = [];
  await run.clock.until(() => run.told.includes("lost a"), 10_000);
  run.registry.free = [held("c", 1)];
  await run.clock.until(() => run.told.includes("acquired c at 1 in 1"), 20_000);
});
