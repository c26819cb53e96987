// Owns the tests of the relations between a node's times.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNodeLimits, DEFAULT_NODE_LIMITS, limitsOf, type NodeLimits } from "../../ops/nodeLimits.ts";

const { lease, session, follower } = DEFAULT_NODE_LIMITS;

for (const profile of ["published", "steady", "fast"] as const) {
  test(`the times of the profile ${profile} fit together`, () => checkNodeLimits(limitsOf(profile)));
}
test("a node has the steady profile unless said otherwise", () => assert.equal(limitsOf("steady"), DEFAULT_NODE_LIMITS));

const BROKEN: readonly (readonly [string, Partial<NodeLimits>, RegExp])[] = [
  ["a renewal that does not fit before the deadline", { lease: { ...lease, renewMs: 44_000 } }, /renew 44000 ms, retry 2000 ms and two queries of 5000 ms/],
  ["a call that outlives the lease", { session: { ...session, brokerTimeoutMs: 15_000 } }, /time-out 15000 ms must be below the lease's margin 15000 ms/],
  ["a second query after a failed renewal that does not fit before the deadline", { lease: { ...lease, queryTimeoutMs: 19_001 } }, /two queries of 19001 ms must fit into ttl - margin, 45000 ms/],
  ["a call that is taken for settled while it is under way", { follower: { ...follower, settleMs: 9_999 } }, /settle time 9999 ms/],
];
for (const [what, limits, message] of BROKEN) {
  test(`${what} is refused, with the numbers`, () => assert.throws(() => checkNodeLimits({ ...DEFAULT_NODE_LIMITS, ...limits }), { code: "configuration", message }));
}

test("all that is wrong is named at once", () => {
  assert.throws(() => checkNodeLimits({ ...DEFAULT_NODE_LIMITS, session: { ...session, brokerTimeoutMs: 40_000 } }), /margin 15000 ms.*settle time 30000 ms/);
});
