// Owns the cases of answers that cross: claims, takes, releases and lists that are lost, late, or overtake each other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId } from "../../../protocol/ids.ts";
import type { HeldAccount } from "../../../protocol/ports/storage.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, owned, REACH_MS, SETTLE_MS } from "./keeperFixture.ts";

type Run = ReturnType<typeof keeping>;

async function started(run: Run = keeping()): Promise<Run> {
  await elapsed(run.clock, run.keeper.start());
  run.told.splice(0);
  return run;
}

/** Closes the gate, and lets the database be there again. */
async function fence(run: Run): Promise<void> {
  run.registry.down = true;
  await run.clock.until(() => !run.gate.lifted || run.gate.leftMs() === 0);
  await run.clock.advance(10);
  run.registry.down = false;
}

/** Replaces one call: its answer is given by hand, once. */
function byHand<T>(replace: (call: () => Promise<T>) => void): (value: T) => void {
  let answer: (value: T) => void = () => undefined;
  replace(() => new Promise((resolve) => (answer = resolve)));
  return (value) => answer(value);
}

test("a claim whose reply is lost and that commits late is found by a renewal's list, and taken before it is acquired", async () => {
  const run = await started();
  run.registry.free = [held("b", 3)];
  run.registry.claim = () => new Promise((_, reject) => void run.clock.after(STEADY.queryTimeoutMs, () => reject(new LockstepError("database_busy", "no answer"))));
  await run.clock.advance(STEADY.claimPollMs + STEADY.queryTimeoutMs + 10);
  run.registry.owned.push(held("b", 3)); // it commits now
  run.registry.claim = () => Promise.resolve([]);
  await run.clock.advance(2 * STEADY.renewMs);
  assert.deepEqual([run.told, run.check(3, 1), run.check(4, 1)], [["acquired b at 4 in 1"], "epoch", "open"]);
  assert.deepEqual(run.registry.takes.flatMap(({ accounts }) => accounts), [held("b", 3)]);
  assert.deepEqual(run.notes.notes.filter(({ event }) => event === "claimed").map(({ subject }) => subject), [held("a", 1), held("b", 4)]);
});

test("an account that a list shows while its claim is still to be answered is acquired by that answer, not taken a second time", async () => {
  const run = await started();
  const answer = byHand<ReturnType<typeof owned>[]>((call) => (run.registry.claim = call));
  await run.clock.until(() => run.registry.renewals.length === 1);
  run.registry.owned.push(held("b", 3));
  await run.clock.until(() => run.registry.renewals.length === 2);
  await run.clock.advance(50);
  answer([owned("b", 3, 1_234)]);
  run.registry.claim = () => Promise.resolve([]);
  await run.clock.advance(2 * STEADY.renewMs);
  assert.deepEqual([run.told, run.registry.takes, run.check(3, 1)], [["acquired b at 3 in 1"], [], "open"]);
  assert.deepEqual(run.notes.of("claimed").at(-1), { settleLeftMs: 1_234 });
});

test("a claim's answer from before a fence gives nothing: another may have taken the account since", async () => {
  const run = await started();
  const answer = byHand<ReturnType<typeof owned>[]>((call) => (run.registry.claim = call));
  await run.clock.advance(STEADY.claimPollMs + 10);
  run.clock.wallOffsetMs = 3_600_000;
  await run.clock.advance(1_000);
  assert.equal(run.check(), "clock");
  answer([owned("b", 3)]);
  await run.clock.advance(1);
  assert.deepEqual([run.keeper.accounts, run.told], [[held("a", 1)], []]);
  await run.clock.until(() => run.gate.lifted);
  assert.equal(run.check(3, 1), "epoch");
});

test("row 23: a claim of another that judged our lease before our renewal was committed: the account is lost, whatever a list said, and nothing of ours is restored", async () => {
  const run = await started();
  await fence(run);
  const take = run.registry.take.bind(run.registry);
  run.registry.take = (me, accounts, terms) => {
    run.registry.owned = []; // it commits between our list and our take
    return take(me, accounts, terms);
  };
  await run.clock.advance(3 * STEADY.renewMs);
  assert.deepEqual([run.told, run.check(1), run.check(2), run.keeper.accounts], [["trip", "lift", "lost a"], "epoch", "epoch", []]);
});

test("row 15: a claim that was answered and a take whose reply is lost: the account is never told lost, and goes on at the last epoch", async () => {
  const run = await started();
  run.registry.loseReplies.add("take");
  await fence(run);
  await run.clock.advance(4 * STEADY.renewMs);
  run.registry.loseReplies.clear();
  await run.clock.advance(3 * STEADY.renewMs);
  const [account] = run.keeper.accounts;
  assert.ok(account && account.epoch > 2);
  assert.deepEqual([run.told.filter((what) => what.startsWith("lost")), run.check(account.epoch)], [[], "open"]);
});

test("a take's answer that is handled while a renewal is under way is not undone by its older list, nor is the account lost for it", async () => {
  const run = await started();
  run.registry.locked.add(accountId("a"));
  await fence(run);
  await run.clock.until(() => run.told.includes("lift"), 20_000);
  run.registry.locked.clear();
  const answer = byHand<ReturnType<typeof run.registry.answer>>((call) => (run.registry.renew = call));
  const take = byHand<ReturnType<typeof owned>[]>((call) => (run.registry.take = call));
  const { accounts } = run.registry.answer();
  // The renewal that asks for the take again, and the one after it, whose list is older than the take.
  await run.clock.advance(STEADY.renewMs);
  answer(run.registry.answer());
  await run.clock.advance(STEADY.queryTimeoutMs - 10);
  take([owned("a", 2)]);
  await run.clock.advance(15);
  assert.equal(run.check(2), "open");
  answer(run.registry.answer({ accounts }));
  await run.clock.advance(1);
  assert.deepEqual([run.check(2), run.told], ["open", ["trip", "lift", "confirmed a at 2"]]);
});

test("an account that is given back while its take is under way goes back at the epoch that the take raised", async () => {
  const run = await started(keeping({ handBackMs: 1, unsettledMs: 700 }));
  run.registry.locked.add(accountId("a"));
  await fence(run);
  await run.clock.until(() => run.told.includes("lift"), 20_000);
  const released: HeldAccount[] = [];
  run.registry.release = (_, account) => Promise.resolve(released.push(account) === 2);
  let takes = 0;
  const take = byHand<ReturnType<typeof owned>[]>((call) => (run.registry.take = () => ((takes += 1), call())));
  await run.clock.until(() => takes === 1, 20_000);
  await elapsed(run.clock, run.keeper.handBack(accountId("a")));
  take([owned("a", 2)]);
  await run.clock.advance(1);
  assert.deepEqual([released, run.keeper.accounts, run.check(2)], [[held("a", 1), held("a", 2)], [], "epoch"]);
});

test("an account that drains while the node is fenced and confirmed again goes back, at the epoch it then has", async () => {
  const run = await started(keeping({ handBackMs: 10_000 }));
  run.registry.free = [];
  const released: HeldAccount[] = [];
  run.registry.release = (_, account) => Promise.resolve(released.push(account) > 0);
  await fence(run);
  await run.clock.until(() => run.registry.takes.length === 1, 20_000); // confirmed while it still drains
  const handedBack = run.keeper.handBack(accountId("a"));
  await elapsed(run.clock, handedBack);
  assert.deepEqual([released, run.keeper.accounts], [[held("a", 2)], []]);
});

test("a release tells for how long an order of ours may still be executed; made again it tells what is left of it; an end of which nothing is known tells the whole settle time", async () => {
  const run = await started(keeping({ unsettledMs: 7_000 }));
  const release = run.registry.release.bind(run.registry);
  run.registry.release = () => Promise.reject(new LockstepError("database_busy", "no connection"));
  await elapsed(run.clock, run.keeper.giveUp(accountId("a")));
  run.registry.release = release;
  await run.clock.advance(STEADY.renewMs + 50);
  const [leftMs] = run.registry.releasedUnsettledMs;
  assert.ok(leftMs !== undefined && leftMs > 0 && leftMs < 7_000, `${leftMs}`);
  assert.deepEqual(run.notes.notes.filter(({ event }) => event === "released" || event === "given_up").map(({ event, subject }) => [event, subject]), [["given_up", held("a", 1)], ["released", held("a", 1)]]);

  const other = await started(keeping({ flush: () => Promise.reject(new LockstepError("unreachable", "the log: no answer")) }));
  await elapsed(other.clock, other.keeper.handBack(accountId("a")));
  assert.deepEqual(other.registry.releasedUnsettledMs, [SETTLE_MS]);
});

test("calls that are still queued when the account is given back stay out, also when it comes again", async () => {
  const run = await started();
  const releasing = run.keeper.giveUp(accountId("a"));
  assert.equal(run.check(1), "open", "orders under way may be ended");
  let wasShut = false;
  run.registry.release = () => {
    wasShut = run.check(1) === "epoch";
    run.registry.owned = [];
    return Promise.resolve(true);
  };
  await elapsed(run.clock, releasing);
  assert.ok(wasShut, "shut before the row is free");
  run.registry.free = [held("a", 2)];
  await run.clock.until(() => run.told.includes("acquired a at 2 in 4"), 120_000);
  assert.deepEqual([run.check(1), run.check(2, 4)], ["epoch", "open"]);
});

test("what is listed and cannot be served is released without being taken: avoided here, or after the drain began", async () => {
  const run = await started();
  await elapsed(run.clock, run.keeper.giveUp(accountId("a")));
  run.registry.released.splice(0);
  run.registry.owned.push(held("a", 9)); // a claim from before, that commits late
  await run.clock.advance(STEADY.renewMs + 50);
  assert.deepEqual([run.registry.released, run.registry.takes, run.keeper.accounts], [["a"], [], []]);
});

test("a node that stays fenced for a ttl although its renewals are answered ends, and not by a configuration fault", async () => {
  const run = await started();
  await fence(run);
  run.registry.loseRequests.add("take");
  await run.clock.advance(STEADY.ttlMs - STEADY.renewMs);
  assert.ok(!run.told.some((what) => what.startsWith("fatal")));
  await run.clock.advance(2 * STEADY.renewMs + STEADY.queryTimeoutMs);
  assert.deepEqual([run.told.filter((what) => what.startsWith("fatal")), run.gate.lifted, run.clock.pending], [["fatal unreachable"], false, 0]);
});

test("time in which renewals fail is not time in which it is stuck", async () => {
  const run = await started();
  await fence(run);
  run.registry.loseRequests.add("take");
  for (let round = 0; round < 5; round += 1) {
    run.registry.down = false;
    await run.clock.advance(STEADY.ttlMs / 2);
    run.registry.down = true;
    await run.clock.advance(2 * STEADY.renewMs);
  }
  assert.ok(!run.told.some((what) => what.startsWith("fatal")));
});

test("rows of nodes that are long dead are swept every few minutes, while the lease is proven", async () => {
  const run = await started();
  await run.clock.advance(660_000);
  assert.deepEqual(run.registry.sweeps, [86_400_000, 86_400_000]);
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 600_000);
  assert.equal(run.registry.sweeps.length, 2);
});

test("the timeline of a fence: the last renewal, those that failed, the fence, the lease's end, and how it opened again", async () => {
  const run = await started();
  await run.clock.advance(STEADY.renewMs + 50);
  run.notes.notes.splice(0);
  run.registry.down = true;
  await run.clock.advance(STEADY.ttlMs + STEADY.renewMs);
  run.registry.down = false;
  await run.clock.until(() => run.told.includes("confirmed a at 2"));
  const events = run.notes.notes.map(({ event }) => event);
  assert.deepEqual(events.filter((event, index) => event !== events[index - 1]), ["renew_failed", "fenced", "renew_failed", "lease_end", "renew_failed", "renewed", "confirmed", "lifted"]);
  assert.deepEqual(run.notes.notes.filter(({ subject }) => subject !== null).map(({ event, subject }) => [event, subject]), [["confirmed", held("a", 2)]]);
  assert.deepEqual(run.notes.of("fenced"), [{ why: "the deadline passed", accounts: 1 }]);
});
