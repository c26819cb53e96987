// Owns the cases of under which epoch an actor acts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ownership } from "../../../actors/shell/ownership.ts";
import { accountId, epoch } from "../../../protocol/ids.ts";

test("an ownership goes on at a higher epoch, and never falls back: permit and journal say the same", () => {
  const ownership = new Ownership(accountId("a"), { slot: 3, epoch: epoch(5) });
  for (const [at, isHigher, is] of [[7, true, 7], [7, false, 7], [6, false, 7], [8, true, 8]] as const) {
    assert.equal(ownership.raise(epoch(at)), isHigher);
    assert.deepEqual([ownership.epoch, ownership.permit, ownership.subject], [is, { slot: 3, epoch: is }, { account: "a", epoch: is }]);
  }
});
