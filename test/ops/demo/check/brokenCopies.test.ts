// Owns the tests that each way of copying wrongly is found, and found as what it is: one follower is
// broken, the other five are honest.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import type { FollowerReport } from "../../../../ops/demo/check/checkDemo.ts";
import { bendFor, F1, F4, F5, closed, ONE, playOne, staged, statementOf, type Played } from "./script.ts";
import { brokenRules, EUR, GBP, lots, points } from "./theatre.ts";

/** ONE played to a copier whose orders for f1 are bent. */
function playedOne(bend: (order: Order) => readonly Order[], options: Parameters<typeof playOne>[1] = {}): Played {
  const played = staged(ONE);
  played.copier.bend = bendFor(F1, bend);
  playOne(played.theatre, options);
  return played;
}

const drops = (kind: Order["kind"]) => (order: Order): readonly Order[] => (order.kind === kind ? [] : [order]);
const isPart = (order: Order): order is Extract<Order, { kind: "close" }> => order.kind === "close" && order.part;

function assertBroken({ theatre }: Played, rules: readonly string[], count: keyof FollowerReport | null = null): void {
  const report = theatre.report();
  assert.deepEqual(brokenRules(report), [...rules].sort());
  assert.equal(report.verdict, "failed");
  if (count !== null) assert.equal(report.followers[0]?.[count], 1);
  for (const { detail } of report.violations) assert.match(detail, /^[^\n]*\d+[^\n]*$/);
}

describe("a copier that opens wrongly", () => {
  test("an order is dropped", () => assertBroken(playedOne(drops("open")), ["missing f1"], "missing"));
  test("an order is doubled", () => {
    const played = staged(statementOf({ positions: [closed(401, EUR, "0.10", { side: "buy", openPrice: points(108_500), closePrice: points(108_500) })] }));
    const { theatre, copier } = played;
    const all = (order: Order): Order[] => [...theatre.broker.positions(F1).keys()].map((ticket) => ({ ...order, ticket }) as Order);
    copier.bend = bendFor(F1, (order) => (order.kind === "open" ? [order, order] : all(order)));
    const ticket = theatre.open(401, EUR, "buy", "0.10");
    theatre.rest();
    theatre.close(ticket);
    theatre.rest();
    assertBroken(played, ["duplicate f1"], "duplicates");
  });
  test("the volume is another", () => assertBroken(playedOne((order) => [order.kind === "open" ? { ...order, volume: lots("0.50") } : order]), ["wrong-volume f1"], "wrongVolume"));
  test("the side is the other", () => assertBroken(playedOne((order) => [order.kind === "open" ? { ...order, side: "sell" } : order]), ["wrong-side f1"]));
  test("the symbol is another", () => {
    const inGbp = (order: Order): Order => ({ ...order, symbol: "gbpusd.r" as typeof order.symbol });
    assertBroken(playedOne((order) => [inGbp(order)]), ["wrong-symbol f1"]);
  });
  test("the price had gone too far", () => {
    const { theatre } = staged(ONE);
    const first = theatre.open(201, EUR, "buy", "0.40");
    theatre.pass(5);
    theatre.quote(EUR, 108_550);
    theatre.rest();
    theatre.close(first);
    theatre.rest();
    const [broken, ...others] = theatre.cast.followers;
    assert.ok(broken !== undefined);
    const strict = { ...broken, link: { ...broken.link, settings: { ...broken.link.settings, slippagePoints: 49 } } };
    const { violations } = theatre.report({ cast: { ...theatre.cast, followers: [strict, ...others] } });
    assert.deepEqual(violations.filter(({ follower }) => follower !== null).map(({ rule, follower }) => `${rule} ${follower}`), ["slippage f1"]);
  });
  test("the trade was over", () => assertBroken(openedLate((theatre) => theatre.rest(), true), ["opened-after-end f1", "row-missing f1"]));
  test("the trade was older than the age limit", () => assertBroken(openedLate((theatre) => theatre.pass(11_000), false), ["opened-too-old f1", "row-missing f1"]));
});

/** f1 hears of nothing; its copy is opened by itself, late, and closed in time. */
function openedLate(wait: (theatre: Played["theatre"]) => void, isOver: boolean): Played {
  const played = staged(statementOf({ positions: [closed(401, EUR, "0.10", { side: "buy", openPrice: points(108_500), closePrice: points(108_500) })] }));
  const { theatre, copier } = played;
  copier.deaf.add(F1);
  const ticket = theatre.open(401, EUR, "buy", "0.10");
  theatre.rest();
  if (isOver) theatre.close(ticket);
  wait(theatre);
  const { left } = theatre.askPlainly(F1, { kind: "open", symbol: "eurusd.r" as never, side: "buy", volume: lots("0.10"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7000 as never, comment: `mc${ticket}` });
  theatre.pass(5);
  if (!isOver) theatre.close(ticket);
  theatre.askPlainly(F1, { kind: "close", ticket: left ?? assert.fail(), symbol: "eurusd.r" as never, volume: lots("0.10"), part: false });
  theatre.rest();
  return played;
}

describe("a copier that follows wrongly", () => {
  test("a share is wrong", () => assertBroken(playedOne((order) => [isPart(order) ? { ...order, volume: lots("0.10") } : order]), ["wrong-share f1"], "wrongVolume"));
  test("a part-close is missing", () => assertBroken(playedOne((order) => (isPart(order) ? [] : [order])), ["wrong-share f1"], "wrongVolume"));
  test("a share is right at first, and part-closed again without a reason", () => {
    const played = staged(ONE);
    played.copier.bend = bendFor(F5, (order) => (order.kind === "modify" ? [{ ...order, kind: "close", volume: lots("0.05"), part: true }, order] : [order]));
    playOne(played.theatre);
    assertBroken(played, ["wrong-share f5"]);
  });
  test("a change of a stop is missed", () => assertBroken(playedOne(drops("modify")), ["missed-modify f1"]));
  test("a change of a stop is missed, and the copy stands at the end", () => {
    const { theatre } = playedOne(drops("modify"), { isClosed: false });
    assert.deepEqual(brokenRules(theatre.report()).filter((rule) => !rule.startsWith("master")), ["missed-modify f1"]);
  });
  test("a stop is set where the master never had one", () => {
    assertBroken(playedOne((order) => [order.kind === "modify" ? { ...order, stopLoss: points(107_900) } : order]), ["foreign-level f1", "missed-modify f1"]);
  });
});

describe("a stop that the broker refuses", () => {
  const NEAR = statementOf({ positions: [closed(501, EUR, "0.10", { side: "buy", openPrice: points(108_500), closePrice: points(108_900), stopLoss: points(108_498) })] });

  /** A stop two points away, which f4's broker does not allow until the price has moved. */
  function playNear({ theatre }: Played, awayMs: number): void {
    const ticket = theatre.open(501, EUR, "buy", "0.10");
    theatre.rest();
    theatre.modify(ticket, 108_498, null);
    theatre.rest();
    theatre.quote(EUR, 108_900);
    theatre.pass(awayMs);
    theatre.close(ticket);
    theatre.rest();
  }

  test("is asked for until it is accepted: nothing is broken", () => {
    const played = staged(NEAR);
    playNear(played, 3000);
    assert.deepEqual(played.theatre.report().violations, []);
  });
  test("is not asked for again, while it could not be had: nothing is broken", () => {
    const played = staged(NEAR);
    played.copier.bend = bendFor(F4, askOnce());
    playNear(played, 100);
    assert.deepEqual(played.theatre.report().violations, []);
  });
  test("is not asked for again when it could be had", () => {
    const played = staged(NEAR);
    played.copier.bend = bendFor(F4, askOnce());
    playNear(played, 3000);
    assert.deepEqual(brokenRules(played.theatre.report()), ["missed-modify f4"]);
  });
  test("was refused although it was allowed: the refusal is not believed", () => {
    const played = staged(ONE);
    const { theatre, copier } = played;
    copier.bend = bendFor(F1, (order) => {
      if (order.kind === "modify") theatre.askPlainly(F1, order, "invalid_stops");
      return order.kind === "modify" ? [] : [order];
    });
    playOne(theatre);
    assertBroken(played, ["missed-modify f1"]);
  });

  function askOnce(): (order: Order) => readonly Order[] {
    let asked = 0;
    return (order) => (order.kind === "modify" && asked++ > 0 ? [] : [order]);
  }
});

describe("a copier that ends wrongly", () => {
  const isWhole = (order: Order): boolean => order.kind === "close" && !order.part;

  test("the copy is left open", () => assertBroken(playedOne((order) => (isWhole(order) ? [] : [order])), ["left-open f1"]));
  test("the copy is closed late", () => {
    const played = playedOne((order) => (isWhole(order) ? [] : [order]));
    closeCopy(played);
    assertBroken(played, ["closed-late f1"]);
  });
  test("the copy is closed early", () => {
    const played = staged(ONE);
    const { theatre } = played;
    const first = theatre.open(201, EUR, "buy", "0.40");
    theatre.rest();
    closeCopy(played);
    const rest = theatre.partClose(first, "0.20");
    theatre.rest();
    theatre.modify(rest, 108_000, null);
    theatre.rest();
    theatre.close(rest);
    theatre.rest();
    assertBroken(played, ["closed-early f1"]);
  });
  test("something is asked of the copy when it is over", () => {
    const played = playedOne((order) => [order]);
    played.theatre.askPlainly(F1, { kind: "close", ticket: lastClosed(played), symbol: "eurusd.r" as never, volume: lots("0.20"), part: false });
    assertBroken(played, ["request-after-end f1"]);
  });
  test("a stop closed the copy that no quote had reached", () => {
    const { theatre } = playedOne((order) => [order]);
    const ticket = lastClosed({ theatre });
    const log = theatre.sink.entries.map((entry) =>
      entry.kind === "deal" && entry.deal === "closed" && entry.closed.position.ticket === ticket ? { ...entry, closed: { ...entry.closed, reason: "stop_loss" as const } } : entry,
    );
    assert.ok(brokenRules(theatre.report({ log })).includes("stop-not-reached f1"));
  });

  function closeCopy({ theatre }: Played): void {
    const copy = [...theatre.broker.positions(F1).values()][0] ?? assert.fail();
    theatre.askPlainly(F1, { kind: "close", ticket: copy.ticket, symbol: copy.symbol, volume: copy.volume, part: false });
    theatre.rest();
  }

  function lastClosed({ theatre }: Pick<Played, "theatre">): Ticket {
    const closedCopies = theatre.sink.entries.flatMap((entry) => (entry.kind === "deal" && entry.deal === "closed" && entry.account === F1 ? [entry.closed.position.ticket] : []));
    return closedCopies.at(-1) ?? assert.fail();
  }
});

describe("orders that are not Lockstep's to send", () => {
  const open = (more: Partial<Extract<Order, { kind: "open" }>>): Order => ({ kind: "open", symbol: "gbpusd.r" as never, side: "buy", volume: lots("0.01"), priceLimit: null, stopLoss: null, takeProfit: null, magic: 7000 as never, comment: "mc1000001", ...more });

  for (const [name, order] of [
    ["without a tag", open({ comment: "" })],
    ["with a tag that is not whole", open({ comment: "mc1000001x" })],
    ["with another link's magic", open({ magic: 7001 as never })],
    ["of a trade that the master does not have", open({ comment: "mc12" })],
    ["of a ticket that nobody has", { kind: "close", ticket: 12 as Ticket, symbol: "gbpusd.r" as never, volume: lots("0.01"), part: false }],
  ] as const) {
    test(name, () => {
      const played = playedOne((sent) => [sent]);
      played.theatre.askPlainly(F1, order);
      assertBroken(played, ["foreign-order f1"]);
    });
  }
  test("before the master had the trade", () => {
    const played = staged(ONE);
    played.theatre.askPlainly(F1, open({ symbol: "eurusd.r" as never, comment: "mc1000001", volume: lots("0.001") })); // refused, but asked
    playOne(played.theatre);
    assertBroken(played, ["foreign-order f1"]);
  });
  test("on the master", () => {
    const played = playedOne((sent) => [sent]);
    played.theatre.askPlainly(played.theatre.cast.master.account, open({ symbol: GBP, volume: lots("0.001") }));
    assertBroken(played, ["master-touched -"]);
  });
});
