// Owns the tests of what sessions are told wrong or not at all: half-open ones, changes that are not
// told, changes after answers, snapshots that are empty or of the past.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../protocol/ids.ts";
import type { AccountSnapshot } from "../../../protocol/trades.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import { Past } from "../../../ops/broker/toldSnapshot.ts";
import { closeOrder, EURUSD, lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, points, SUFFIXED } from "./market.ts";
import { entriesOf, running, untilLogged } from "./testServer.ts";
import { RawClient } from "./rawClient.ts";

const LIMIT = { timeout: 20_000 };
const kinds = (client: RawClient): string[] => client.heard.map(({ t }) => t);
const changes = (client: RawClient): string[] => client.changes().map(({ kind }) => kind);
const tickets = ({ positions }: AccountSnapshot): number[] => positions.map(({ ticket }) => ticket);

describe("a server that restarts", LIMIT, () => {
  test("ends every connection and takes none; what was open and what was to happen late is there when it is up again", async (t) => {
    const { server, port, session, call, clock, sink } = await running(t, { answerDelayMs: 130 });
    const [client, caller] = [await session(), await call()];
    const { ticket } = server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
    server.faults.arm(MT4_ACCOUNT, { kind: "execute_late", afterMs: 500, answer: "none" });
    caller.ask(openOrder());
    const other = await session(2);
    await untilLogged(sink, "fault", other);
    server.down();
    await Promise.all([client, caller, other].map((one) => one.closed()));
    await assert.rejects(RawClient.loggedIn(port, 1, "one", "session").then((late) => late.ping()), "nobody is let in");
    server.up();
    clock.pass(500);
    const back = await session();
    assert.equal((await back.snapshot()).positions.length, 2);
    assert.ok(tickets(await back.snapshot()).includes(ticket as Ticket));
    assert.deepEqual(entriesOf(sink, "disconnect").map(({ cause }) => cause).slice(0, 3), Array(3).fill("server restarts"));
  });
});

describe("half-open connections", LIMIT, () => {
  test("an open session falls silent: no pushes, no answers, no pongs; what it asks is done", async (t) => {
    const { server, session, clock, sink } = await running(t);
    const client = await session();
    const other = await session(2);
    server.faults.strike(MT4_ACCOUNT, { kind: "half_open", forMs: 10_000, hears: true });
    client.ask(openOrder());
    await untilLogged(sink, "answer", other);
    server.setQuotes([{ instrument: "eurusd", bid: points(108_600), ask: points(108_610) }]);
    client.send({ t: "ping", id: client.nextId() });
    await other.ping();
    assert.deepEqual(kinds(client), ["welcome"]);
    assert.equal(server.trader(MT4_ACCOUNT).positions().length, 1);
    assert.deepEqual(entriesOf(sink, "answer").map(({ code, notSent }) => [code, notSent]), [[0, "fault: half open"]]);

    clock.pass(10_000);
    await client.ping();
    assert.deepEqual(kinds(client).filter((kind) => kind !== "pong"), ["welcome"], "what was not said is never said");
    assert.deepEqual(entriesOf(sink, "fault").map(({ fault }) => fault.kind), ["half_open", "heal"]);
  });

  test("a deaf one: what is asked never arrives", async (t) => {
    const { server, session, call, sink } = await running(t);
    const [client, caller] = [await session(), await call()];
    server.faults.strike(MT4_ACCOUNT, { kind: "half_open", forMs: null, hears: false });
    client.ask(openOrder());
    caller.ask(openOrder());
    const other = await session(2);
    await other.ping();
    server.faults.strike(MT4_ACCOUNT, { kind: "heal" });
    await Promise.all([client.ping(), caller.ping()]);
    assert.deepEqual([entriesOf(sink, "request"), server.trader(MT4_ACCOUNT).positions()], [[], []]);
  });

  test("a session that comes meanwhile is welcomed and then silent, until it is healed", async (t) => {
    const { server, session } = await running(t);
    server.faults.strike(MT4_ACCOUNT, { kind: "half_open", forMs: null, hears: true });
    const client = await session();
    client.send({ t: "snapshot", id: client.nextId(), historyFromMs: 0 as never });
    const other = await session(2);
    await other.ping();
    assert.deepEqual(kinds(client), ["welcome"]);
    server.faults.strike(MT4_ACCOUNT, { kind: "heal" });
    assert.deepEqual((await client.snapshot()).positions, []);
  });

  test("an answer that comes due while it is silent is lost", async (t) => {
    const { server, session, clock, sink } = await running(t, { answerDelayMs: 130 });
    const client = await session();
    client.ask(openOrder());
    await client.hear("change");
    server.faults.strike(MT4_ACCOUNT, { kind: "half_open", forMs: 1000, hears: true });
    clock.pass(130);
    clock.pass(870);
    await client.ping();
    assert.equal(kinds(client).includes("result"), false);
    assert.equal(entriesOf(sink, "answer")[0]?.notSent, "fault: half open");
  });

  test("a server that stops leaves no timer behind", async (t) => {
    const { server, clock, sink } = await running(t);
    server.faults.strike(MT4_ACCOUNT, { kind: "half_open", forMs: 1000, hears: true });
    await server.close();
    clock.pass(1000);
    assert.deepEqual(entriesOf(sink, "fault").map(({ fault }) => fault.kind), ["half_open"]);
  });
});

test("missed pushes: the next changes happen and are not told, the log says which", LIMIT, async (t) => {
  const { server, session, sink } = await running(t);
  const client = await session();
  server.faults.strike(MT4_ACCOUNT, { kind: "miss_changes", count: 2 });
  const { ticket } = await client.order(openOrder());
  await client.order(closeOrder(ticket as Ticket, lots("0.04")));
  await client.ping();
  assert.deepEqual(changes(client), ["position_opened"], "the open and the closed part were missed, the rest was told");
  assert.deepEqual(entriesOf(sink, "missed").map(({ account, change }) => [account, change]), [[MT4_ACCOUNT, "position_opened"], [MT4_ACCOUNT, "position_closed"]]);
  assert.deepEqual(sink.entries.slice(-8).map(({ kind }) => kind), ["request", "deal", "missed", "answer", "request", "deal", "missed", "answer"]);
});

test("a change that no session was there to hear counts for no missed push", LIMIT, async (t) => {
  const { server, session, sink } = await running(t);
  server.faults.strike(MT4_ACCOUNT, { kind: "miss_changes", count: 1 });
  server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
  assert.equal(entriesOf(sink, "missed").length, 0);
  await session();
  server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
  assert.equal(entriesOf(sink, "missed").length, 1);
});

describe("changes after the answer", LIMIT, () => {
  test("the answer comes first, then the order's changes and those that waited behind them, in order", async (t) => {
    const { server, session, clock } = await running(t, { answerDelayMs: 130 });
    server.broker.setQuirk(MT5_ACCOUNT, { answerFirst: true });
    const client = await session(2);
    client.ask(openOrder({ symbol: SUFFIXED, stopLoss: points(10_840) }));
    await client.ping();
    server.setQuotes([{ instrument: "eurusd", bid: points(108_300), ask: points(108_310) }]);
    await client.ping();
    assert.deepEqual(changes(client), []);
    clock.pass(130);
    await client.hear("change", ({ change }) => change.kind === "position_closed");
    assert.deepEqual(kinds(client).filter((kind) => kind === "result" || kind === "change"), ["result", "change", "change"]);
    assert.deepEqual(changes(client), ["position_opened", "position_closed"]);
  });

  test("with two orders under way they come after the later answer", async (t) => {
    const { server, session, clock } = await running(t, { answerDelayMs: 130 });
    server.broker.setQuirk(MT4_ACCOUNT, { answerFirst: true });
    const client = await session();
    client.ask(openOrder());
    await client.ping();
    clock.pass(100);
    client.ask(openOrder());
    await client.ping();
    clock.pass(30);
    await client.hear("result");
    await client.ping();
    assert.deepEqual(changes(client), []);
    clock.pass(100);
    await client.hear("change", () => client.changes().length === 2);
    assert.deepEqual(kinds(client).filter((kind) => kind !== "pong"), ["welcome", "result", "result", "change", "change"]);
  });

  for (const fault of [{ kind: "hang", execute: true }, { kind: "refuse", refusal: "no_money" }] as const) {
    test(`an order that meets ${fault.kind} holds nothing back`, async (t) => {
      const { server, session } = await running(t);
      server.broker.setQuirk(MT4_ACCOUNT, { answerFirst: true });
      server.faults.arm(MT4_ACCOUNT, fault);
      const client = await session();
      client.ask(openOrder());
      await client.ping();
      await client.order(openOrder());
      await client.ping();
      assert.equal(changes(client).length, fault.kind === "hang" ? 2 : 1);
    });
  }

  test("what is held is for the session that was there: a later one has it in its snapshot", async (t) => {
    const { server, session, call, clock } = await running(t, { answerDelayMs: 130 });
    server.broker.setQuirk(MT4_ACCOUNT, { answerFirst: true });
    const [first, caller] = [await session(), await call()];
    caller.ask(openOrder());
    await caller.ping();
    const second = await session();
    await first.closed();
    clock.pass(130);
    await caller.hear("result");
    assert.equal((await second.snapshot()).positions.length, 1);
    assert.deepEqual(changes(second), []);
  });

  test("what is held is bounded: when it is too much it is told before the answer", async (t) => {
    const { server, session } = await running(t, { answerDelayMs: 130 });
    server.broker.setQuirk(MT4_ACCOUNT, { answerFirst: true });
    const client = await session();
    client.ask(openOrder());
    await client.ping();
    const trader = server.trader(MT4_ACCOUNT);
    const [position] = trader.positions();
    for (let n = 1; n < 10_000; n += 1) trader.modify(position?.ticket as Ticket, { stopLoss: points(108_000 - (n % 2)), takeProfit: null });
    await client.ping();
    assert.deepEqual([changes(client).length, kinds(client).includes("result")], [10_000, false]);
  });

  test("a cut in place of the answer lets the changes go to the session", async (t) => {
    const { server, session, call } = await running(t);
    server.broker.setQuirk(MT4_ACCOUNT, { answerFirst: true });
    const [client, caller] = [await session(), await call()];
    server.faults.arm(MT4_ACCOUNT, { kind: "lose_answer" });
    caller.ask(openOrder());
    await caller.closed();
    assert.equal((await client.hear("change")).change.kind, "position_opened");
  });
});

describe("snapshots after a login", LIMIT, () => {
  test("unsynced and empty for a while after each login, then the truth", async (t) => {
    const { server, session, clock } = await running(t);
    const { ticket } = server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
    server.broker.setQuirk(MT4_ACCOUNT, { snapshots: { kind: "unsynced", forMs: 3000 } });
    for (let login = 0; login < 2; login += 1) {
      const client = await session();
      clock.pass(2999);
      const loading = await client.snapshot();
      assert.deepEqual([loading.synced, tickets(loading), loading.takenAtMs], [false, [], clock.nowMs]);
      clock.pass(1);
      const loaded = await client.snapshot();
      assert.deepEqual([loaded.synced, tickets(loaded)], [true, [ticket]]);
    }
  });

  test("a lie: empty, history and all, and said to be synced", async (t) => {
    const { server, session, clock } = await running(t);
    const trader = server.trader(MT4_ACCOUNT);
    trader.close(trader.open({ symbol: EURUSD, side: "buy", volume: lots("0.10") }).left as Ticket);
    const { ticket } = trader.open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
    server.broker.setQuirk(MT4_ACCOUNT, { snapshots: { kind: "empty", forMs: 3000 } });
    const client = await session();
    assert.deepEqual(await client.snapshot(), { account: MT4_ACCOUNT, takenAtMs: clock.nowMs, synced: true, positions: [], pendings: [], closed: [], removed: [] });
    clock.pass(3000);
    assert.deepEqual(tickets(await client.snapshot()), [ticket]);
  });

  test("a lie: the account as it was a while ago, said to be synced and taken now", async (t) => {
    const { server, session, clock } = await running(t);
    const trader = server.trader(MT4_ACCOUNT);
    const open = (): Ticket => trader.open({ symbol: EURUSD, side: "buy", volume: lots("0.10") }).left as Ticket;
    const old = open();
    clock.pass(60_000);
    server.broker.setQuirk(MT4_ACCOUNT, { snapshots: { kind: "stale", ageMs: 5000, forMs: null } });
    const client = await session();
    clock.pass(1000);
    trader.close(old);
    const second = open();
    clock.pass(2000);
    const third = open();
    const told = async (): Promise<unknown[]> => {
      const snapshot = await client.snapshot();
      return [snapshot.synced && snapshot.takenAtMs === clock.nowMs, tickets(snapshot), snapshot.closed.map(({ position }) => position.ticket)];
    };
    assert.deepEqual(await told(), [true, [old], []], "never older than the quirk");
    clock.pass(2999);
    assert.deepEqual(await told(), [true, [old], []]);
    clock.pass(1);
    assert.deepEqual(await told(), [true, [second], [old]]);
    clock.pass(2000);
    assert.deepEqual(await told(), [true, [second, third], [old]]);
    const fourth = open();
    assert.deepEqual(await told(), [true, [second, third], [old]]);
    server.broker.setQuirk(MT4_ACCOUNT, { snapshots: null });
    assert.deepEqual(await told(), [true, [second, third, fourth], [old]]);
  });

  test("the past that is kept is bounded: past that it begins later", () => {
    const standing = (sinceMs: number) => ({ sinceMs: sinceMs as BrokerMs, positions: [], pendings: [] });
    const past = new Past(600_000, standing(0));
    for (let ms = 1; ms <= 10_100; ms += 1) past.keep(standing(ms));
    assert.deepEqual([past.at(0 as BrokerMs).sinceMs, past.at(9_000 as BrokerMs).sinceMs], [101, 9_000]);
  });

  test("they say nothing of another account, and the broker itself knows the truth", async (t) => {
    const { server, session } = await running(t);
    server.broker.setQuirk(MT4_ACCOUNT, { snapshots: { kind: "empty", forMs: null } });
    const { ticket } = server.trader(MT5_ACCOUNT).open({ symbol: SUFFIXED, side: "buy", volume: lots("0.10") });
    assert.deepEqual(tickets(await (await session(2)).snapshot()), [ticket]);
    server.trader(MT4_ACCOUNT).open({ symbol: EURUSD, side: "buy", volume: lots("0.10") });
    assert.equal(server.broker.snapshot(MT4_ACCOUNT, 0 as never).positions.length, 1);
  });
});
