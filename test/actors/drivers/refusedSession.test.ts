// Owns the tests of a session whose login is refused, on some other channel, while the next try to
// connect is already on its way.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { DEFAULT_SESSION_LIMITS } from "../../../actors/drivers/sessionLimits.ts";
import { WireSession, type WireSessionOptions } from "../../../actors/drivers/wireSession.ts";
import { systemClock, systemRandom } from "../../../ops/clock.ts";
import type { Execution } from "../../../protocol/orders.ts";
import type { Clock } from "../../../protocol/ports/clock.ts";
import { ScriptedBroker } from "../../support/scriptedBroker.ts";
import { silent } from "../../support/silent.ts";

/** A session without orders, whose other channel is the test. */
class BareSession extends WireSession {
  readonly platform = "mt5";
  execute(): Promise<Execution> {
    return Promise.resolve(this.notNow());
  }
  loginRefusedElsewhere(): void {
    this.refuse("refused elsewhere");
  }
  protected onUp(): void {}
  protected onDown(): void {}
  protected onChange(): void {}
}

let broker: ScriptedBroker;
beforeEach(async () => {
  broker = await ScriptedBroker.start("mt5");
});
afterEach(() => broker.close());

function opened({ pacer, clock = systemClock }: { readonly pacer: WireSessionOptions["pacer"]; readonly clock?: Clock }): { readonly session: BareSession; readonly told: string[] } {
  const account = { id: broker.account, role: "follower", platform: "mt5", broker: `127.0.0.1:${broker.port}`, login: 1, credentialsRef: "env:NONE", enabled: true } as const;
  const session = new BareSession({ account, password: broker.password, limits: DEFAULT_SESSION_LIMITS, pacer, clock, random: systemRandom, log: silent });
  const told: string[] = [];
  session.open(({ kind }) => told.push(kind));
  return { session, told };
}

/** Longer than a connection on the loopback and its login take. */
const aWhile = (): Promise<void> => new Promise((resolve) => void systemClock.after(100, resolve));

describe("a login that is refused on another channel", () => {
  test("while the session waits for its turn: the turn is given back unused", async () => {
    const { session, told } = opened({ pacer: { reserve: () => 20 } });
    session.loginRefusedElsewhere();
    await aWhile();
    assert.deepEqual([told, broker.clients, broker.peers.length], [["refused"], [], 0]);
    await session.close();
  });

  test("while the session connects: it does not log in, and nothing is told after the refusal", async () => {
    let refuse: () => void = () => undefined;
    // A connection takes at least a turn of the event loop: here it is under way, and not made.
    const clock: Clock = { ...systemClock, after: (delayMs, fn) => systemClock.after(delayMs, () => (fn(), delayMs === 1 && refuse())) };
    const { session, told } = opened({ pacer: { reserve: () => 1 }, clock });
    refuse = () => session.loginRefusedElsewhere();
    await aWhile();
    assert.deepEqual([told, broker.clients], [["refused"], []]);
    assert.ok(broker.peers.every((peer) => peer.ended), "its connection is gone");
    await session.close();
  });
});
