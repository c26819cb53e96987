// Owns the tests of when a session may log in at all, on real sockets.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { ScriptedBroker } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { boot, openGate, PERMIT, type Rig } from "../executor/executorFixture.ts";
import { startSession, type SessionRig } from "./sessionFixture.ts";

let rig: Rig;
before(async () => {
  rig = await boot();
});
after(() => rig.executor.stop());

for (const platform of ["mt4", "mt5"] as const) {
  describe(`a session with an ${platform}-like account`, () => {
    let broker: ScriptedBroker;
    const made: SessionRig[] = [];
    const start = (mayLogIn: () => boolean): SessionRig => {
      const session = startSession(broker, rig, { mayLogIn });
      made.push(session);
      return session;
    };

    beforeEach(async () => {
      broker = await ScriptedBroker.start(platform);
      openGate(rig.gate);
      rig.gate.setEpoch(PERMIT.slot, PERMIT.epoch);
    });
    afterEach(async () => {
      for (const { session } of made.splice(0)) await session.close();
      await broker.close();
    });

    test("logs in only while it may, and stays up when it may no more: else it would take the session from the account's new owner", async () => {
      let mayLogIn = false;
      let asked = 0;
      const mayBeAsked = (): boolean => {
        asked += 1;
        return mayLogIn;
      };
      const { kinds } = start(mayBeAsked);
      await until("it has asked twice", () => asked >= 2);
      assert.deepEqual([kinds(), broker.clients.length], [[], 0]);
      mayLogIn = true;
      await until("it is connected", () => kinds().at(-1) === "connected");
      mayLogIn = false;
      const askedBefore = asked;
      broker.push({ t: "kicked", text: "somebody else logged in" });
      await until("it is down and has asked again", () => kinds().at(-1) === "disconnected" && asked >= askedBefore + 2);
      assert.equal(broker.on("session").length, 0);
      mayLogIn = true;
      await until("it is back", () => kinds().at(-1) === "connected");
    });

    test("closes a connection without a login when it may log in no more by the time it stands, and tries again when it may", async () => {
      // Before a turn is taken, when it has come, and when the connection stands.
      const answers = [true, true, false];
      let mayLogIn = false;
      const { kinds } = start(() => answers.shift() ?? mayLogIn);
      await until("its connection is closed", () => broker.peers.length === 1 && broker.peers[0]?.ended === true);
      assert.deepEqual([kinds(), broker.clients.length, answers.length], [[], 0, 0]);
      mayLogIn = true;
      await until("it is connected", () => kinds().at(-1) === "connected");
      assert.equal(broker.on("session").length, 1);
    });
  });
}
