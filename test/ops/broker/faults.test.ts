// Owns the tests of the broker's faults, as a client meets them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLockstepError } from "../../../protocol/errors.ts";
import { MT4_ACCOUNT, MT5_ACCOUNT, openOrder, placeOrder, SUFFIXED } from "./market.ts";
import { entriesOf, running } from "./testServer.ts";

const LIMIT = { timeout: 20_000 };

describe("faults", LIMIT, () => {
  test("requote k times, then executed", async (t) => {
    const { server, session, sink } = await running(t);
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "refuse", refusal: "requote" }, { times: 2 });
    const codes: number[] = [];
    for (let n = 0; n < 3; n += 1) codes.push((await client.order(openOrder())).code);
    assert.deepEqual(codes, [138, 138, 0]);
    assert.equal(server.trader(MT4_ACCOUNT).positions().length, 1);
    const requests = entriesOf(sink, "request").map(({ n }) => n);
    assert.deepEqual(entriesOf(sink, "fault").map(({ requestN }) => requestN), requests.slice(0, 2));
  });

  test("market closed until disarmed, in the platform's own code, and only for that account", async (t) => {
    const { server, session } = await running(t);
    const [mt4, mt5] = [await session(1), await session(2)];
    server.faults.arm(MT5_ACCOUNT, { kind: "refuse", refusal: "market_closed" }, { times: null });
    for (let n = 0; n < 3; n += 1) assert.equal((await mt5.order(openOrder({ symbol: SUFFIXED }))).code, 10018);
    assert.equal((await mt4.order(openOrder())).code, 0);
    server.faults.disarm(MT5_ACCOUNT);
    assert.equal((await mt5.order(openOrder({ symbol: SUFFIXED }))).code, 10009);
  });

  test("no money, only for the kinds of order it is armed for", async (t) => {
    const { server, session } = await running(t);
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "refuse", refusal: "no_money" }, { only: ["open"] });
    assert.equal((await client.order(placeOrder())).code, 0);
    assert.equal((await client.order(openOrder())).code, 134);
    assert.equal((await client.order(openOrder())).code, 0);
  });

  test("an answer later than the server's own delay", async (t) => {
    const { server, session, clock } = await running(t, { answerDelayMs: 130 });
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "answer_delay", delayMs: 7000 });
    client.ask(openOrder());
    await client.hear("change");
    clock.pass(6999);
    await client.ping();
    assert.equal(client.heard.some(({ t: kind }) => kind === "result"), false);
    clock.pass(1);
    await client.hear("result");
  });

  for (const execute of [true, false]) {
    test(`hang: ${execute ? "executed" : "not executed"}, never answered, the connection stays`, async (t) => {
      const { server, session, clock, sink } = await running(t);
      const client = await session();
      server.faults.arm(MT4_ACCOUNT, { kind: "hang", execute });
      client.ask(openOrder());
      await client.ping();
      clock.pass(3_600_000);
      await client.ping();
      assert.equal(client.heard.some(({ t: kind }) => kind === "result"), false);
      assert.equal(server.trader(MT4_ACCOUNT).positions().length, execute ? 1 : 0);
      const [answer] = entriesOf(sink, "answer");
      assert.deepEqual([answer?.code, answer?.notSent], [execute ? 0 : null, "fault: never answered"]);
      assert.equal((await client.order(openOrder())).code, 0, "the fault is spent");
    });
  }

  test("lost answer: executed, and the connection closes in place of the answer", async (t) => {
    const { server, call, sink } = await running(t, { answerDelayMs: 130 });
    const client = await call();
    server.faults.arm(MT4_ACCOUNT, { kind: "lose_answer" });
    client.ask(openOrder());
    await client.closed();
    assert.deepEqual(client.heard.map(({ t: kind }) => kind), ["welcome"]);
    assert.equal(server.trader(MT4_ACCOUNT).positions().length, 1);
    assert.deepEqual(entriesOf(sink, "answer").map(({ code, notSent }) => [code, notSent]), [[0, "fault: answer lost"]]);
  });

  test("kick ends the session with a word, cut all connections without one", async (t) => {
    const { server, session, call, sink } = await running(t);
    const [kicked, caller] = [await session(), await call()];
    server.faults.strike(MT4_ACCOUNT, { kind: "kick", text: "maintenance" });
    assert.equal((await kicked.hear("kicked")).text, "maintenance");
    await kicked.closed();
    await caller.ping();

    const again = await session();
    const other = await session(2);
    server.faults.strike(MT4_ACCOUNT, { kind: "cut" });
    await Promise.all([again.closed(), caller.closed()]);
    assert.equal(again.heard.some(({ t: kind }) => kind === "kicked"), false);
    await other.ping();
    assert.deepEqual(entriesOf(sink, "fault").map(({ fault }) => fault.kind), ["kick", "cut"]);
  });

  test("faults that fit one order take hold together", async (t) => {
    const { server, session, clock } = await running(t);
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "refuse", refusal: "timed_out" });
    server.faults.arm(MT4_ACCOUNT, { kind: "answer_delay", delayMs: 500 });
    client.ask(openOrder());
    await client.ping();
    clock.pass(500);
    assert.equal((await client.hear("result")).code, 128);
  });

  test("the trader's hand never meets a fault", async (t) => {
    const { server } = await running(t);
    server.faults.arm(MT4_ACCOUNT, { kind: "refuse", refusal: "requote" });
    assert.equal(server.trader(MT4_ACCOUNT).open(openOrder()).code, 0);
  });

  test("armed faults are bounded", async (t) => {
    const { server } = await running(t);
    const arm = (): void => server.faults.arm(MT4_ACCOUNT, { kind: "lose_answer" });
    for (let n = 0; n < 100; n += 1) arm();
    assert.throws(arm, (error) => isLockstepError(error, "full"));
  });
});
