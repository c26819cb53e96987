// Owns what a whole node does with a session that is lost while its account is fenced alone: the node's own lease
// says nothing of that account.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../actors/core/leaseProfile.ts";
import { DEFAULT_NODE_LIMITS } from "../../ops/nodeLimits.ts";
import { me, taking } from "../contract/storageFixture.ts";
import { until } from "../support/until.ts";
import { MT4_ACCOUNT, MT5_ACCOUNT } from "./broker/market.ts";
import { wholeNode } from "./wholeNode.ts";

const RENEW_MS = 100;
const RECONNECT_MS = 20;

test("an account that is fenced alone is not logged in while its node's gate is open; once it is confirmed it is", async (t) => {
  const alone = { is: false, takes: 0 };
  const { broker, storage, node, stateOf } = await wholeNode(t, "alone", ({ registry }) => ({
    limits: { ...DEFAULT_NODE_LIMITS, lease: { ...STEADY, renewMs: RENEW_MS }, session: { ...DEFAULT_NODE_LIMITS.session, reconnectMinMs: RECONNECT_MS, reconnectMaxMs: RECONNECT_MS } },
    registry: {
      ...registry,
      take: async (who, accounts, terms) => {
        if (!alone.is) return registry.take(who, accounts, terms);
        alone.takes += 1;
        return [];
      },
    },
  }));
  await until("both are served", () => [MT4_ACCOUNT, MT5_ACCOUNT].every((id) => stateOf(id) === "settled"));
  alone.is = true;
  const owner = await storage.overview.owner(MT4_ACCOUNT);
  assert.ok(owner !== null);
  // As by a take whose answer is lost: the list names an epoch that the node was not told.
  const taken = await storage.registry.take(me("n1", "b1"), [{ account: MT4_ACCOUNT, epoch: owner.epoch }], taking());
  assert.equal(taken.length, 1);
  await until("it is fenced alone", () => node.door.standing(MT4_ACCOUNT) === "fenced");
  const logins = (): number => broker.sink.entries.filter((entry) => entry.kind === "login" && entry.account === MT4_ACCOUNT && entry.channel === "session").length;
  const before = logins();
  for (const account of [MT4_ACCOUNT, MT5_ACCOUNT]) broker.server.faults.strike(account, { kind: "kick", text: "maintenance" });
  await until("it is down", () => stateOf(MT4_ACCOUNT) === "connecting");
  const takes = alone.takes;
  // Each of these comes a renewal after the other: far longer than a session waits before it comes again.
  await until("the node has asked for it ten times more", () => alone.takes >= takes + 10);
  assert.deepEqual([logins(), node.state().fenced, stateOf(MT5_ACCOUNT)], [before, false, "settled"]);
  alone.is = false;
  await until("it is served again", () => stateOf(MT4_ACCOUNT) === "settled");
  assert.equal(logins(), before + 1);
});
