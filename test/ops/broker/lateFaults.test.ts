// Owns the tests of orders whose answer and execution part ways: executed late, answered twice,
// filled in part.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../protocol/ids.ts";
import { closeOrder, EURUSD, lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, points, SUFFIXED } from "./market.ts";
import { entriesOf, running, type Running, untilLogged } from "./testServer.ts";

const LIMIT = { timeout: 20_000 };

const volumes = ({ server }: Running, account = MT5_ACCOUNT): number[] => server.trader(account).positions().map(({ volume }) => volume);
const results = (heard: readonly { readonly t: string }[]): number => heard.filter(({ t }) => t === "result").length;

describe("an order that is executed late", LIMIT, () => {
  for (const [login, account, symbol, timedOut, done] of [[1, MT4_ACCOUNT, EURUSD, 128, 0], [2, MT5_ACCOUNT, SUFFIXED, 10012, 10009]] as const) {
    test(`answered ${timedOut}, executed afterwards`, async (t) => {
      const all = await running(t);
      const { server, session, clock, sink } = all;
      const client = await session(login);
      server.faults.arm(account, { kind: "execute_late", afterMs: 5000, answer: "time_out" });
      assert.equal((await client.order(openOrder({ symbol }))).code, timedOut);
      clock.pass(4999);
      assert.deepEqual(volumes(all, account), []);
      clock.pass(1);
      const { change } = await client.hear("change");
      assert.ok(change.kind === "position_opened");
      assert.equal(change.position.comment, "mc42");
      const [request] = entriesOf(sink, "request");
      assert.deepEqual(sink.entries.slice(-5).map(({ kind }) => kind), ["request", "fault", "answer", "deal", "late"]);
      assert.equal(entriesOf(sink, "deal")[0]?.causeN, request?.n);
      assert.deepEqual(entriesOf(sink, "late").map(({ requestN, code, ticket, volume }) => [requestN, code, ticket, volume]), [[request?.n, done, change.position.ticket, lots("0.10")]]);
    });
  }

  test("never answered, executed afterwards, also when its connection is gone", async (t) => {
    const all = await running(t);
    const { server, session, clock, sink } = all;
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 5000, answer: "none" });
    client.ask(openOrder());
    await client.ping();
    client.socket.destroy();
    const other = await session();
    await untilLogged(sink, "disconnect", other);
    clock.pass(5000);
    assert.equal((await other.hear("change")).change.kind, "position_opened");
    assert.deepEqual(entriesOf(sink, "answer").map(({ code, notSent }) => [code, notSent]), [[null, "fault: never answered"]]);
    assert.deepEqual(entriesOf(sink, "late").map(({ code }) => code), [0]);
  });

  for (const answer of ["time_out", "none"] as const) {
    test(`the connection is cut in place of the answer (${answer}), and it is executed afterwards`, async (t) => {
      const all = await running(t);
      const { server, call, clock } = all;
      const client = await call();
      server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 5000, answer });
      server.faults.arm(MT4_ACCOUNT, { kind: "lose_answer" });
      client.ask(openOrder());
      await client.closed();
      assert.deepEqual(volumes(all, MT4_ACCOUNT), []);
      clock.pass(5000);
      assert.deepEqual(volumes(all, MT4_ACCOUNT), [lots("0.10")]);
    });
  }

  test("it may be refused at that later time: the log says so, and nothing else happens", async (t) => {
    const { server, session, clock, sink } = await running(t);
    const client = await session();
    const { ticket } = await client.order(openOrder());
    server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 5000, answer: "time_out" });
    await client.order(closeOrder(ticket as Ticket, lots("0.10")));
    server.trader(MT4_ACCOUNT).close(ticket as Ticket);
    const deals = entriesOf(sink, "deal").length;
    clock.pass(5000);
    assert.deepEqual(entriesOf(sink, "late").map(({ code, volume }) => [code, volume]), [[4108, 0]]);
    assert.equal(entriesOf(sink, "deal").length, deals);
  });

  test("counts as unanswered until it is executed, for the flood bound", async (t) => {
    const { server, session, clock } = await running(t, { maxUnanswered: 1 });
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 5000, answer: "time_out" });
    await client.order(openOrder());
    client.ask(openOrder());
    assert.equal((await client.hear("error")).code, "flood");
    clock.pass(5000);
    assert.equal((await (await session()).order(openOrder())).code, 0);
  });

  test("a server that stops leaves none behind", async (t) => {
    const { server, session, clock, sink } = await running(t);
    const client = await session();
    server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 5000, answer: "time_out" });
    await client.order(openOrder());
    await server.close();
    clock.pass(5000);
    assert.equal(entriesOf(sink, "late").length, 0);
  });
});

test("a doubled answer: the same result twice, one trade, one answer in the log", LIMIT, async (t) => {
  const all = await running(t, { answerDelayMs: 130 });
  const { server, call, clock, sink } = all;
  const client = await call();
  server.faults.arm(MT4_ACCOUNT, { kind: "double_answer" });
  client.ask(openOrder());
  await client.ping();
  clock.pass(130);
  await client.ping();
  const heard = client.heard.filter(({ t: kind }) => kind === "result");
  assert.equal(heard.length, 2);
  assert.deepEqual(heard[0], heard[1]);
  assert.equal(volumes(all, MT4_ACCOUNT).length, 1);
  assert.equal(entriesOf(sink, "answer").length, 1);
});

describe("MT5: an open that is filled in part", LIMIT, () => {
  const open = openOrder({ symbol: SUFFIXED });

  test("part is answered 10010, the rest makes the position grow under its ticket", async (t) => {
    const all = await running(t);
    const { server, session, clock, sink } = all;
    const client = await session(2);
    server.faults.arm(MT5_ACCOUNT, { kind: "fill_in_part", volume: lots("0.04"), restAfterMs: 2000 });
    const { code, ticket, volume } = await client.order(open);
    assert.deepEqual([code, volume], [10010, lots("0.04")]);
    assert.deepEqual(volumes(all), [lots("0.04")]);
    clock.pass(2000);
    const { change } = await client.hear("change", (message) => message.change.kind === "position_changed");
    assert.ok(change.kind === "position_changed");
    assert.deepEqual([change.position.ticket, change.position.volume], [ticket, lots("0.10")]);
    const [request] = entriesOf(sink, "request");
    assert.deepEqual(entriesOf(sink, "grown").map(({ causeN, volume: more, position }) => [causeN, more, position.volume]), [[request?.n, lots("0.06"), lots("0.10")]]);
    assert.deepEqual(entriesOf(sink, "late").map(({ requestN, code: late }) => [requestN, late]), [[request?.n, 10009]]);
  });

  test("a position that is closed meanwhile reappears under its ticket when the rest fills", async (t) => {
    const { server, session, clock } = await running(t);
    const client = await session(2);
    server.faults.arm(MT5_ACCOUNT, { kind: "fill_in_part", volume: lots("0.04"), restAfterMs: 2000 });
    const { ticket } = await client.order(open);
    await client.order(closeOrder(ticket as Ticket, lots("0.04"), SUFFIXED));
    clock.pass(2000);
    await client.hear("change", () => client.changes().length === 3);
    const told = client.changes().map((change) => [change.kind, "position" in change ? change.position.ticket : null]);
    assert.deepEqual(told, [["position_opened", ticket], ["position_closed", null], ["position_opened", ticket]]);
    const { positions, closed } = await client.snapshot();
    assert.deepEqual([positions.map((one) => one.ticket), closed.map(({ position }) => position.ticket)], [[ticket], [ticket]]);
  });

  test("the rest never comes", async (t) => {
    const all = await running(t);
    const { server, session, clock } = all;
    const client = await session(2);
    server.faults.arm(MT5_ACCOUNT, { kind: "fill_in_part", volume: lots("0.04"), restAfterMs: null });
    assert.equal((await client.order(open)).code, 10010);
    clock.pass(3_600_000);
    assert.deepEqual(volumes(all), [lots("0.04")]);
  });

  test("a part as large as the order is the whole of it; a refused one fills nothing later; MT4 fills whole", async (t) => {
    const all = await running(t);
    const { server, session, clock, sink } = all;
    const [mt4, mt5] = [await session(1), await session(2)];
    server.faults.arm(MT5_ACCOUNT, { kind: "fill_in_part", volume: lots("0.10"), restAfterMs: 1000 });
    server.faults.arm(MT4_ACCOUNT, { kind: "fill_in_part", volume: lots("0.04"), restAfterMs: 1000 });
    assert.deepEqual([(await mt5.order(open)).code, (await mt4.order(openOrder())).code], [10009, 0]);
    server.faults.arm(MT5_ACCOUNT, { kind: "fill_in_part", volume: lots("0.04"), restAfterMs: 1000 });
    assert.equal((await mt5.order({ ...open, priceLimit: points(1) })).code, 10004);
    clock.pass(1000);
    assert.deepEqual([volumes(all), volumes(all, MT4_ACCOUNT)], [[lots("0.10")], [lots("0.10")]]);
    assert.equal(entriesOf(sink, "late").length, 0);
    assert.equal(results(mt5.heard), 2);
  });
});
