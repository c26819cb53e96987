// Owns the tests of the trader's hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLockstepError } from "../../../protocol/errors.ts";
import { accountId, type Ticket } from "../../../protocol/ids.ts";
import { EURUSD, lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, points, SUFFIXED } from "./market.ts";
import { entriesOf, running } from "./testServer.ts";

describe("the trader's hand", { timeout: 20_000 }, () => {
  test("does everything at once, and the account's session is told", async (t) => {
    const { server, session } = await running(t);
    const client = await session();
    const trader = server.trader(MT4_ACCOUNT);
    const opened = trader.open({ symbol: EURUSD, side: "sell", volume: lots("0.10"), comment: "by hand" });
    assert.deepEqual([opened.code, opened.price], [0, 108_500]);
    const ticket = opened.ticket as Ticket;
    trader.modify(ticket, { stopLoss: points(109_000), takeProfit: null });
    const rest = trader.partClose(ticket, lots("0.03")).left as Ticket;
    assert.notEqual(rest, ticket);
    assert.deepEqual(trader.positions().map((position) => [position.ticket, position.volume]), [[rest, lots("0.07")]]);
    trader.close(rest);
    const pending = trader.place({ symbol: EURUSD, pending: "buy_stop", volume: lots("0.10"), price: points(109_000) }).ticket as Ticket;
    trader.change(pending, points(109_500), { stopLoss: null, takeProfit: null });
    trader.cancel(pending);
    assert.deepEqual([trader.positions(), trader.pendings()], [[], []]);

    await client.hear("change", ({ change }) => change.kind === "pending_removed");
    assert.deepEqual(client.changes().map(({ kind }) => kind), [
      "position_opened",
      "position_changed",
      "position_closed",
      "position_opened",
      "position_closed",
      "pending_placed",
      "pending_changed",
      "pending_removed",
    ]);
  });

  test("sees the account's own quotes, and is logged as the trader, with an answer", async (t) => {
    const { server, sink } = await running(t);
    const trader = server.trader(MT5_ACCOUNT);
    assert.deepEqual([trader.quote(SUFFIXED)?.bid, trader.quote(EURUSD)], [10_850, null]);
    trader.open({ symbol: SUFFIXED, side: "buy", volume: lots("0.10") });
    const [request] = entriesOf(sink, "request");
    const [answer] = entriesOf(sink, "answer");
    assert.deepEqual([request?.by, request?.digits], [{ kind: "trader" }, 4]);
    assert.deepEqual([answer?.requestN, answer?.code, answer?.notSent], [request?.n, 10009, null]);
  });

  test("closes a follower's copy, whole or in part, and the log tells it from the copier's own orders", async (t) => {
    const { server, session, sink } = await running(t);
    const client = await session();
    const [whole, part] = [await client.order(openOrder()), await client.order(openOrder())];
    const trader = server.trader(MT4_ACCOUNT);
    trader.close(whole.ticket as Ticket);
    trader.partClose(part.ticket as Ticket, lots("0.04"));
    const requests = new Map(entriesOf(sink, "request").map(({ n, by }) => [n, by.kind]));
    const deals = entriesOf(sink, "deal").map(({ deal, causeN }) => [deal, requests.get(causeN ?? 0)]);
    assert.deepEqual(deals, [["opened", "connection"], ["opened", "connection"], ["closed", "trader"], ["part_closed", "trader"]]);
  });

  test("is refused like anybody else", async (t) => {
    const { server } = await running(t);
    const trader = server.trader(MT4_ACCOUNT);
    assert.deepEqual((({ code, refusal }) => [code, refusal])(trader.open({ symbol: EURUSD, side: "buy", volume: lots("0.001") })), [131, "invalid_volume"]);
    assert.equal(trader.close(12 as Ticket).code, 4108);
    assert.equal(trader.cancel(12 as Ticket).code, 4108);
  });

  test("a pending expires by the broker's own act", async (t) => {
    const { server, sink } = await running(t);
    const { ticket } = server.trader(MT4_ACCOUNT).place({ symbol: EURUSD, pending: "buy_limit", volume: lots("0.10"), price: points(107_000) });
    assert.equal(server.broker.removePending(MT4_ACCOUNT, ticket as Ticket, "expired"), true);
    assert.equal(server.broker.removePending(MT4_ACCOUNT, ticket as Ticket, "expired"), false);
    const last = entriesOf(sink, "pending").at(-1);
    assert.ok(last?.step === "removed");
    assert.deepEqual([last.removed.reason, last.causeN], ["expired", null]);
  });

  test("an account or instrument the broker does not have, and a bid above the ask, are errors", async (t) => {
    const { server } = await running(t);
    const isInvalid = (error: unknown): boolean => isLockstepError(error, "invalid_value");
    assert.throws(() => server.trader(accountId("nobody")), isInvalid);
    assert.throws(() => server.setQuotes([{ instrument: "gbpusd", bid: points(1), ask: points(2) }]), isInvalid);
    assert.throws(() => server.setQuotes([{ instrument: "eurusd", bid: points(3), ask: points(2) }]), isInvalid);
  });
});
