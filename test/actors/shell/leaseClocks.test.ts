// Owns the cases of clocks that a lease keeper lives with: its machine's two and the database's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { elapsed } from "../../sim/cell.ts";
import { keeping, REACH_MS } from "./keeperFixture.ts";

const HOUR_MS = 3_600_000;

async function running() {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.told.splice(0);
  return run;
}

test("row 10: a node whose wall clock is an hour off does the same as any other, whichever way", async () => {
  const done = await Promise.all([0, HOUR_MS, -HOUR_MS].map(async (offsetMs) => {
    const run = keeping();
    run.clock.wallOffsetMs = offsetMs;
    await elapsed(run.clock, run.keeper.start());
    run.registry.down = true;
    await run.clock.advance(REACH_MS + 10);
    run.registry.down = false;
    await run.clock.advance(60_000);
    return [run.told, run.registry.renewals.length, run.registry.takes.map(({ terms }) => terms), run.metrics.of("wall_clock_jumps")];
  }));
  assert.deepEqual(done[1], done[0]);
  assert.deepEqual(done[2], done[0]);
});

test("row 12: a wall clock stepped past the deadline fences, with a lift and a raised epoch after it; stepped back it changes nothing; both are alarmed about", async () => {
  const run = await running();
  run.clock.wallOffsetMs = -HOUR_MS;
  await run.clock.advance(2 * STEADY.renewMs);
  assert.deepEqual([run.told, run.check(), run.metrics.of("wall_clock_jumps")], [[], "open", 1]);
  run.clock.wallOffsetMs = HOUR_MS;
  assert.equal(run.check(), "clock");
  await run.clock.advance(2 * STEADY.renewMs);
  assert.deepEqual([run.told, run.check(2), run.metrics.of("wall_clock_jumps")], [["trip", "lift", "confirmed a at 2"], "open", 2]);
  assert.equal(run.logger.lines.filter(({ text }) => text.includes("wall clock has jumped")).length, 2);
});

test("a wall clock that is slewed, or stepped by less than a quarter of the margin, is nothing to alarm anybody", async () => {
  const run = await running();
  for (let renewal = 0; renewal < 10; renewal += 1) {
    run.clock.wallOffsetMs += STEADY.marginMs / 4;
    await run.clock.advance(STEADY.renewMs);
  }
  assert.deepEqual([run.metrics.of("wall_clock_jumps"), run.told], [0, []]);
});

for (const [what, change] of [
  ["30 s ahead", { clockOffsetMs: 1_030_000 }],
  ["30 s back", { clockOffsetMs: 970_000 }],
  ["of another timeline", { timeline: 2 }],
] as const) {
  test(`a database whose clock is ${what} after a fail-over counts as a lapse: fenced, confirmed, and whoever seems to have lapsed is left alone for one ttl`, async () => {
    const run = await running();
    await run.clock.advance(STEADY.ttlMs);
    assert.equal(run.registry.claims.at(-1)?.leaveLapsed, false);
    Object.assign(run.registry, change);
    await run.clock.advance(STEADY.renewMs + 100);
    assert.deepEqual([run.told, run.check(2), run.metrics.of("database_clock_jumps"), run.notes.of("clock_jumped").length], [["trip", "lift", "confirmed a at 2"], "open", 1, 1]);
    await run.clock.advance(STEADY.ttlMs - STEADY.renewMs - STEADY.claimPollMs);
    assert.equal(run.registry.claims.at(-1)?.leaveLapsed, true);
    await run.clock.advance(STEADY.renewMs + 2 * STEADY.claimPollMs);
    assert.equal(run.registry.claims.at(-1)?.leaveLapsed, false);
    assert.equal(run.metrics.of("database_clock_jumps"), 1, "the new clock is the known one from then on");
  });
}

test("a node that has just started leaves whoever seems to have lapsed alone for one ttl: it cannot know what the clock was before", async () => {
  const run = await running();
  await run.clock.advance(STEADY.ttlMs - 2 * STEADY.claimPollMs);
  assert.equal(run.registry.claims.at(-1)?.leaveLapsed, true);
  await run.clock.advance(4 * STEADY.claimPollMs);
  assert.equal(run.registry.claims.at(-1)?.leaveLapsed, false);
});

test("every claim and every take says which database it expects, within a quarter of the margin", async () => {
  const run = await running();
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  run.registry.down = false;
  const nowMs: number[] = [];
  const take = run.registry.take.bind(run.registry);
  run.registry.take = (me, accounts, terms) => (nowMs.push(run.clock.monotonicMs() + run.registry.clockOffsetMs), take(me, accounts, terms));
  await run.clock.advance(10_000);
  const [terms] = run.registry.takes.map((one) => one.terms);
  assert.ok(terms && nowMs[0] !== undefined && Math.abs(terms.expected.clock.nowMs - nowMs[0]) <= 20);
  assert.deepEqual([terms.expected.toleranceMs, terms.expected.clock.timeline, terms.settleMs], [STEADY.marginMs / 4, 1, 30_000]);
  const claim = run.registry.claims.at(-1);
  assert.ok(claim && Math.abs(claim.expected.clock.nowMs - (run.clock.monotonicMs() + run.registry.clockOffsetMs)) <= STEADY.claimPollMs + 20);
});
