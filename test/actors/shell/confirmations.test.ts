// Owns the cases of a confirmation that fails on our own side: the trouble of one account is not the others', and not for ever.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../../actors/core/leaseProfile.ts";
import { accountId, type AccountId } from "../../../protocol/ids.ts";
import { elapsed } from "../../sim/cell.ts";
import { held, keeping, REACH_MS } from "./keeperFixture.ts";

/** A keeper that held these accounts when the database went away, which is back now; the first account `fails` once when it is told that it goes on. */
async function failing(names: readonly string[], locked: readonly string[]) {
  const failures: AccountId[] = [];
  const run = keeping({
    onConfirmed: (account) => {
      if (account !== accountId("a") || failures.length > 0) return;
      failures.push(account);
      throw new Error("its actor is broken");
    },
  });
  run.registry.free = names.map((name) => held(name, 1));
  await elapsed(run.clock, run.keeper.start());
  for (const name of locked) run.registry.locked.add(accountId(name));
  run.registry.down = true;
  await run.clock.advance(REACH_MS + 10);
  run.registry.down = false;
  await run.clock.until(() => run.gate.lifted, 20_000);
  return { ...run, failures };
}

test("after a lift an actor that cannot be told is fenced alone, and told after the next renewal; the others go on", async () => {
  const run = await failing(["a", "b"], []);
  assert.deepEqual([run.told.slice(-1), run.check(2, 0), run.check(2, 1)], [["confirmed b at 2"], "epoch", "open"]);
  await run.clock.until(() => run.told.includes("confirmed a at 3"), 2 * STEADY.renewMs);
  assert.deepEqual([run.check(3, 0), run.check(2, 1), run.failures.length], ["open", "open", 1]);
});

test("an actor that cannot be told later on does not keep the others, nor itself, from being confirmed", async () => {
  const run = await failing(["a", "b", "c"], ["a", "b"]);
  assert.deepEqual([run.told.slice(-1), run.failures], [["confirmed c at 2"], []]);
  run.registry.locked.clear();
  await run.clock.until(() => run.told.includes("confirmed b at 2"), 2 * STEADY.renewMs);
  assert.deepEqual([run.failures.length, run.check(2, 0)], [1, "epoch"]);
  await run.clock.until(() => run.told.includes("confirmed a at 3"), 2 * STEADY.renewMs);
  assert.equal(run.check(3, 0), "open");
});

test("one that is found to be ours and cannot be taken on does not keep the next one from being found", async () => {
  const run = keeping();
  await elapsed(run.clock, run.keeper.start());
  run.registry.owned = [...run.registry.owned, held("x", 4)]; // a claim whose answer was lost
  const push = run.told.push.bind(run.told);
  let failures = 0;
  run.told.push = (...lines) => {
    if (lines.some((line) => line.startsWith("acquired x")) && failures++ === 0) throw new Error("no room for its actor");
    return push(...lines);
  };
  await run.clock.until(() => failures === 1, 2 * STEADY.renewMs);
  run.registry.owned = [...run.registry.owned, held("y", 7)];
  await run.clock.until(() => run.told.includes("acquired y at 8 in 2"), 2 * STEADY.renewMs);
});
