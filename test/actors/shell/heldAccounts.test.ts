// Owns the cases of the slots that holdings have in the gate.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedGate } from "../../../actors/executor/sharedGate.ts";
import { HeldAccounts } from "../../../actors/shell/heldAccounts.ts";
import type { Permit } from "../../../protocol/orders.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { held } from "./keeperFixture.ts";

test("accounts come and go without end: a place is used again, a slot never, and nothing passes under one that has ended", () => {
  const gate = SharedGate.create(2, new FakeScheduler(1));
  gate.lift(gate.state(), { monotonicMs: 1e9, wallMs: 1e15 });
  const accounts = new HeldAccounts(gate);
  const ended: Permit[] = [];
  assert.deepEqual(accounts.take(held("stays", 1)), { kind: "taken", slot: 0 });
  for (let n = 0; n < 100; n++) {
    const { account, epoch } = held(n % 3 === 0 ? "returns" : `comes${n}`, n % 3 === 0 ? n + 1 : 1);
    const taken = accounts.take({ account, epoch });
    assert.ok(taken.kind === "taken", `${n}: ${taken.kind}`);
    assert.deepEqual(accounts.take(held("more", 1)), { kind: "full" });
    assert.equal(gate.check({ slot: taken.slot, epoch }), "open");
    assert.deepEqual([...new Set(ended.map((permit) => gate.check(permit)))].filter((verdict) => verdict !== "epoch"), []);
    ended.push({ slot: taken.slot, epoch });
    accounts.forget(account);
  }
  assert.equal(new Set(ended.map(({ slot }) => slot)).size, 100);
  assert.equal(gate.check({ slot: 0, epoch: held("stays", 1).epoch }), "open");
});
