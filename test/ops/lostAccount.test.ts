// Owns what a whole node does with an account that turns out to be another's while an order of it is under way.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { STEADY } from "../../actors/core/leaseProfile.ts";
import { systemClock } from "../../ops/clock.ts";
import { DEFAULT_NODE_LIMITS } from "../../ops/nodeLimits.ts";
import type { Magic } from "../../protocol/ids.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import { me } from "../contract/storageFixture.ts";
import { until } from "../support/until.ts";
import { MT4_ACCOUNT, MT5_ACCOUNT, openOrder, SUFFIXED } from "./broker/market.ts";
import { wholeNode } from "./wholeNode.ts";

const RENEW_MS = 100;
const BROKER_TIMEOUT_MS = 6_000;

/** A node with an order of its follower under way, which is not answered: it ends as unknown in time, or with its session. */
async function withOrderUnderWay(t: TestContext) {
  const seen = { handed: 0, closedAtMs: 0, lost: false };
  const hang = (session: BrokerSession): BrokerSession => {
    if (session.account !== MT4_ACCOUNT) return session;
    let end = (): void => undefined;
    const close = session.close.bind(session);
    session.execute = () =>
      new Promise((resolve) => {
        seen.handed += 1;
        const timer = systemClock.after(BROKER_TIMEOUT_MS, () => end());
        end = () => {
          timer.cancel();
          resolve({ kind: "answered", answer: { kind: "unknown", detail: "no answer" }, callMadeAtMs: systemClock.monotonicMs() });
        };
      });
    session.close = () => {
      seen.closedAtMs = systemClock.monotonicMs();
      end();
      return close();
    };
    return session;
  };
  const whole = await wholeNode(t, "lost", (storage) => ({
    wrapSession: hang,
    limits: { ...DEFAULT_NODE_LIMITS, lease: { ...STEADY, renewMs: RENEW_MS, claimPollMs: RENEW_MS } },
    registry: { ...storage.registry, claim: (who, terms) => (seen.lost ? Promise.resolve([]) : storage.registry.claim(who, terms)) },
  }));
  await until("both are served", () => [MT4_ACCOUNT, MT5_ACCOUNT].every((id) => whole.stateOf(id) === "settled"));
  whole.broker.server.trader(MT5_ACCOUNT).open(openOrder({ symbol: SUFFIXED, magic: 0 as Magic, comment: "" }));
  await until("an order is under way", () => seen.handed > 0);
  return { ...whole, seen };
}

test("the session of an account that is another's is closed at once, although an order is under way", async (t) => {
  const { storage, seen, stateOf } = await withOrderUnderWay(t);
  const owner = await storage.overview.owner(MT4_ACCOUNT);
  assert.ok(owner !== null);
  seen.lost = true;
  const fromMs = systemClock.monotonicMs();
  await storage.registry.release(me("n1", "b1"), { account: MT4_ACCOUNT, epoch: owner.epoch }, 0);
  await until("its session is closed", () => seen.closedAtMs > 0);
  assert.ok(seen.closedAtMs - fromMs < BROKER_TIMEOUT_MS / 2, `${seen.closedAtMs - fromMs} ms`);
  assert.equal(stateOf(MT4_ACCOUNT), undefined);
});
