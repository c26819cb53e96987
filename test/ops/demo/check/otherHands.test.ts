// Owns the tests of what others do to a copy: its owner by hand, and its broker. What they end is over,
// what they make smaller stays so, and the copier's own faults are not theirs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { Order } from "../../../../protocol/orders.ts";
import { bendFor, F1, F5, ONE, staged, type Played } from "./script.ts";
import { brokenRules, EUR, lots, type Theatre } from "./theatre.ts";
import { assertBroken, assertRight, copyOf, end, open, rowOf, SIMPLE, withRow } from "./trouble.ts";

describe("other hands on a copy", () => {
  for (const [name, account, act, reason] of [
    ["closed by hand on mt4", F1, (theatre: Theatre, ticket: Ticket) => theatre.hand(F1).close(ticket), "manual"],
    ["closed by hand on mt5", F5, (theatre: Theatre, ticket: Ticket) => theatre.hand(F5).close(ticket), "manual"],
    ["stopped out", F1, (theatre: Theatre, ticket: Ticket) => theatre.broker.stopOut(F1, ticket), "stop_out"],
  ] as const) {
    test(`${name}: it is over`, () => {
      const played = staged(SIMPLE);
      const ticket = open(played);
      played.theatre.rest();
      act(played.theatre, copyOf(played, account).ticket);
      played.theatre.rest();
      end(played.theatre, ticket);
      assert.equal(rowOf(played, account)?.reason, reason);
      assertRight(played);
      if (account === F1) assertBroken(played, ["row-wrong f1"], withRow(played, { reason: "master_closed" }));
    });
  }
  test("closed by hand: nothing more is to be asked of it", () => {
    const played = staged(SIMPLE);
    const { theatre } = played;
    const ticket = open(played);
    theatre.rest();
    const copy = copyOf(played, F1);
    theatre.hand(F1).close(copy.ticket);
    theatre.rest();
    theatre.askPlainly(F1, { kind: "close", ticket: copy.ticket, symbol: copy.symbol, volume: copy.volume, part: false });
    end(theatre, ticket);
    assertBroken(played, ["request-after-end f1"]);
  });

  const PARTS = [
    ["by hand on mt4", F1, (theatre: Theatre, ticket: Ticket) => theatre.hand(F1).partClose(ticket, lots("0.05"))],
    ["by hand on mt5", F5, (theatre: Theatre, ticket: Ticket) => theatre.hand(F5).partClose(ticket, lots("0.05"))],
    ["by the server on mt4", F1, (theatre: Theatre, ticket: Ticket) => theatre.broker.serverPartClose(F1, ticket, lots("0.25"))],
    ["by the server on mt5", F5, (theatre: Theatre, ticket: Ticket) => theatre.broker.serverPartClose(F5, ticket, lots("0.35"))],
  ] as const;

  function partClosed([, account, act]: (typeof PARTS)[number], bend: (order: Order) => readonly Order[] = (order) => [order], isClosed = true): Played {
    const played = staged(ONE);
    const { theatre, copier } = played;
    copier.bend = bendFor(account, bend);
    const first = theatre.open(201, EUR, "buy", "0.40");
    theatre.rest();
    act(theatre, copyOf(played, account).ticket);
    theatre.rest();
    const rest = theatre.partClose(first, "0.20");
    theatre.rest();
    theatre.modify(rest, 108_000, null);
    theatre.rest();
    if (isClosed) end(theatre, rest);
    return played;
  }

  for (const part of PARTS) test(`part-closed ${part[0]}: it holds its share or less`, () => assertRight(partClosed(part)));
  test("part-closed by hand, and later not by its master's share: it holds more", () => {
    for (const part of PARTS.slice(0, 2)) assertBroken(partClosed(part, (order) => (order.kind === "close" && order.part ? [] : [order])), [`wrong-share ${part[1]}`]);
  });
  test("part-closed by the copier itself, beside the hand: that is no other hand's", () => {
    const played = staged(SIMPLE);
    const { theatre } = played;
    const ticket = open(played);
    theatre.rest();
    const copy = copyOf(played, F1);
    theatre.askPlainly(F1, { kind: "close", ticket: copy.ticket, symbol: copy.symbol, volume: lots("0.10"), part: true });
    theatre.rest();
    theatre.hand(F1).partClose(copyOf(played, F1).ticket, lots("0.05"));
    theatre.rest();
    end(theatre, ticket);
    assertBroken(played, ["wrong-share f1"]);
  });
  test("part-closed by the server: its row has the new ticket and what is left", () => {
    const played = partClosed(PARTS[2], (order) => [order], false);
    const ofFollowers = (more: Parameters<Theatre["report"]>[0] = {}): string[] => brokenRules(played.theatre.report(more)).filter((rule) => !rule.startsWith("master"));
    assert.deepEqual(ofFollowers(), []);
    assert.deepEqual(ofFollowers(withRow(played, { volume: lots("0.20") })), ["row-wrong f1"]);
    const first = played.theatre.sink.entries.find((entry) => entry.kind === "deal" && entry.deal === "opened" && entry.account === F1);
    assert.ok(first?.kind === "deal" && first.deal === "opened");
    assert.deepEqual(ofFollowers(withRow(played, { followerTicket: first.position.ticket })), ["row-wrong f1"]);
  });
});
