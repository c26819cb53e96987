// Owns the tests of the executor's sizes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkExecutorSizes, lanesFor, poolThreadsFor, type ExecutorSizes } from "../../../actors/executor/sizes.ts";
import { isLockstepError } from "../../../protocol/errors.ts";

const SIZES: ExecutorSizes = { lanes: 100, reserve: 16, hosts: 2, maxWaiting: 1_000, maxWaitMs: 5_000 };

test("lanes are the worst case, at most what is configured, and never none", () => {
  assert.equal(lanesFor(4, 16, 1_000), 64);
  assert.equal(lanesFor(360, 16, 1_000), 1_000);
  assert.equal(lanesFor(0, 16, 1_000), 1);
});

test("the pool holds the lanes and the reserve", () => {
  assert.equal(poolThreadsFor(SIZES), 116);
});

test("1000 lanes and a reserve fit into libuv's limit, one lane more does not", () => {
  checkExecutorSizes({ ...SIZES, lanes: 1_000, reserve: 24 });
  for (const wrong of [{ lanes: 1_001 }, { lanes: 1_000, reserve: 25 }, { lanes: 0 }, { reserve: 0 }, { hosts: 0 }, { hosts: 1.5 }, { maxWaiting: -1 }, { maxWaitMs: 0 }]) {
    assert.throws(() => checkExecutorSizes({ ...SIZES, ...wrong }), (error) => isLockstepError(error, "configuration"), JSON.stringify(wrong));
  }
});
