// Owns the cases of when a lease counts as proven: which reply opens the gate, while others may have taken
// what it lists.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { elapsed } from "../../sim/cell.ts";
import { keeping, REACH_MS } from "./keeperFixture.ts";

test("a lease that had lapsed at the database trips, and the next renewal confirms", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false };
  await run.clock.until(() => run.told.includes("trip"));
  run.registry.reply = {};
  await run.clock.advance(100);
  assert.deepEqual(run.told.slice(2), ["trip", "lift"], "at once");
});

test("a reply to a lapsed lease opens nothing, though it lists an account: another node took it while the renewal waited", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  run.registry.down = false;
  const renew = run.registry.renew.bind(run.registry);
  let renewals = 0;
  run.registry.renew = async (me, terms) => {
    const isFirst = ++renewals === 1;
    const accounts = [...run.registry.owned]; // read before the wait
    if (isFirst) run.registry.owned = []; // taken at epoch 2 meanwhile
    return { ...(await renew(me, terms)), accounts, wasLive: !isFirst };
  };
  await run.clock.until(() => {
    assert.notEqual(run.check(), "open", "the account is another's");
    return run.told.includes("lift", 2);
  }, 5_000);
  assert.deepEqual([run.told.slice(2), run.check(), renewals], [["trip", "lost a", "lift"], "epoch", 2]);
});

test("nor does a reply to a live lease, when the renewal before was never answered: it may have been read before that one took effect", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.answerAfterMs = 1e9; // carried out, unanswered
  await run.clock.advance(REACH_MS + 10);
  run.registry.answerAfterMs = 10;
  const renew = run.registry.renew.bind(run.registry);
  let answered = 0;
  run.registry.renew = async (me, terms) => {
    const accounts = [...run.registry.owned];
    if (answered === 0) run.registry.owned = [];
    const reply = await renew(me, terms);
    answered += 1;
    return { ...reply, accounts };
  };
  await run.clock.until(() => {
    assert.notEqual(run.check(), "open", "the account is another's");
    return run.told.includes("lift", 2);
  }, 20_000);
  assert.deepEqual([run.told.slice(2), answered], [["trip", "lost a", "lift"], 2]);
});

test("a lease that lapses again and again is asked for at once only the first time: a database that is too slow for it is not asked without end", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.reply = { wasLive: false };
  const before = run.registry.renewals.length;
  await run.clock.advance(STEADY.renewMs + 10 * STEADY.retryMs);
  assert.ok(run.registry.renewals.length - before <= 12, `${run.registry.renewals.length - before}`);
  assert.equal(run.check(), "closed");
});
