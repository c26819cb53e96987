// Owns the tests of sessions that are down, copiers that are not running, and orders of unknown outcome:
// a copier that keeps the rules is found right in the middle of it, one that hides behind it is found.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AccountId, Ticket } from "../../../../protocol/ids.ts";
import { bendFor, closed, F1, F4, F5, ONE, staged, statementOf, type Played } from "./script.ts";
import { EUR, lots, points, SETTLE_MS, brokenRules } from "./theatre.ts";
import { assertBroken, assertRight, copyOf, down, end, idle, open, openOrder, rowOf, SIMPLE, up, withRow } from "./trouble.ts";

describe("a follower's session is down", () => {
  function openedWhileDown(downMs: number, meanwhile: (played: Played, ticket: Ticket) => void = () => {}): { readonly played: Played; readonly ticket: Ticket } {
    const played = staged(SIMPLE);
    down(played, F1);
    const ticket = open(played);
    meanwhile(played, ticket);
    played.theatre.pass(downMs);
    up(played, F1);
    return { played, ticket };
  }

  test("while the master opens: the copy is opened late", () => {
    const { played, ticket } = openedWhileDown(6_000);
    played.theatre.rest();
    assert.equal(rowOf(played, F1)?.status, "Open");
    end(played.theatre, ticket);
    assertRight(played);
  });
  test("until the trade is too old: it is skipped as that", () => {
    const { played, ticket } = openedWhileDown(10_500);
    assert.equal(rowOf(played, F1)?.reason, "too_old");
    end(played.theatre, ticket);
    assertRight(played);
  });
  test("not long enough for a trade to be too old, or its price too far", () => {
    for (const reason of ["too_old", "late_open_price_moved", "gone_before_copy", "dropped"] as const) {
      const played = staged(SIMPLE);
      down(played, F1);
      const ticket = open(played);
      played.theatre.pass(5_000);
      played.theatre.connect(F1);
      played.theatre.pass(SETTLE_MS * 2);
      end(played.theatre, ticket);
      played.copier.deaf.delete(F1);
      played.copier.catchUp([F1]);
      assertBroken(played, ["unjustified-skip f1"], withRow(played, { reason }));
    }
  });
  test("and the trade is opened although it is too old", () => {
    const { played, ticket } = openedWhileDown(11_000);
    const { theatre } = played;
    const { left } = theatre.askPlainly(F1, openOrder(ticket));
    theatre.pass(20);
    theatre.close(ticket);
    theatre.askPlainly(F1, { kind: "close", ticket: left ?? assert.fail(), symbol: "eurusd.r" as never, volume: lots("0.40"), part: false });
    theatre.rest();
    assertBroken(played, ["opened-too-old f1", "skip-with-copy f1"]);
  });
  test("until the price has gone too far: it is skipped as that", () => {
    const { played, ticket } = openedWhileDown(5_000, ({ theatre }) => theatre.quote(EUR, 108_650));
    assert.equal(rowOf(played, F1)?.reason, "late_open_price_moved");
    played.theatre.quote(EUR, 108_500);
    end(played.theatre, ticket);
    assertRight(played);
  });
  test("until the trade is over: it is skipped as gone", () => {
    const { played } = openedWhileDown(3_000, ({ theatre }, ticket) => {
      theatre.rest();
      theatre.close(ticket);
    });
    assert.equal(rowOf(played, F1)?.reason, "gone_before_copy");
    played.theatre.rest();
    assertRight(played);
  });
  test("only by its own word: a trade that it could have copied is not gone", () => {
    const played = staged(SIMPLE);
    idle(played, F1);
    const ticket = open(played);
    played.theatre.rest();
    played.theatre.close(ticket);
    played.copier.deaf.delete(F1);
    played.copier.catchUp([F1]);
    played.theatre.rest();
    assert.equal(rowOf(played, F1)?.reason, "gone_before_copy");
    assertBroken(played, ["unjustified-skip f1"]);
  });

  function closedWhileDown(play: (played: Played) => void, broken: AccountId = F1): Played {
    const played = staged(SIMPLE);
    const ticket = open(played);
    played.theatre.rest();
    down(played, F1);
    if (broken !== F1) idle(played, broken);
    played.theatre.close(ticket);
    played.theatre.pass(3_000);
    play(played);
    played.theatre.pass(SETTLE_MS * 2);
    return played;
  }

  test("while the master closes: the copy is closed when it is back", () => assertRight(closedWhileDown((played) => up(played, F1))));
  test("while the master closes, and the copy is closed long after it is back", () => {
    const late = closedWhileDown((played) => {
      played.theatre.connect(F1);
      played.theatre.pass(3_000);
      played.copier.deaf.delete(F1);
      played.copier.catchUp([F1]);
    });
    assertBroken(late, ["closed-late f1"]);
  });
  test("which is no excuse for another follower", () => {
    const late = closedWhileDown((played) => {
      up(played, F1);
      played.copier.deaf.delete(F4);
      played.copier.catchUp([F4]);
    }, F4);
    assertBroken(late, ["closed-late f4"]);
  });
  test("at the end: what stands then is judged all the same", () => {
    const never = closedWhileDown(({ copier }) => copier.deaf.add(F1));
    assertBroken(never, ["left-open f1", ...(rowOf(never, F1)?.status === "Open" ? [] : ["row-wrong f1"])]);
  });
});

describe("the master's session is down", () => {
  const masterOf = ({ theatre }: Played): AccountId => theatre.cast.master.account;

  test("while it opens and closes: what was copied late or never heard of is right", () => {
    const played = staged(statementOf({ positions: [401, 402].map((row) => closed(row, EUR, "0.40", { side: "buy", openPrice: points(108_500), closePrice: points(108_500) })) }));
    const { theatre } = played;
    down(played, masterOf(played));
    theatre.close(open(played));
    const ticket = theatre.open(402, EUR, "buy", "0.40");
    theatre.pass(3_000);
    up(played, masterOf(played));
    theatre.rest();
    end(theatre, ticket);
    assertRight(played);
    const [first] = theatre.report().followers;
    assert.deepEqual([first?.copied, first?.skipped], [1, { unheard: 1 }]);
  });
  test("which does not excuse a trade that stood when it was back", () => {
    const played = staged(SIMPLE);
    idle(played, F1);
    down(played, masterOf(played));
    const ticket = open(played);
    played.theatre.pass(3_000);
    up(played, masterOf(played));
    played.theatre.rest();
    played.theatre.rest();
    end(played.theatre, ticket);
    assertBroken(played, ["missing f1"]);
  });
});

describe("no copier is running", () => {
  function thrownAway(): { readonly played: Played; readonly outages: readonly { readonly fromMs: number; readonly toMs: number }[] } {
    const played = staged(ONE);
    const { theatre, copier } = played;
    const first = theatre.open(201, EUR, "buy", "0.40");
    theatre.rest();
    const accounts = [theatre.cast.master, ...theatre.cast.followers.map(({ broker }) => broker)].map(({ account }) => account);
    const fromMs = theatre.nowMs;
    for (const account of accounts) copier.deaf.add(account);
    const rest = theatre.partClose(first, "0.20");
    theatre.modify(rest, 108_000, null);
    theatre.pass(4_000);
    const toMs = theatre.nowMs;
    for (const account of accounts) copier.deaf.delete(account);
    copier.catchUp(accounts);
    theatre.rest();
    end(theatre, rest);
    return { played, outages: [{ fromMs, toMs }] };
  }

  test("for a while: the next one makes up for it", () => {
    const { played, outages } = thrownAway();
    assertRight(played, { outages });
  });
  test("any more, of those that had heard of a trade which is over: it needs no row", () => {
    const play = (heardMs: number) => {
      const played = staged(SIMPLE);
      const { theatre } = played;
      idle(played, F1);
      const ticket = open(played);
      theatre.pass(heardMs);
      const fromMs = theatre.nowMs;
      theatre.close(ticket);
      theatre.pass(3_000);
      const outages = [{ fromMs, toMs: theatre.nowMs }];
      theatre.rest();
      return { played, outages };
    };
    const atOnce = play(300);
    assertRight(atOnce.played, { outages: atOnce.outages });
    const later = play(600);
    assertBroken(later.played, ["missing f1"], { outages: later.outages });
  });
  test("to open late: it first waits for what the one before may have sent", () => {
    const played = staged(SIMPLE);
    const { theatre, copier } = played;
    const fromMs = theatre.nowMs;
    idle(played, F1);
    const ticket = open(played);
    theatre.pass(8_000);
    const outages = [{ fromMs, toMs: theatre.nowMs }];
    theatre.pass(SETTLE_MS);
    copier.deaf.delete(F1);
    copier.catchUp([F1]);
    assert.equal(rowOf(played, F1)?.reason, "too_old");
    end(theatre, ticket);
    assertRight(played, { outages });
    assertBroken(played, ["unjustified-skip f1"]);
  });
});

describe("an order of unknown outcome", () => {
  for (const [name, cutMs, rules] of [
    ["may be one that was on its way when the connection ended", 10, []],
    ["is not what had to be done by then", 600, ["unjustified-skip f1"]],
  ] as const) {
    test(name, () => {
      const played = staged(SIMPLE);
      const { theatre } = played;
      idle(played, F1);
      const ticket = open(played);
      theatre.pass(cutMs);
      theatre.disconnect(F1);
      theatre.connect(F1);
      theatre.pass(SETTLE_MS + 200);
      end(theatre, ticket);
      played.copier.deaf.delete(F1);
      played.copier.catchUp([F1]);
      assert.equal(rowOf(played, F1)?.reason, "gone_before_copy");
      assertBroken(played, rules);
    });
  }
  for (const [name, fault] of [
    ["whose answer was lost", { kind: "lose_answer" }],
    ["that is executed late", { kind: "execute_late", afterMs: 900, answer: "time_out" }],
  ] as const) {
    for (const account of [F1, F5]) {
      test(`${name} is looked for, and its copy found: an opening on ${account}`, () => {
        const played = staged(SIMPLE);
        played.theatre.hides.set(account, fault);
        const ticket = open(played);
        played.theatre.pass(SETTLE_MS * 2);
        assert.equal(rowOf(played, account)?.status, "Open");
        end(played.theatre, ticket);
        assertRight(played);
      });
      test(`${name} is looked for: a part-close and a close on ${account}`, () => {
        const played = staged(ONE);
        const { theatre } = played;
        const first = theatre.open(201, EUR, "buy", "0.40");
        theatre.rest();
        theatre.hides.set(account, fault);
        const rest = theatre.partClose(first, "0.20");
        theatre.pass(SETTLE_MS * 2);
        theatre.modify(rest, 108_000, null);
        theatre.rest();
        theatre.hides.set(account, fault);
        end(theatre, rest);
        assertRight(played);
      });
    }
    test(`${name} is sent again on hope`, () => {
      const played = staged(SIMPLE);
      const { theatre } = played;
      theatre.hides.set(F1, fault);
      const ticket = open(played);
      theatre.pass(300);
      theatre.askPlainly(F1, openOrder(ticket));
      theatre.pass(SETTLE_MS * 2);
      for (const { ticket: copy, symbol, volume } of theatre.broker.positions(F1).values()) theatre.askPlainly(F1, { kind: "close", ticket: copy, symbol, volume, part: false });
      theatre.close(ticket);
      theatre.rest();
      assert.ok(brokenRules(theatre.report()).includes("duplicate f1"));
    });
  }
  test("is sent again when the trade is settled and its copy completed", () => {
    const played = staged(SIMPLE);
    const { theatre } = played;
    const ticket = open(played);
    theatre.rest();
    theatre.hand(F1).close(copyOf(played, F1).ticket);
    theatre.rest();
    const { left } = theatre.askPlainly(F1, openOrder(ticket));
    theatre.pass(20);
    theatre.close(ticket);
    theatre.askPlainly(F1, { kind: "close", ticket: left ?? assert.fail(), symbol: "eurusd.r" as never, volume: lots("0.40"), part: false });
    theatre.rest();
    assertBroken(played, ["duplicate f1"]);
  });
  for (const [name, waitMs, rules] of [
    ["excuses a close that waits for it to settle", SETTLE_MS, []],
    ["does not excuse one that waits for longer", SETTLE_MS + 1_000, ["closed-late f1"]],
  ] as const) {
    test(name, () => {
      const played = staged(SIMPLE);
      const { theatre, copier } = played;
      const ticket = open(played);
      theatre.rest();
      copier.bend = bendFor(F1, () => []);
      theatre.close(ticket);
      const { ticket: copy, symbol, volume } = copyOf(played, F1);
      const close = { kind: "close", ticket: copy, symbol, volume, part: false } as const;
      theatre.askPlainly(F1, close, "timed_out");
      theatre.pass(waitMs);
      theatre.askPlainly(F1, close);
      theatre.rest();
      assertBroken(played, rules);
    });
  }
});
