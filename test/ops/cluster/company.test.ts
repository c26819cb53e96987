// Owns the tests of who plays in a cluster.

import assert from "node:assert/strict";
import { test } from "node:test";
import { companyOf } from "../../../ops/cluster/company.ts";
import { BUNDLED_STATEMENT } from "../../../ops/commands/demo.ts";
import { loadStatement } from "../../../ops/statement/read.ts";

const bundled = await loadStatement(BUNDLED_STATEMENT);

test("followers are dealt to the masters one after the other", () => {
  const company = companyOf(bundled, 3, 8, "p");
  assert.deepEqual(company.map(({ master, followers }) => [master.account, followers.map(({ broker }) => broker.account)]), [
    ["m1", ["m1-f1", "m1-f2", "m1-f3"]],
    ["m2", ["m2-f1", "m2-f2", "m2-f3"]],
    ["m3", ["m3-f1", "m3-f2"]],
  ]);
});

test("every link joins accounts of one troupe, and all names are different", () => {
  const company = companyOf(bundled, 5, 43, "p");
  const ids = company.flatMap(({ master, followers }) => [master.account, ...followers.map(({ broker }) => broker.account)]);
  assert.equal(new Set(ids).size, 48);
  for (const { master, followers } of company) for (const { broker, link } of followers) assert.deepEqual([link.master, link.follower], [master.account, broker.account]);
});

test("all accounts have the password of the run", () => {
  const accounts = companyOf(bundled, 2, 7, "of this run").flatMap(({ master, followers }) => [master, ...followers.map(({ broker }) => broker)]);
  assert.ok(accounts.every(({ password }) => password === "of this run"));
});
