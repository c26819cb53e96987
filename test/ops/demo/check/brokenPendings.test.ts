// Owns the tests that pending orders copied wrongly are found, and those that fill are followed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Order } from "../../../../protocol/orders.ts";
import { bendFor, F1, F6, ONE, PENDING, playFilled, playPending, staged, type Played } from "./script.ts";
import { brokenRules, EUR, lots, points } from "./theatre.ts";

function played(bend: (order: Order) => readonly Order[]): Played {
  const one = staged(PENDING);
  one.copier.bend = bendFor(F1, bend);
  playPending(one.theatre);
  return one;
}

const without = (kind: Order["kind"]): string[] => brokenRules(played((order) => (order.kind === kind ? [] : [order])).theatre.report());
const place = { kind: "place", symbol: "eurusd" as never, pending: "buy_limit", volume: lots("0.05"), price: points(108_300), stopLoss: null, takeProfit: null } as const;

describe("a copier of pending orders", () => {
  test("does not place one", () => assert.deepEqual(without("place"), ["missing f1"]));
  test("misses a change of the price", () => assert.deepEqual(without("change"), ["missed-change f1"]));
  test("does not cancel one", () => assert.deepEqual(without("cancel"), ["left-open f1"]));
  test("changes the price to one that the master's never had", () => {
    const rules = brokenRules(played((order) => [order.kind === "change" ? { ...order, price: points(108_100) } : order]).theatre.report());
    assert.deepEqual(rules, ["missed-change f1", "wrong-pending f1"]);
  });
  test("places another kind", () => {
    const rules = brokenRules(played((order) => [order.kind === "place" ? { ...order, pending: "sell_stop" } : order]).theatre.report());
    assert.deepEqual(rules, ["row-wrong f1", "wrong-pending f1", "wrong-side f1"]);
  });
  test("places another volume", () => {
    assert.deepEqual(brokenRules(played((order) => [order.kind === "place" ? { ...order, volume: lots("0.20") } : order]).theatre.report()), ["wrong-volume f1"]);
  });
  test("cancels one early", () => {
    const { theatre } = staged(PENDING);
    const pending = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
    theatre.rest();
    const copy = [...theatre.broker.pendings(F1).values()][0] ?? assert.fail();
    theatre.askPlainly(F1, { kind: "cancel", ticket: copy.ticket, symbol: copy.symbol });
    theatre.change(pending, 108_200);
    theatre.rest();
    theatre.cancel(pending);
    theatre.rest();
    assert.deepEqual(brokenRules(theatre.report()), ["closed-early f1"]);
  });
  test("places one although the link copies none", () => {
    const { theatre } = staged(PENDING);
    const pending = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
    theatre.rest();
    const ticket = theatre.askPlainly(F6, { ...place, magic: 7005 as never, comment: `mc${pending}` }).left ?? assert.fail();
    theatre.change(pending, 108_200);
    theatre.askPlainly(F6, { kind: "change", ticket, symbol: place.symbol, price: points(108_200), stopLoss: null, takeProfit: null });
    theatre.rest();
    theatre.cancel(pending);
    theatre.askPlainly(F6, { kind: "cancel", ticket, symbol: place.symbol });
    theatre.rest();
    assert.deepEqual(brokenRules(theatre.report()), ["row-missing f6", "skip-with-copy f6", "wrong-pending f6"]);
  });
});

/** No statement has such a trade, so only what is said of followers counts here. */
const ofFollowers = ({ theatre }: Played): string[] => brokenRules(theatre.report()).filter((rule) => !rule.endsWith(" -"));

describe("a pending order that stands at the end", () => {
  const standing = (deaf: typeof F1): string[] => {
    const one = staged(ONE);
    one.copier.deaf.add(deaf);
    one.theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
    one.theatre.rest();
    return ofFollowers(one);
  };
  test("needs no word where pendings are off: it may fill yet", () => assert.deepEqual(standing(F6), []));
  test("is missed where they are on", () => assert.deepEqual(standing(F1), ["missing f1"]));
  test("that ends while no copier runs is unheard where pendings are off, and missed where its end could be heard", () => {
    const one = staged(ONE);
    const { theatre } = one;
    one.copier.deaf.add(F6);
    const pending = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
    theatre.pass(3_000);
    const fromMs = theatre.nowMs;
    theatre.cancel(pending);
    theatre.pass(1_000);
    const outages = [{ fromMs, toMs: theatre.nowMs }];
    theatre.rest();
    const ofF6 = (more: Parameters<typeof theatre.report>[0]): string[] => brokenRules(theatre.report(more)).filter((rule) => rule.endsWith("f6"));
    assert.deepEqual([ofF6({ outages }), ofF6({})], [[], ["missing f6"]]);
  });
});

describe("a pending order that fills", () => {
  test("is one copy, as a pending and as its position; where pendings are off its skip does not excuse it", () => {
    const one = staged(ONE);
    playFilled(one.theatre);
    assert.deepEqual(ofFollowers(one), ["missing f6"]);
    assert.equal(one.theatre.report().followers[0]?.copied, 1);
  });
  test("may be copied at the market where pendings are off, beside its skip", () => {
    const one = staged(ONE);
    const { theatre } = one;
    const pending = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
    theatre.rest();
    theatre.quote(EUR, 108_300);
    const { left } = theatre.askPlainly(F6, { kind: "open", symbol: place.symbol, side: "buy", volume: lots("0.05"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7005 as never, comment: `mc${pending}` });
    theatre.rest();
    theatre.closeAll();
    theatre.askPlainly(F6, { kind: "close", ticket: left ?? assert.fail(), symbol: place.symbol, volume: lots("0.05"), part: false });
    theatre.rest();
    assert.deepEqual(ofFollowers(one), ["row-missing f6"]);
  });
});
