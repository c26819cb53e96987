// Owns the tests of what the options of `lockstep cluster` mean.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLUSTER_DEFAULTS, clusterPlan, type ClusterTexts } from "../../../ops/cluster/options.ts";

const plan = (texts: Partial<ClusterTexts> = {}) => clusterPlan({ ...CLUSTER_DEFAULTS, ...texts });

test("without options: three nodes, two masters, twelve followers, half a minute", () => {
  assert.deepEqual(plan(), { nodes: 3, masters: 2, followers: 12, storyMs: 30_000, churn: false });
});

for (const [text, ms] of [["5s", 5_000], ["90s", 90_000], ["2m", 120_000], ["60m", 3_600_000]] as const) {
  test(`--for ${text} is ${ms} ms`, () => assert.equal(plan({ for: text }).storyMs, ms));
}

describe("refused in one line for each fault", () => {
  for (const [what, texts, line] of [
    ["no nodes", { nodes: "0" }, '--nodes: expected a whole number from 1 to 16, got "0"'],
    ["too many nodes", { nodes: "17" }, '--nodes: expected a whole number from 1 to 16, got "17"'],
    ["a number that is none", { followers: "1e1" }, '--followers: expected a whole number from 1 to 1000, got "1e1"'],
    ["fewer followers than masters", { followers: "2", masters: "3" }, "--followers: expected at least one for each of the 3 masters, got 2"],
    ["a time without a unit", { for: "30" }, '--for: expected 5s to 60m, as in 30s or 2m, got "30"'],
    ["a time that is too short", { for: "4s" }, '--for: expected 5s to 60m, as in 30s or 2m, got "4s"'],
    ["a time that is too long", { for: "61m" }, '--for: expected 5s to 60m, as in 30s or 2m, got "61m"'],
    ["two faults", { nodes: "x", for: "x" }, '--nodes: expected a whole number from 1 to 16, got "x"\n--for: expected 5s to 60m, as in 30s or 2m, got "x"'],
  ] as const) {
    test(what, () => assert.throws(() => plan(texts), { code: "configuration", message: line }));
  }
});
