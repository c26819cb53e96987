// Owns the tests of what MT5 adds: a statement's filled pendings, chains under one ticket, stop-outs, and
// the log's positions that grow, get other tickets, or stand again.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { FilledPending, Statement } from "../../../../ops/statement/model.ts";
import { bendFor, closed, F1, F5, staged, statementOf, stillOpen, type Played } from "./script.ts";
import { brokenRules, EUR, lots, points, type Theatre } from "./theatre.ts";

const OPENED = points(108_300);

function mt5(lists: Parameters<typeof statementOf>[0], filledPendings: readonly FilledPending[] = []): Statement {
  return { ...statementOf(lists), format: "mt5-html", filledPendings };
}

const filled = (ticket: number, more: Partial<FilledPending> = {}): FilledPending => ({
  ticket: ticket as Ticket, symbol: EUR, digits: 5, volume: lots("0.10"), stopLoss: null, takeProfit: null, magic: null, comment: "", kind: "buy_limit",
  placedTimeMs: 1 as never, price: OPENED, filledTimeMs: 2 as never, filledVolume: lots("0.10"), filledAs: ticket as Ticket, ...more,
});
const bought = (ticket: number, volume: string, more: Partial<ReturnType<typeof closed>> = {}) => closed(ticket, EUR, volume, { side: "buy", openPrice: OPENED, closePrice: OPENED, ...more });

/** A copier that opens at the market where pendings are not copied. */
function stage(statement: Statement): Played {
  const played = staged(statement);
  played.copier.opensFills = true;
  return played;
}

function playFill({ theatre }: Played, { row = 301, price = 108_300 } = {}): Ticket {
  const ticket = theatre.place(row, EUR, "buy_limit", "0.10", price);
  theatre.rest();
  theatre.quote(EUR, 108_300);
  theatre.rest();
  return ticket;
}

function played(statement: Statement, play: (one: Played) => void): string[] {
  const one = stage(statement);
  play(one);
  one.theatre.rest();
  return brokenRules(one.theatre.report());
}

const playFilled = (options: Parameters<typeof playFill>[1] = {}) => (one: Played): void => {
  playFill(one, options);
  one.theatre.closeAll();
};

describe("a pending that the statement says was filled", () => {
  const ONE = mt5({ positions: [bought(301, "0.10")] }, [filled(301)]);

  test("was placed, filled and closed; its copies too, or at the market where pendings are not copied", () => {
    const one = stage(ONE);
    playFilled()(one);
    one.theatre.rest();
    const { violations, followers } = one.theatre.report();
    assert.deepEqual(violations, []);
    assert.deepEqual(followers.map(({ copied, pendings }) => [copied, pendings]), [[1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 0]]);
  });
  test("may be played under the ticket of the trade that it became", () => {
    const other = mt5({ positions: [bought(302, "0.10")] }, [filled(301, { filledAs: 302 as Ticket })]);
    assert.deepEqual([played(other, playFilled()), played(other, playFilled({ row: 302 }))], [[], []]);
  });
  test("was opened at the market instead", () => {
    const rules = played(ONE, ({ theatre }) => {
      theatre.quote(EUR, 108_300);
      const ticket = theatre.open(301, EUR, "buy", "0.10");
      theatre.rest();
      theatre.close(ticket);
    });
    assert.deepEqual(rules, ["master-pending -"]);
  });
  test("was never played", () => assert.deepEqual(played(ONE, () => {}), ["master-missing -"]));
  test("was played, and its trade beside it", () => {
    const rules = played(mt5({ positions: [bought(302, "0.10")] }, [filled(301, { filledAs: 302 as Ticket })]), (one) => {
      playFill(one);
      one.theatre.open(302, EUR, "buy", "0.10");
      one.theatre.rest();
      one.theatre.closeAll();
    });
    assert.deepEqual(rules, ["master-foreign -"]);
  });
  test("was placed and not filled", () => {
    const rules = played(ONE, ({ theatre }) => {
      const ticket = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
      theatre.rest();
      theatre.cancel(ticket);
    });
    assert.deepEqual(rules, ["master-missing -"]);
  });
  for (const [name, more] of [["price", { price: points(108_310) }], ["kind", { kind: "buy_stop" }], ["volume", { volume: lots("0.20"), filledVolume: lots("0.20") }]] as const) {
    test(`stood at another ${name}`, () => assert.deepEqual(played(mt5({ positions: [bought(301, "0.10")] }, [filled(301, more)]), playFilled()), ["master-pending -"]));
  }
  test("was filled in part, and is played as that part", () => {
    assert.deepEqual(played(mt5({ positions: [bought(301, "0.10")] }, [filled(301, { volume: lots("0.30") })]), playFilled()), []);
  });
  test("was filled at a price that its own does not allow: it stands at that one", () => {
    assert.deepEqual(played(mt5({ positions: [bought(301, "0.10")] }, [filled(301, { price: points(108_290) })]), playFilled()), []);
  });
  test("as a trade that is not there: it may be left out, or placed and cancelled, but not filled", () => {
    const lost = mt5({}, [filled(301, { filledAs: null })]);
    const cancels = ({ theatre }: Played): void => {
      const ticket = theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
      theatre.rest();
      theatre.cancel(ticket);
    };
    assert.deepEqual([played(lost, () => {}), played(lost, cancels), played(lost, playFilled())], [[], [], ["master-pending -"]]);
  });
});

describe("a copy of a pending that fills", () => {
  const ONE = mt5({ positions: [bought(301, "0.10")] }, [filled(301)]);
  const ofFollowers = (play: (one: Played) => void): string[] => {
    const one = stage(ONE);
    play(one);
    return brokenRules(one.theatre.report());
  };

  test("is not opened at the market where pendings are not copied", () => {
    const rules = ofFollowers((one) => {
      one.copier.opensFills = false;
      playFilled()(one);
      one.theatre.rest();
    });
    assert.deepEqual(rules, ["missing f6"]);
  });
  test("is taken back when its master fills", () => {
    const rules = ofFollowers((one) => {
      const ticket = one.theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
      one.theatre.rest();
      const copy = [...one.theatre.broker.pendings(F1).values()][0] ?? assert.fail();
      one.theatre.askPlainly(F1, { kind: "cancel", ticket: copy.ticket, symbol: copy.symbol });
      one.theatre.quote(EUR, 108_300);
      one.theatre.rest();
      one.theatre.close(ticket);
      one.theatre.rest();
    });
    assert.deepEqual(rules, ["closed-early f1", "missing f1"]);
  });
  test("was removed by hand: it is over, and the fill brings nothing", () => {
    const rules = ofFollowers((one) => {
      const ticket = one.theatre.place(301, EUR, "buy_limit", "0.10", 108_300);
      one.theatre.rest();
      const copy = [...one.theatre.broker.pendings(F1).values()][0] ?? assert.fail();
      one.theatre.hand(F1).cancel(copy.ticket);
      one.theatre.rest();
      one.theatre.quote(EUR, 108_300);
      one.theatre.rest();
      one.theatre.close(ticket);
      one.theatre.rest();
    });
    assert.deepEqual(rules, ["row-wrong f1"]); // this copier's row says `master_cancelled`
  });
});

describe("an MT5 master", () => {
  const chain = [bought(501, "0.10", { chainTo: 501 as Ticket }), bought(501, "0.20", { chainFrom: 501 as Ticket, chainTo: 501 as Ticket, closeTimeMs: 3 as never }), bought(501, "0.10", { chainFrom: 501 as Ticket, closeTimeMs: 4 as never })];
  const playChain = ({ theatre }: Played): void => {
    theatre.quote(EUR, 108_300);
    const ticket = theatre.open(501, EUR, "buy", "0.40");
    theatre.rest();
    theatre.partClose(ticket, "0.10");
    theatre.rest();
    theatre.partClose(ticket, "0.20");
    theatre.rest();
    theatre.closeAll();
  };

  test("part-closes under one ticket, and its followers with it", () => assert.deepEqual(played(mt5({ positions: chain }), playChain), []));
  test("may not close the parts in another order", () => {
    const [first, second, last] = chain;
    const other = mt5({ positions: [{ ...(first ?? assert.fail()), volume: lots("0.20") }, { ...(second ?? assert.fail()), volume: lots("0.10") }, last ?? assert.fail()] });
    assert.deepEqual(played(other, playChain), ["master-close -"]);
  });
  test("may have a rest open, under the same ticket too", () => {
    const statement = mt5({ positions: chain.slice(0, 1), open: [stillOpen(501, EUR, "0.30", { side: "buy", openPrice: OPENED, marketPrice: OPENED, chainFrom: 501 as Ticket })] });
    const rules = played(statement, ({ theatre }) => {
      theatre.quote(EUR, 108_300);
      theatre.partClose(theatre.open(501, EUR, "buy", "0.40"), "0.10");
    });
    assert.deepEqual(rules, []);
  });
  test("is stopped out, by the broker or by a close in its place", () => {
    const statement = mt5({ positions: [bought(501, "0.40", { closeReason: "stop_out" })] });
    const ends = (close: (theatre: Theatre, ticket: Ticket) => void): string[] =>
      played(statement, ({ theatre }) => {
        theatre.quote(EUR, 108_300);
        const ticket = theatre.open(501, EUR, "buy", "0.40");
        theatre.rest();
        close(theatre, ticket);
      });
    assert.deepEqual([ends((theatre, ticket) => theatre.close(ticket)), ends((theatre, ticket) => void theatre.broker.stopOut(theatre.cast.master.account, ticket))], [[], []]);
  });
  test("has a ticket that is a trade and an order which still works", () => {
    const { filledTimeMs: _at, filledVolume: _volume, filledAs: _as, ...order } = filled(501, { price: points(108_200) });
    const statement = mt5({ positions: [bought(501, "0.40")], working: [{ ...order, marketPrice: null }] });
    const rules = played(statement, ({ theatre }) => {
      theatre.quote(EUR, 108_300);
      theatre.place(501, EUR, "buy_limit", "0.10", 108_200);
      theatre.rest();
      theatre.close(theatre.open(501, EUR, "buy", "0.40"));
      theatre.rest();
    });
    assert.deepEqual(rules.filter((rule) => rule.endsWith(" -")), []);
  });
});

describe("an MT5 copy", () => {
  const SIMPLE = mt5({ positions: [bought(501, "0.40")] });
  const copyOf = ({ theatre }: Played) => [...theatre.broker.positions(F5).values()][0] ?? assert.fail();

  function opened(bend: Played["copier"]["bend"] = (order) => [order]): { readonly one: Played; readonly ticket: Ticket } {
    const one = stage(SIMPLE);
    one.copier.bend = bend;
    one.theatre.quote(EUR, 108_300);
    const ticket = one.theatre.open(501, EUR, "buy", "0.40");
    one.theatre.rest();
    return { one, ticket };
  }

  test("is known by its identifier when server work gives it another ticket", () => {
    const { one, ticket } = opened();
    const copy = copyOf(one);
    const { left } = one.theatre.broker.reticket(F5, copy.ticket);
    assert.notEqual(left, copy.ticket);
    one.copier.bend = bendFor(F5, () => []);
    one.theatre.close(ticket);
    one.theatre.askPlainly(F5, { kind: "close", ticket: left ?? assert.fail(), symbol: copy.symbol, volume: copy.volume, part: false });
    one.theatre.rest();
    assert.deepEqual(brokenRules(one.theatre.report()), ["row-wrong f5"], "this copier does not learn the ticket");
    const rows = one.theatre.rows().map((row) => (row.pair.follower === F5 ? { ...row, pair: { ...row.pair, followerTicket: left, reason: "master_closed" as const } } : row));
    assert.deepEqual(brokenRules(one.theatre.report({ rows })), []);
  });
  test("whose log mixes up identifiers is damaged", () => {
    const { one } = opened();
    one.theatre.broker.reticket(F5, copyOf(one).ticket);
    const log = one.theatre.sink.entries.map((entry) => (entry.kind === "reticketed" ? { ...entry, position: { ...entry.position, identifier: 9 as Ticket } } : entry));
    assert.ok(brokenRules(one.theatre.report({ log })).includes("log-integrity -"));
  });

  /** F5 gets 0.10 of its 0.60 at first. */
  const inPart = bendFor(F5, (order) => [order.kind === "open" ? { ...order, volume: lots("0.10") } : order]);
  function asked(one: Played): Theatre["sink"]["entries"] {
    return one.theatre.sink.entries.map((entry) => (entry.kind === "request" && entry.account === F5 && entry.order.kind === "open" ? { ...entry, order: { ...entry.order, volume: lots("0.60") } } : entry));
  }
  const requestN = (one: Played): number => one.theatre.sink.entries.find((entry) => entry.kind === "request" && entry.account === F5)?.n ?? assert.fail();
  const ofF5 = (one: Played): string[] => brokenRules(one.theatre.report({ log: asked(one) })).filter((rule) => rule.endsWith(" f5") || rule.startsWith("log"));

  test("that was filled in part is less than it should be, and not the copier's fault", () => {
    const { one, ticket } = opened(inPart);
    one.theatre.close(ticket);
    one.theatre.rest();
    assert.deepEqual(ofF5(one), []);
    assert.deepEqual(brokenRules(one.theatre.report()), ["wrong-volume f5"], "as asked for");
  });
  test("grows by the rest of its order", () => {
    const { one, ticket } = opened(inPart);
    one.theatre.broker.fillRest(F5, copyOf(one), lots("0.50"), requestN(one));
    one.theatre.rest();
    assert.equal(copyOf(one).volume, lots("0.60"));
    one.theatre.close(ticket);
    one.theatre.rest();
    assert.deepEqual(ofF5(one), ["row-wrong f5"], "this copier's row has the volume of the first part");
    const rows = one.theatre.rows().map((row) => (row.pair.follower === F5 ? { ...row, pair: { ...row.pair, initialVolume: lots("0.60") } } : row));
    assert.deepEqual(brokenRules(one.theatre.report({ log: asked(one), rows })), []);
  });
  test("that was closed stands again when the rest of its order fills: the same copy, left open", () => {
    const { one, ticket } = opened(inPart);
    const first = copyOf(one);
    one.theatre.close(ticket);
    one.theatre.rest();
    one.theatre.broker.fillRest(F5, first, lots("0.50"), requestN(one));
    one.theatre.rest();
    assert.deepEqual(ofF5(one), ["left-open f5", "row-wrong f5"]);
  });
  test("that grows by more than is there is a damaged log", () => {
    const { one } = opened(inPart);
    one.theatre.broker.fillRest(F5, copyOf(one), lots("0.50"), requestN(one));
    const log = asked(one).map((entry) => (entry.kind === "grown" ? { ...entry, volume: lots("0.40") } : entry));
    assert.ok(brokenRules(one.theatre.report({ log })).includes("log-integrity -"));
  });
});

