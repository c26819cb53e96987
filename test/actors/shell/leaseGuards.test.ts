// Owns the cases of single guards of the lease keeper that the stories of its other cases pass by: each would let something
// through that only much later, or only with bad luck, does harm.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { accountId } from "../../../protocol/ids.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, REACH_MS } from "./keeperFixture.ts";

type Run = ReturnType<typeof keeping>;
const A = accountId("a");

async function running(setting: Parameters<typeof keeping>[0] = {}, names: readonly string[] = ["a"]): Promise<Run> {
  const run = keeping({ capacity: Math.max(4, names.length), ...setting });
  run.registry.free = names.map((name) => held(name, 1));
  await elapsed(run.clock, run.keeper.start());
  return run;
}

/** The gate has closed, since the database was away; it is there again. */
async function fenced(profile: LeaseProfile, names: readonly string[]): Promise<Run> {
  const run = await running({ profile }, names);
  run.registry.down = true;
  await run.clock.advance(profile.ttlMs - profile.marginMs + 10);
  run.registry.down = false;
  run.told.splice(0);
  return run;
}

test("an extension counts from before its renewal was sent, on both clocks", async () => {
  const run = await running();
  run.registry.answerAfterMs = 3_000;
  const before = run.registry.renewals.length;
  await run.clock.until(() => run.registry.renewals.length > before);
  const sentAtMs = run.clock.monotonicMs();
  await run.clock.advance(3_001);
  assert.equal(run.gate.leftMs(), REACH_MS - (run.clock.monotonicMs() - sentAtMs));
});

test("a renewal that finds the lease lapsed opens nothing itself: accounts are asked for on the next one", async () => {
  const run = await running();
  run.registry.reply = { wasLive: false };
  await run.clock.until(() => run.told.includes("trip"));
  run.registry.reply = {};
  const foundBy = run.registry.renewals.length;
  await run.clock.until(() => run.registry.takes.length === 1);
  assert.ok(run.registry.renewals.length > foundBy);
});

test("a node that is refused forgets at once what is no longer its own", async () => {
  const run = await running();
  run.registry.reply = { held: false, accounts: [] };
  await run.clock.until(() => run.told.includes("lost a"));
  assert.deepEqual([run.keeper.accounts, run.gate.lifted], [[], false]);
});

test("a round on a fence that was tripped since is overtaken by the next renewal", async () => {
  const patient: LeaseProfile = { ...STEADY, queryTimeoutMs: 8_000 };
  const run = await fenced(patient, ["a"]);
  run.registry.loseRequests.add("take");
  await run.clock.until(() => run.registry.takes.length === 1, 20_000);
  run.gate.trip();
  await run.clock.until(() => run.registry.takes.length === 2, patient.renewMs + 100);
});

test("a take is waited for no longer than it is worth", async () => {
  const narrow: LeaseProfile = { ...STEADY, marginMs: 52_000 };
  const run = await fenced(narrow, Array.from({ length: 101 }, (_, index) => `a${index}`));
  const [take, reachMs] = [run.registry.take.bind(run.registry), narrow.ttlMs - narrow.marginMs];
  run.registry.take = async (me, accounts, terms) => {
    run.registry.loseRequests.add("renew"); // no other renewal lends the round its deadline
    const taken = await take(me, accounts, terms);
    await new Promise<void>((resolve) => void run.clock.after(narrow.queryTimeoutMs - 100, resolve));
    return taken;
  };
  // Most of the window is used up before the first statement's answer.
  await run.clock.until(() => run.registry.takes.length === 2, 20_000);
  const timeoutMs = run.registry.takes[1]?.terms.timeoutMs ?? Infinity;
  assert.ok(timeoutMs < reachMs - (narrow.queryTimeoutMs - 100), `${timeoutMs}`);
});

test("one claim is under way at a time", async () => {
  const run = keeping();
  run.registry.loseRequests.add("claim");
  void run.keeper.start();
  await run.clock.until(() => run.registry.claims.length === 1);
  run.registry.loseRequests.clear();
  run.registry.answerAfterMs = 3 * STEADY.claimPollMs;
  await run.clock.until(() => run.registry.claims.length === 2, 20_000);
  await run.clock.advance(2.5 * STEADY.claimPollMs);
  assert.equal(run.registry.claims.length, 2, "two polls later the answer is still to come");
});

test("a fenced node asks for nothing", async () => {
  const run = await running();
  run.registry.renew = () => Promise.reject(new LockstepError("database_busy", "no connection"));
  await run.clock.until(() => run.told.includes("trip"), REACH_MS + 100);
  const asked = run.registry.claims.length;
  await run.clock.advance(10 * STEADY.claimPollMs);
  assert.equal(run.registry.claims.length, asked);
});

test("every claim says how far the database's clock may be off", async () => {
  const run = await running();
  await run.clock.advance(5 * STEADY.claimPollMs);
  assert.ok(run.registry.claims.length > 3);
  assert.deepEqual([...new Set(run.registry.claims.map(({ expected }) => expected.toleranceMs))], [STEADY.marginMs / 4]);
});

test("an ownership that was given back is not taken again, however long its release is lost; a later one is", async () => {
  const run = await running();
  const release = run.registry.release.bind(run.registry);
  let tries = 0;
  run.registry.release = () => {
    tries += 1;
    return Promise.reject(new LockstepError("database_busy", "no connection"));
  };
  await elapsed(run.clock, run.keeper.handBack(A));
  await run.clock.advance(10 * STEADY.renewMs);
  assert.deepEqual([tries > 3, run.registry.takes], [true, []]);
  run.registry.release = release;
  run.registry.owned = [held("a", 2)]; // released after all, and claimed again by us, whose reply is lost
  await run.clock.until(() => run.told.includes("acquired a at 3 in 4"), 5 * STEADY.renewMs);
  assert.equal(run.check(3, 4), "open");
});

test("surplus goes one at a time, also when its drain outlasts renewals", async () => {
  const run = await running({ handBackMs: 20_000 }, ["a", "b", "c"]);
  run.registry.reply = { shares: [{ platform: "mt4", mine: 3, share: 1, othersHaveRoom: true }] };
  await run.clock.until(() => run.told.some((what) => what.startsWith("draining")));
  await run.clock.advance(3 * STEADY.renewMs);
  assert.equal(run.told.filter((what) => what.startsWith("draining")).length, 1);
});
