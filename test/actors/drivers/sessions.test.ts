// Owns the tests of what both kinds of sessions promise, on real sockets.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import type { AccountId, Epoch, SymbolName } from "../../../protocol/ids.ts";
import type { Execution } from "../../../protocol/orders.ts";
import type { BrokerMs, Points } from "../../../protocol/units.ts";
import { EURUSD, EURUSD_QUOTE, ScriptedBroker } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { boot, openGate, PERMIT, type Rig } from "../executor/executorFixture.ts";
import { OPEN, position, startSession, upSession, type SessionChoice, type SessionRig } from "./sessionFixture.ts";

let rig: Rig;
before(async () => {
  rig = await boot();
});
after(() => rig.executor.stop());

const kindOf = (execution: Execution): string => (execution.kind === "dropped" ? `dropped ${execution.cause}` : execution.answer.kind);

for (const platform of ["mt4", "mt5"] as const) {
  describe(`a session with an ${platform}-like account`, () => {
    let broker: ScriptedBroker;
    const made: SessionRig[] = [];
    const up = async (choice?: SessionChoice): Promise<SessionRig> => {
      const session = await upSession(broker, rig, choice);
      made.push(session);
      return session;
    };
    const start = (choice?: SessionChoice): SessionRig => {
      const session = startSession(broker, rig, choice);
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

    test("tells that it is connected, with what stands at the broker", async () => {
      broker.snapshot = { ...broker.snapshot, positions: [position(50)] };
      const { events } = await up();
      assert.deepEqual(events, [{ kind: "connected", snapshot: broker.snapshot }]);
    });

    test("tells changes in their order, with the moment of the callback", async () => {
      const { events } = await up();
      const changes = [51, 52].map((ticket) => ({ kind: "position_opened" as const, brokerMs: broker.nowMs, position: position(ticket) }));
      const before = systemClock.wallMs();
      for (const change of changes) broker.push({ t: "change", change });
      await until("both are told", () => events.length === 3);
      const told = events.slice(1);
      assert.deepEqual(told.map((event) => event.kind === "changed" && event.change), changes);
      assert.ok(told.every((event) => event.kind === "changed" && event.callbackAtMs >= before && event.callbackAtMs <= systemClock.wallMs()));
    });

    test("does not tell a change that its first snapshot contains", async () => {
      broker.onSnapshot = (id, peer) => {
        peer.send({ t: "change", change: { kind: "position_opened", brokerMs: broker.nowMs, position: position(51) } });
        peer.send({ t: "snapshot", id, snapshot: { ...broker.snapshot, positions: [position(51)] } });
      };
      const { events } = await up();
      assert.deepEqual(events.map((event) => event.kind), ["connected"]);
    });

    test("knows symbols in any case, and the newest quote", async () => {
      const { session, events } = await up();
      assert.deepEqual(session.symbols(), [EURUSD]);
      assert.deepEqual(session.spec("eurusd.X" as SymbolName), EURUSD);
      assert.deepEqual(session.quote(EURUSD.symbol), EURUSD_QUOTE);
      const newer = { ...EURUSD_QUOTE, bid: 111_000 as Points };
      broker.push({ t: "quotes", quotes: [newer] });
      await until("the quote has arrived", () => session.quote(EURUSD.symbol)?.bid === newer.bid);
      assert.equal(events.length, 1);
    });

    test("carries the broker's clock forward, and knows none before the first login", async () => {
      broker.nowMs = 9_000_000_000_000 as BrokerMs;
      const early = start();
      assert.equal(early.session.brokerNowMs(), null);
      await until("it is connected", () => early.events.length === 1);
      const first = early.session.brokerNowMs()!;
      assert.ok(first >= 9_000_000_000_000 && first < 9_000_000_060_000, String(first));
      await until("it goes on", () => early.session.brokerNowMs()! > first);
    });

    test("makes an order that is done", async () => {
      const { session } = await up();
      const execution = await session.execute(OPEN, PERMIT);
      assert.ok(execution.kind === "answered" && execution.callMadeAtMs !== null);
      assert.deepEqual(execution.answer, { kind: "done", ticket: 100, volume: 1_000_000, price: 110_010, brokerMs: broker.nowMs });
      assert.deepEqual(broker.orders.map(({ order }) => order), [OPEN]);
    });

    test("passes a refusal on with its class", async () => {
      broker.onOrder = (asked) => broker.result(asked, { code: platform === "mt4" ? 138 : 10004, text: "requote" });
      const { session } = await up();
      const execution = await session.execute(OPEN, PERMIT);
      assert.deepEqual(execution.kind === "answered" && execution.answer, { kind: "refused", refusal: "fresh_price", code: platform === "mt4" ? 138 : 10004, text: "requote" });
    });

    test("says unknown of an order without an answer, and works on", async () => {
      broker.onOrder = () => undefined;
      const { session } = await up({ limits: { brokerTimeoutMs: 40 } });
      const hung = await session.execute(OPEN, PERMIT);
      assert.equal(kindOf(hung), "unknown");
      assert.ok(hung.kind === "answered" && hung.callMadeAtMs !== null);
      broker.onOrder = (asked) => broker.done(asked);
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "done");
    });

    test("does not take the late answer of one order for that of the next", async () => {
      const late: (() => void)[] = [];
      broker.onOrder = (asked) => late.push(() => broker.result(asked, { ticket: 1 as never }));
      const { session } = await up({ limits: { brokerTimeoutMs: 40 } });
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "unknown");
      broker.onOrder = (asked) => {
        late.forEach((send) => send());
        broker.result(asked, { ticket: 2 as never });
      };
      const execution = await session.execute(OPEN, PERMIT);
      assert.equal(execution.kind === "answered" && execution.answer.kind === "done" && execution.answer.ticket, 2);
    });

    test("says unknown of an order whose connection is cut", async () => {
      broker.onOrder = (asked) => asked.peer.cut();
      const { session } = await up();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "unknown");
    });

    test("says unknown of an order that is answered with garbage", async () => {
      broker.onOrder = (asked) => asked.peer.raw(new Uint8Array(32).fill(0xc1));
      const { session } = await up();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "unknown");
    });

    test("asks the gate in the turn of the call: a trip, a passed deadline, a lost account stop it", async () => {
      const { session } = await up();
      rig.gate.trip();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "dropped gate");
      openGate(rig.gate, -1);
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "dropped gate");
      openGate(rig.gate);
      assert.equal(kindOf(await session.execute(OPEN, { slot: 0, epoch: 4 as Epoch })), "dropped gate");
      rig.gate.clearSlot(PERMIT.slot);
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "dropped gate");
      assert.deepEqual(broker.orders, []);
    });

    test("takes nothing before it is connected, nor after its end", async () => {
      broker.password = "other";
      const { session } = start();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "dropped session_down");
      await session.close();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "dropped stopped");
    });

    test("comes back after a cut, with a snapshot of then", async () => {
      const { session, events, kinds } = await up();
      broker.snapshot = { ...broker.snapshot, positions: [position(60)] };
      broker.on("session")[0]!.cut();
      await until("it is back", () => kinds().length === 3);
      assert.deepEqual(kinds(), ["connected", "disconnected", "connected"]);
      assert.deepEqual(events.at(-1), { kind: "connected", snapshot: broker.snapshot });
      await until("an order goes through", () => broker.on(platform === "mt4" ? "call" : "session").length > 0);
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "done");
    });

    test("comes back after it was kicked", async () => {
      const { events, kinds } = await up();
      broker.push({ t: "kicked", text: "somebody else logged in" });
      await until("it is back", () => kinds().length === 3);
      assert.deepEqual(events[1], { kind: "disconnected", detail: "kicked by the broker: somebody else logged in" });
    });

    test("finds a connection that is open and silent by its pings", async () => {
      broker.onPing = () => undefined;
      const { events, kinds } = await up({ limits: { pingEveryMs: 20, pingTimeoutMs: 30 } });
      await until("it noticed", () => kinds().includes("disconnected"));
      assert.deepEqual(events[1], { kind: "disconnected", detail: "silent: no answer within 30 ms to a ping" });
    });

    test("says who it is on every channel, if it was told", async () => {
      await up({ client: "n1/boot#7" });
      assert.deepEqual([...new Set(broker.clients)], ["n1/boot#7"]);
      assert.equal(broker.clients.length, platform === "mt4" ? 2 : 1);
    });

    test("says with each order under which ownership it is sent, also when that is renewed under the session", async () => {
      const { session } = await up({ client: "n1/boot#5" });
      await session.execute(OPEN, PERMIT);
      const renewed = { ...PERMIT, epoch: 6 as Epoch };
      rig.gate.setEpoch(renewed.slot, renewed.epoch);
      await session.execute(OPEN, renewed);
      assert.deepEqual(broker.orders.map(({ epoch }) => epoch), [5, 6]);
    });

    test("names itself to nobody if it was not told", async () => {
      await up();
      assert.deepEqual([...new Set(broker.clients)], [null]);
    });

    test("says that it waits while others log in, and no longer once its turn has come", async () => {
      let turn: number | null = null;
      const { session, kinds } = start({ pacer: { reserve: () => turn } });
      assert.ok(session.waitsForTurn, "too many wait at this broker");
      turn = 10;
      await until("it is up", () => kinds().includes("connected"));
      assert.ok(!session.waitsForTurn);
    });

    test("tells a refused login once, with the broker's reason, and does not repeat it", async () => {
      const { events, log } = start({ password: "wrong" });
      await until("it was told", () => events.length > 0);
      // Longer than any pause between two tries.
      await new Promise((resolve) => systemClock.after(150, () => resolve(null)));
      assert.deepEqual([events, broker.clients.length], [[{ kind: "refused", detail: "wrong password" }], 1]);
      assert.ok(log.lines.every(({ fields }) => JSON.stringify(fields).includes('"retryMs":null')));
    });

    test("a login that is refused when it comes back ends the session: disconnected, then refused", async () => {
      const { events, kinds } = await up();
      const before = broker.clients.length;
      broker.password = "changed";
      broker.on("session")[0]!.cut();
      await until("it was told", () => kinds().includes("refused"));
      assert.deepEqual([kinds(), events.at(-1)], [["connected", "disconnected", "refused"], { kind: "refused", detail: "wrong password" }]);
      assert.equal(broker.clients.length, before + 1);
    });

    test("takes a broker that answers as another account or platform for a refusal", async () => {
      for (const as of [{ account: "somebody-else" as AccountId, platform }, { account: broker.account, platform: platform === "mt4" ? "mt5" : "mt4" } as const]) {
        broker.welcomeAs = as;
        const { events } = start();
        await until("it refused", () => events.length > 0);
        assert.deepEqual(events, [{ kind: "refused", detail: `expected ${platform} account ${broker.account}, the broker answered as ${as.platform} account ${as.account}` }]);
      }
    });

    test("waits for its turn at its broker before every login, and comes again later when too many wait", async () => {
      const turns: (number | null)[] = [null, 30];
      const hosts: string[] = [];
      const { log, kinds } = start({ parallelism: 0, pacer: { reserve: (host) => (hosts.push(host), turns.shift() as number | null) } });
      await until("it is connected", () => kinds().length === 1);
      assert.deepEqual([hosts, log.lines.filter(({ text }) => /too many logins wait/.test(text)).length], [["127.0.0.1", "127.0.0.1"], 1]);
    });

    test("does not log in when it was closed before its turn", async () => {
      const { session, events } = start({ pacer: { reserve: () => 30 } });
      await session.close();
      await new Promise((resolve) => systemClock.after(60, () => resolve(null)));
      assert.deepEqual([events, broker.clients.length], [[], 0]);
    });

    test("gives up a login or a snapshot without an answer, and tries again", async () => {
      broker.onSnapshot = () => undefined;
      const { log, kinds } = start({ limits: { requestTimeoutMs: 30 } });
      await until("it tried twice", () => log.lines.length >= 2);
      assert.deepEqual(kinds(), []);
    });

    test("fails a snapshot while there is no connection", async () => {
      const { session } = await up();
      await session.close();
      await assert.rejects(session.snapshot(0 as BrokerMs), { code: "unreachable" });
    });

    test("settles what is under way at its close, and then says nothing more", async () => {
      broker.onOrder = () => undefined;
      const { session, events } = await up();
      const call = session.execute(OPEN, PERMIT);
      await until("the call is made", () => broker.orders.length === 1);
      await session.close();
      assert.equal(kindOf(await call), "unknown");
      await until("all its connections are gone", () => broker.peers.every((peer) => peer.ended));
      assert.deepEqual(events.map((event) => event.kind), ["connected"]);
    });

    test("at the lease's end resets a connection with an unanswered order, and leaves the others", async () => {
      const { session, kinds } = await up();
      session.resetUnanswered();
      assert.equal(kindOf(await session.execute(OPEN, PERMIT)), "done");
      broker.onOrder = () => undefined;
      const call = session.execute(OPEN, PERMIT);
      await until("the call is made", () => broker.orders.length === 2);
      session.resetUnanswered();
      assert.equal(kindOf(await call), "unknown");
      // MT5's one connection is its session too; MT4's session channel has no order on it.
      assert.equal(kinds().includes("disconnected"), platform === "mt5");
    });
  });
}
