// Owns the cases of when a lease counts as proven: which answers open the gate, and for which accounts, while
// others may have taken what a list still gives to us.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FAST, STEADY, type LeaseProfile } from "../../../actors/core/leaseProfile.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, owned, REACH_MS } from "./keeperFixture.ts";

/** A keeper that holds these accounts, whose gate has closed because the database was away. */
const fenced = (...names: readonly string[]): Promise<ReturnType<typeof keeping>> => fencedWith(STEADY, names);

/** Answers may take longer than it is from one renewal to the next. */
const PATIENT: LeaseProfile = { ...STEADY, queryTimeoutMs: 8_000 };

async function fencedWith(profile: LeaseProfile, names: readonly string[]): Promise<ReturnType<typeof keeping>> {
  const run = keeping({ profile, capacity: Math.max(4, names.length) });
  run.registry.free = names.map((name) => held(name, 1));
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  run.registry.down = false;
  assert.deepEqual(run.told.splice(0), ["lift", ...names.map((name, slot) => `acquired ${name} at 1 in ${slot}`), "trip"]);
  return run;
}

test("row 7: a lease that had lapsed at the database trips, and the next renewal, at once, confirms", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false };
  await run.clock.until(() => run.told.includes("trip"));
  run.registry.reply = {};
  await run.clock.advance(100);
  assert.deepEqual(run.told.slice(2), ["trip", "lift", "confirmed a at 2"], "at once");
});

test("a list that gives us what another node took while the renewal waited for its row opens nothing for it", async () => {
  const run = await fenced("a", "b");
  const renew = run.registry.renew.bind(run.registry);
  run.registry.renew = async (me, terms) => {
    const accounts = [...run.registry.owned]; // read before the wait
    run.registry.owned = [held("b", 1)]; // a is another's at epoch 2 meanwhile
    run.registry.renew = renew;
    return { ...(await renew(me, terms)), accounts, wasLive: false };
  };
  await run.clock.until(() => {
    assert.notEqual(run.check(), "open", "the account is another's");
    return run.told.includes("lost a");
  }, 20_000);
  assert.deepEqual([run.told, run.check(), run.check(2, 1)], [["lift", "confirmed b at 2", "lost a"], "epoch", "open"]);
});

test("the renewal before was never answered and revived a lapsed lease: a live one now proves nothing, only the take does", async () => {
  const run = await fenced("a");
  run.registry.loseReplies.add("renew"); // carried out: it revived the lease, and nobody hears of it
  await run.clock.advance(STEADY.retryMs + STEADY.queryTimeoutMs);
  run.registry.loseReplies.clear();
  const renew = run.registry.renew.bind(run.registry);
  run.registry.renew = async (me, terms) => {
    const reply = await renew(me, terms);
    run.registry.owned = []; // a claim that judged the lease before it was revived commits now
    return { ...reply, accounts: [held("a", 1)], wasLive: true };
  };
  await run.clock.until(() => {
    assert.notEqual(run.check(), "open", "the account is another's");
    return run.told.includes("lift");
  }, 20_000);
  run.registry.renew = renew;
  await run.clock.advance(STEADY.renewMs + 100);
  assert.deepEqual([run.told, run.check(), run.check(2)], [["lift", "lost a"], "epoch", "epoch"]);
});

test("a lease that lapses again and again is asked for at once only the first time: a database that is too slow for it is not asked without end", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false };
  const before = run.registry.renewals.length;
  await run.clock.advance(10 * STEADY.renewMs);
  assert.ok(run.registry.renewals.length - before <= 20, `${run.registry.renewals.length - before}`);
});

test("accounts whose rows are locked stay fenced alone, the others open; they are tried again after each renewal and then go on", async () => {
  const run = await fenced("a", "b", "c");
  run.registry.locked.add(accountId("b"));
  await run.clock.until(() => run.told.includes("confirmed c at 2"), 20_000);
  assert.deepEqual([run.told, run.check(2, 0), run.check(1, 1), run.check(2, 1), run.check(2, 2)], [["lift", "confirmed a at 2", "confirmed c at 2"], "open", "epoch", "epoch", "open"]);
  await run.clock.advance(3 * STEADY.renewMs);
  assert.equal(run.told.length, 3);
  run.registry.locked.clear();
  await run.clock.advance(STEADY.renewMs);
  assert.deepEqual([run.told.slice(3), run.check(2, 1), run.check(2, 0)], [["confirmed b at 2"], "open", "open"]);
  assert.deepEqual(run.notes.of("lifted").at(-1), { accounts: 2, alone: 1, leftMs: REACH_MS - 20 });
});

test("row 3: a lift asks for exactly what the list gives to us, in bounded statements, and for nothing else", async () => {
  const run = keeping({ capacity: 250 });
  const names = Array.from({ length: 230 }, (_, index) => `a${index}`);
  run.registry.free = names.map((name) => held(name, 1));
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  run.registry.down = false;
  run.registry.owned = run.registry.owned.slice(10); // the first ten are another's
  await run.clock.advance(6_000);
  assert.deepEqual(run.registry.takes.map(({ accounts }) => accounts.length), [100, 100, 20]);
  assert.deepEqual(run.registry.takes.flatMap(({ accounts }) => accounts), names.slice(10).map((name) => held(name, 1)));
  assert.equal(run.told.filter((what) => what.startsWith("confirmed")).length, 220);
  assert.equal(run.told.filter((what) => what.startsWith("lost")).length, 10);
});

test("what another node has is forgotten at once, whatever the rest of the round does", async () => {
  const run = await fenced("a", "b");
  run.registry.owned = [held("b", 1)];
  run.registry.loseRequests.add("take");
  await run.clock.until(() => run.told.includes("lost a"), 20_000);
  assert.deepEqual(run.told, ["lost a"]);
  assert.ok(run.logger.lines.some(({ text }) => text === "account no longer owned by this node"));
  assert.deepEqual(run.notes.notes.filter(({ event }) => event === "forgotten").map(({ subject }) => subject), [held("a", 1)]);
});

test("nothing delays a renewal: takes that do not come back are waited for beside it", async () => {
  const run = await fenced("a");
  run.registry.loseRequests.add("take");
  const [before, fromMs] = [run.registry.renewals.length, run.clock.monotonicMs()];
  await run.clock.advance(50_000);
  assert.ok(run.registry.renewals.length - before >= Math.floor((run.clock.monotonicMs() - fromMs) / (STEADY.renewMs + 10)), `${run.registry.renewals.length - before} renewals`);
});

test("row 15: a take whose reply is lost is no loss: the next list shows our account at another epoch, and it is taken from there", async () => {
  const run = await fenced("a", "b");
  run.registry.loseReplies.add("take");
  await run.clock.until(() => run.registry.owned.every(({ epoch }) => epoch === 2), 20_000);
  run.registry.loseReplies.clear();
  await run.clock.until(() => run.told.includes("confirmed b at 3"), 20_000);
  assert.deepEqual([run.told, run.check(1), run.check(2), run.check(3)], [["lift", "confirmed a at 3", "confirmed b at 3"], "epoch", "epoch", "open"]);
});

test("a round in which the database answered no take at all opens nothing, also not a gate without accounts", async () => {
  const run = await fenced("a");
  run.registry.loseRequests.add("take");
  await run.clock.advance(30_000);
  assert.deepEqual([run.told, run.gate.lifted], [["lease end"], false]);
  run.registry.loseRequests.clear();
  await run.clock.advance(STEADY.renewMs + STEADY.queryTimeoutMs);
  assert.deepEqual(run.told.slice(1), ["lift", "confirmed a at 2"]);
});

test("row 29: takes that come after the window of their renewal open nothing", async () => {
  const run = await fenced("a");
  const take = run.registry.take.bind(run.registry);
  run.registry.take = (me, accounts, terms) => {
    run.registry.take = take;
    run.clock.after(5, () => (run.clock.wallOffsetMs = 3_600_000)); // while the answer is on its way
    return take(me, accounts, terms);
  };
  await run.clock.until(() => run.registry.owned.some(({ epoch }) => epoch === 2), 20_000);
  await run.clock.advance(5);
  assert.deepEqual([run.told, run.gate.lifted], [[], false]);
  await run.clock.advance(STEADY.retryMs + 100);
  assert.deepEqual([run.told, run.check(3)], [["lift", "confirmed a at 3"], "open"], "the next round");
});

test("a round that takes longer than one renewal's window goes on under the next ones, as long as each finds the lease live", async () => {
  const run = keeping({ profile: FAST, capacity: 1_000 });
  run.registry.free = Array.from({ length: 1_000 }, (_, index) => held(`a${index}`, 1));
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(FAST.ttlMs - FAST.marginMs + 10);
  run.registry.down = false;
  const take = run.registry.take.bind(run.registry);
  run.registry.take = async (me, accounts, terms) => {
    const taken = await take(me, accounts, terms);
    await new Promise<void>((resolve) => void run.clock.after(FAST.queryTimeoutMs - 600, resolve));
    return taken;
  };
  await run.clock.until(() => run.gate.lifted, 20_000);
  assert.equal(run.registry.takes.length, 10);
  assert.deepEqual(run.notes.of("lifted").map(({ accounts, alone }) => [accounts, alone]), [[0, 0], [1_000, 0]]);
});

test("a round whose window has passed is lent nothing, though the lease is said to be live: it may have lapsed and been revived since", async () => {
  const names = Array.from({ length: 101 }, (_, index) => `a${index}`);
  const run = await fencedWith(PATIENT, names);
  const take = run.registry.take.bind(run.registry);
  let answerLate: () => void = () => undefined;
  run.registry.take = (me, accounts, terms) => {
    if (accounts.length > 1) return take(me, accounts, terms);
    run.registry.take = take;
    return new Promise((resolve) => (answerLate = () => resolve([owned("a100", 2)])));
  };
  await run.clock.until(() => run.registry.owned.some(({ epoch }) => epoch === 2), 20_000);
  run.clock.wallOffsetMs = 3_600_000; // as after a suspend, in which somebody judged the lease
  const before = run.registry.takes.length;
  await run.clock.until(() => run.registry.takes.length > before, 20_000); // the new round's, after a renewal that found it live
  run.registry.owned = run.registry.owned.slice(1); // a0 is that somebody's
  answerLate();
  await run.clock.until(() => {
    assert.notEqual(run.check(2), "open", "the account is another's");
    return run.told.includes("lost a0");
  }, 40_000);
});

test("row 29: a trip while accounts are confirmed makes the lift under way useless", async () => {
  const run = await fenced("a");
  const take = run.registry.take.bind(run.registry);
  run.registry.take = (me, accounts, terms) => {
    run.gate.trip();
    run.registry.take = take;
    return take(me, accounts, terms);
  };
  await run.clock.until(() => run.registry.owned.some(({ epoch }) => epoch === 2), 20_000);
  await run.clock.advance(100);
  assert.deepEqual([run.told, run.gate.lifted], [[], false]);
  await run.clock.advance(STEADY.renewMs);
  assert.deepEqual([run.told, run.check(3)], [["lift", "confirmed a at 3"], "open"]);
});

test("a lapse while accounts are confirmed begins anew: what was taken before it opens nothing", async () => {
  const run = await fenced("a", "b");
  run.registry.loseRequests.add("take");
  await run.clock.until(() => run.registry.takes.length === 1, 20_000); // the round stands still
  const take = run.registry.take.bind(run.registry);
  run.registry.loseRequests.clear();
  run.registry.take = (me, accounts, terms) => {
    run.registry.take = take;
    // The lease lapses, and another takes a, before what we ask for now is carried out.
    run.registry.owned = [held("b", 1)];
    return take(me, accounts, terms);
  };
  run.registry.reply = { wasLive: false, accounts: [held("a", 1), held("b", 1)] };
  await run.clock.until(() => run.told.length === 2, 20_000);
  run.registry.reply = {};
  await run.clock.advance(STEADY.renewMs + 100);
  assert.deepEqual([run.told, run.check(1), run.check(2)], [["lift", "confirmed b at 2", "lost a"], "epoch", "epoch"]);
});

test("nor does it when that is answered late, while the new round asks for what another has taken since", async () => {
  const run = await fencedWith(PATIENT, ["a", "b"]);
  const take = run.registry.take.bind(run.registry);
  let answerLate: () => void = () => undefined;
  run.registry.take = () => {
    run.registry.owned = [held("a", 2), held("b", 2)];
    run.registry.take = take;
    return new Promise((resolve) => (answerLate = () => resolve([owned("a", 2), owned("b", 2)])));
  };
  await run.clock.until(() => run.registry.owned.some(({ epoch }) => epoch === 2), 20_000);
  run.registry.reply = { wasLive: false };
  await run.clock.until(() => run.registry.takes.length === 1, STEADY.renewMs + 100).catch(() => undefined);
  assert.equal(run.registry.takes.length, 1, "the new round's, while the old one still waits");
  run.registry.reply = {};
  run.registry.owned = [held("b", 2)]; // a is another's at epoch 3
  answerLate();
  await run.clock.until(() => {
    assert.notEqual(run.check(2), "open", "the account is another's");
    return run.told.includes("lost a");
  }, 20_000);
  assert.deepEqual([run.told, run.check(3, 1)], [["lift", "confirmed b at 3", "lost a"], "open"]);
});

test("a round under which the name is refused opens nothing: the lease was ended for us, or is another process's", async () => {
  const run = await fencedWith(PATIENT, ["a"]);
  const take = run.registry.take.bind(run.registry);
  let answer: () => void = () => undefined;
  run.registry.take = () => {
    run.registry.take = take;
    return new Promise((resolve) => (answer = () => resolve([owned("a", 2)])));
  };
  await run.clock.until(() => run.registry.take === take, 20_000);
  run.registry.reply = { held: false, wasLive: false };
  const before = run.registry.renewals.length;
  await run.clock.until(() => run.registry.renewals.length === before + 2, 20_000);
  answer();
  await run.clock.advance(100);
  assert.deepEqual([run.told, run.gate.lifted], [[], false]);
});

test("an account that is fenced alone is not opened by an answer to a question from before a fence", async () => {
  const run = await fenced("a", "b");
  run.registry.locked.add(accountId("b"));
  await run.clock.until(() => run.told.includes("confirmed a at 2"), 20_000);
  run.registry.locked.clear();
  let answer: () => void = () => undefined;
  const take = run.registry.take.bind(run.registry);
  run.registry.take = (_, accounts) => {
    run.registry.take = take;
    return new Promise((resolve) => (answer = () => resolve(accounts.map(({ account, epoch }) => owned(account, epoch + 1)))));
  };
  await run.clock.advance(STEADY.renewMs + 50);
  run.clock.wallOffsetMs = 3_600_000;
  assert.equal(run.check(2), "clock");
  answer();
  await run.clock.advance(1);
  assert.equal(run.gate.check({ slot: 1, epoch: 2 as Epoch }), "closed");
  assert.equal(run.told.includes("confirmed b at 2"), false);
});
