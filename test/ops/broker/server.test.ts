// Owns the tests of the broker's server on real sockets: logins, sessions and calls, pushes, the
// answer delay, the flood bound, clocks, digits and tickets.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountId, symbolName } from "../../../protocol/ids.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import { closeOrder, EURUSD, lots, MT4_ACCOUNT, MT5_ACCOUNT, mt4Account, mt5Account, openOrder, placeOrder, points, SUFFIXED, symbolAs } from "./market.ts";
import { RawClient } from "./rawClient.ts";
import { entriesOf, running, untilLogged } from "./testServer.ts";

const LIMIT = { timeout: 20_000 };
const quote = (bid: number, ask: number) => [{ instrument: "eurusd", bid: points(bid), ask: points(ask) }];

describe("logins", LIMIT, () => {
  test("a welcome names account, platform, clock, symbols and quotes, in the account's own spelling and digits", async (t) => {
    const { port, clock } = await running(t);
    const client = await RawClient.connect(port);
    const welcome = await client.login(2, "two", "session");
    assert.deepEqual(welcome, {
      t: "welcome",
      id: 1,
      account: MT5_ACCOUNT,
      platform: "mt5",
      brokerMs: clock.nowMs,
      symbols: [{ symbol: SUFFIXED, digits: 4, volumeMin: lots("0.01"), volumeStep: lots("0.01"), volumeMax: lots("10"), stopLevelPoints: 10 }],
      quotes: [{ symbol: SUFFIXED, bid: 10_850, ask: 10_851, atMs: clock.nowMs }],
    });
    client.socket.destroy();
  });

  for (const [what, login, password] of [["an unknown login", 3, "one"], ["a wrong password", 1, "two"]] as const) {
    test(`${what} is answered bad_login and closed`, async (t) => {
      const { port, sink } = await running(t);
      const client = await RawClient.connect(port);
      client.send({ t: "login", id: 9, login, password, channel: "session" });
      assert.deepEqual((({ id, code }) => [id, code])(await client.hear("error")), [9, "bad_login"]);
      await client.closed();
      const [entry] = entriesOf(sink, "login");
      assert.ok(entry !== undefined && entry.refused !== null);
      assert.equal(JSON.stringify(sink.entries).includes(`"${password}"`), false, "no password in the log");
    });
  }

  for (const [what, client, logged] of [["its name", "n1/boot#7", "n1/boot#7"], ["null where it has none", undefined, null]] as const) {
    test(`how a client named itself is in the log: ${what}`, async (t) => {
      const { port, sink } = await running(t);
      const raw = await RawClient.connect(port);
      raw.send({ t: "login", id: 1, login: 1, password: "one", channel: "session", ...(client === undefined ? {} : { client }) });
      await raw.hear("welcome");
      assert.deepEqual(entriesOf(sink, "login").map((entry) => entry.client), [logged]);
      raw.socket.destroy();
    });
  }

  test("a client's name beyond 160 characters is malformed", async (t) => {
    const { port } = await running(t);
    const client = await RawClient.connect(port);
    client.send({ t: "login", id: 1, login: 1, password: "one", channel: "session", client: "x".repeat(161) });
    assert.equal((await client.hear("error")).code, "malformed");
    await client.closed();
  });

  test("anything before a login is answered not_logged_in and closed", async (t) => {
    const { port } = await running(t);
    const client = await RawClient.connect(port);
    client.send({ t: "ping", id: 4 });
    assert.deepEqual((({ id, code }) => [id, code])(await client.hear("error")), [4, "not_logged_in"]);
    await client.closed();
  });

  test("a second login on one connection is refused", async (t) => {
    const { call } = await running(t);
    const client = await call();
    client.send({ t: "login", id: 5, login: 1, password: "one", channel: "call" });
    assert.equal((await client.hear("error")).code, "malformed");
    await client.closed();
  });

  test("a connection that never logs in is dropped", async (t) => {
    const { port, clock } = await running(t);
    const client = await RawClient.connect(port);
    while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.pass(10_000);
    assert.equal((await client.hear("error")).code, "not_logged_in");
    await client.closed();
  });

  test("a second session of a login kicks the first; calls and other accounts stay", async (t) => {
    const { session, call } = await running(t);
    const [first, one, two, other] = [await session(), await call(), await call(), await session(2)];
    const second = await session();
    await first.hear("kicked");
    await first.closed();
    await Promise.all([second, one, two, other].map((client) => client.ping()));
  });
});

describe("channels", LIMIT, () => {
  test("changes and quotes go to the session, never to a call channel", async (t) => {
    const { server, session, call } = await running(t);
    const [watcher, caller] = [await session(), await call()];
    await caller.order(openOrder());
    server.setQuotes(quote(108_600, 108_610));
    await watcher.hear("quotes");
    await watcher.ping();
    await caller.ping();
    assert.deepEqual(watcher.changes().map(({ kind }) => kind), ["position_opened"]);
    assert.deepEqual(caller.heard.map(({ t: kind }) => kind), ["welcome", "result", "pong"]);
  });

  test("a call channel that ends takes nothing from the session", async (t) => {
    const { session, call, sink } = await running(t);
    const [watcher, caller] = [await session(), await call()];
    caller.socket.end();
    await untilLogged(sink, "disconnect", watcher);
    await watcher.order(openOrder());
    assert.deepEqual(watcher.changes().map(({ kind }) => kind), ["position_opened"]);
  });

  test("one account's changes are not told to another", async (t) => {
    const { session } = await running(t);
    const [mine, theirs] = [await session(1), await session(2)];
    await mine.order(openOrder());
    await theirs.ping();
    assert.deepEqual(theirs.changes(), []);
  });

  test("a quote is told before the change it causes", async (t) => {
    const { server, session } = await running(t);
    const client = await session();
    await client.order(openOrder({ stopLoss: points(108_400) }));
    server.setQuotes(quote(108_300, 108_310));
    await client.hear("change", ({ change }) => change.kind === "position_closed");
    assert.deepEqual(client.heard.slice(-2).map(({ t: kind }) => kind), ["quotes", "change"]);
  });

  test("MT4: a part-close is told as a close under the old ticket and an open under the new", async (t) => {
    const { session } = await running(t);
    const client = await session(1);
    const { ticket } = await client.order(openOrder());
    assert.ok(ticket !== null);
    const result = await client.order(closeOrder(ticket, lots("0.04")));
    assert.deepEqual([result.code, result.ticket, result.volume], [0, null, lots("0.04")]);
    const [, closed, opened] = client.changes();
    assert.ok(closed?.kind === "position_closed" && opened?.kind === "position_opened");
    assert.equal(closed.closed.position.ticket, ticket);
    assert.equal(closed.closed.position.comment, `to #${opened.position.ticket}`);
    assert.equal(opened.position.comment, `from #${ticket}`);
  });

  test("MT5: a part-close is told as a change of volume under the same ticket", async (t) => {
    const { session } = await running(t);
    const client = await session(2);
    const { ticket } = await client.order(openOrder({ symbol: SUFFIXED }));
    assert.ok(ticket !== null);
    const result = await client.order(closeOrder(ticket, lots("0.04"), SUFFIXED));
    assert.deepEqual([result.code, result.ticket], [10009, ticket]);
    const [, changed] = client.changes();
    assert.ok(changed?.kind === "position_changed");
    assert.deepEqual([changed.position.ticket, changed.position.volume, changed.position.comment], [ticket, lots("0.06"), "mc42"]);
  });

  test("a pending is told from its placing to its fill", async (t) => {
    const { server, session } = await running(t);
    const client = await session();
    const { ticket } = await client.order(placeOrder());
    assert.ok(ticket !== null);
    await client.order({ kind: "change", ticket, symbol: EURUSD, price: points(107_500), stopLoss: null, takeProfit: null });
    server.setQuotes(quote(107_490, 107_500));
    const { change } = await client.hear("change", (message) => message.change.kind === "pending_filled");
    assert.ok(change.kind === "pending_filled");
    assert.deepEqual([change.pendingTicket, change.position.ticket, change.position.openPrice], [ticket, ticket, 107_500]);
    assert.deepEqual(client.changes().map(({ kind }) => kind), ["pending_placed", "pending_changed", "pending_filled"]);
  });

  test("a snapshot has what is open, and the history from the asked time on", async (t) => {
    const { session, clock } = await running(t);
    const client = await session();
    const early = await client.order(openOrder());
    await client.order(closeOrder(early.ticket as never, lots("0.10")));
    clock.pass(1000);
    const late = await client.order(openOrder());
    await client.order(closeOrder(late.ticket as never, lots("0.10")));
    const held = await client.order(openOrder());
    const all = await client.snapshot();
    assert.deepEqual(all.positions.map(({ ticket }) => ticket), [held.ticket]);
    assert.deepEqual(all.closed.map(({ position }) => position.ticket), [early.ticket, late.ticket]);
    assert.deepEqual([all.account, all.synced, all.takenAtMs], [MT4_ACCOUNT, true, clock.nowMs]);
    assert.deepEqual((await client.snapshot(clock.nowMs)).closed.map(({ position }) => position.ticket), [late.ticket]);
  });
});

describe("answers", LIMIT, () => {
  test("an order is executed and told on arrival; its answer waits for the delay", async (t) => {
    const { session, clock } = await running(t, { answerDelayMs: 130 });
    const client = await session();
    const id = client.ask(openOrder());
    await client.hear("change");
    clock.pass(129);
    await client.ping();
    assert.equal(client.heard.some(({ t: kind }) => kind === "result"), false);
    clock.pass(1);
    assert.equal((await client.hear("result")).id, id);
  });

  test("one more than the allowed unanswered orders of an account is a flood: refused, closed, not executed", async (t) => {
    const { server, session, call, sink } = await running(t, { answerDelayMs: 130, maxUnanswered: 3 });
    const [client, caller] = [await session(), await call()];
    for (let n = 0; n < 2; n += 1) client.ask(openOrder());
    caller.ask(openOrder());
    await client.hear("change", () => client.changes().length === 3);
    const id = client.ask(openOrder());
    const error = await client.hear("error");
    assert.deepEqual([error.id, error.code], [id, "flood"]);
    await client.closed();
    assert.equal(server.trader(MT4_ACCOUNT).positions().length, 3);
    assert.equal(entriesOf(sink, "request").length, 3);
  });

  test("answered orders, and those of a connection that is gone, no longer count for the flood", async (t) => {
    const { session, clock, sink } = await running(t, { answerDelayMs: 130, maxUnanswered: 1 });
    const first = await session();
    first.ask(openOrder());
    await first.hear("change");
    clock.pass(130);
    await first.hear("result");
    first.ask(openOrder());
    await first.hear("change", () => first.changes().length === 2);
    first.socket.destroy();
    const second = await session();
    await untilLogged(sink, "disconnect", second);
    second.ask(openOrder());
    await second.hear("change");
    assert.deepEqual(entriesOf(sink, "answer").map(({ notSent }) => notSent === null), [true, false]);
  });

  test("the broker's clock is the time base plus the server's offset", async (t) => {
    const threeHoursMs = 10_800_000;
    const { session, sink } = await running(t, { timeBaseMs: () => 5000.7, clockOffsetMs: threeHoursMs });
    const client = await session();
    assert.equal((await client.ping()).brokerMs, threeHoursMs + 5000);
    await client.order(openOrder());
    assert.equal((await client.snapshot()).positions[0]?.openTimeMs, threeHoursMs + 5000);
    assert.equal(sink.entries.at(-1)?.atMs, threeHoursMs + 5000);
  });
});

describe("accounts of one server", LIMIT, () => {
  test("one price reaches each account in its own symbol and digits, rounded half up", async (t) => {
    const { server, session } = await running(t);
    const [mt4, mt5] = [await session(1), await session(2)];
    server.setQuotes(quote(108_604, 108_615));
    const pushed = [await mt4.hear("quotes"), await mt5.hear("quotes")].map(({ quotes }) => quotes.map(({ symbol, bid, ask }) => [symbol, bid, ask]));
    assert.deepEqual(pushed, [[[EURUSD, 108_604, 108_615]], [[SUFFIXED, 10_860, 10_862]]]);
  });

  test("tickets rise over the accounts of one company and platform, none below an account's first, the same in every run", async (t) => {
    const second = { ...mt4Account, account: accountId("mt4-2"), login: 4, firstTicket: 5000 };
    const elsewhere = { ...mt4Account, account: accountId("mt4-3"), login: 5, company: "Others" };
    const accounts = [mt4Account, second, elsewhere, mt5Account];
    const tickets = async (): Promise<number[]> => {
      const { server } = await running(t, { accounts });
      return [mt4Account, second, mt4Account, elsewhere].map(({ account }) => server.trader(account).open(openOrder()).ticket ?? 0);
    };
    const drawn = await tickets();
    const [first = 0, later = 0, last = 0, other = 0] = drawn;
    assert.equal(first >= 1000 && first < 5000, true);
    assert.equal(later >= 5000 && last > later, true);
    assert.equal(other < 5000, true, "another company has a series of its own");
    assert.deepEqual(await tickets(), drawn);
  });

  test("MT4 tickets stay within 32 bits; when they are used up orders are refused", async (t) => {
    const { server } = await running(t, { accounts: [{ ...mt4Account, firstTicket: 0x7fff_ffff }] });
    assert.equal(server.trader(MT4_ACCOUNT).open(openOrder()).ticket, 0x7fff_ffff);
    assert.equal(server.trader(MT4_ACCOUNT).open(openOrder()).refusal, "too_many_positions");
  });

  const faulty = [
    ["the same account twice", [mt4Account, { ...mt5Account, account: MT4_ACCOUNT }], /account mt4-1 is there twice/],
    ["the same login twice", [mt4Account, { ...mt5Account, login: 1 }], /login 1 of account mt5-1 is there twice/],
    ["a symbol twice", [{ ...mt4Account, symbols: [symbolAs(EURUSD, 5), symbolAs(EURUSD, 4)] }], /account mt4-1, symbol EURUSD is there twice/],
    ["an instrument that is not there", [{ ...mt4Account, symbols: [symbolAs(symbolName("X"), 5, { instrument: "x" })] }], /symbol X: no instrument "x"/],
    ["a grid of nothing", [{ ...mt4Account, symbols: [symbolAs(EURUSD, 5, { volumeStep: lots("0") })] }], /symbol EURUSD: volumes/],
  ] as const;
  for (const [what, accounts, text] of faulty) {
    test(`${what} is refused when the server is made`, async (t) => {
      await assert.rejects(running(t, { accounts }), (error) => isLockstepError(error, "configuration") && text.test(error.message));
    });
  }

  test("a port that is taken is a clear error", async (t) => {
    const { port } = await running(t);
    await assert.rejects(running(t, {}, port), (error) => isLockstepError(error, "configuration") && error.message.includes(`127.0.0.1:${port}`));
  });
});
