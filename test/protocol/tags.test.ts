// Owns the cases about tags: comments come from outside, so a match is whole or none.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { chainFrom, chainTo, masterTicketOfComment, tagComment } from "../../protocol/tags.ts";
import type { Ticket } from "../../protocol/ids.ts";

describe("the tag of an order", () => {
  test("any ticket goes into a comment and comes back", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }) as fc.Arbitrary<Ticket>, (ticket) => masterTicketOfComment(tagComment(ticket)) === ticket));
  });

  test("mc12 is not mc123", () => {
    assert.equal(masterTicketOfComment("mc12"), 12);
    assert.equal(masterTicketOfComment("mc123"), 123);
    fc.assert(fc.property(fc.nat(), fc.nat(), (a, b) => (masterTicketOfComment(tagComment(a as Ticket)) === b) === (a === b)));
  });

  const tail = ["mc12[sl]", "mc12[tp/gap]", "mc12 cancelled", "mc12 deleted [no money]", "mc12 ", "mc12x", "mc12\u0000", "mc12\n3", "mc12.5"];
  for (const comment of tail) test(`a tail is no part of the number: ${JSON.stringify(comment)}`, () => assert.equal(masterTicketOfComment(comment), 12));

  const foreign = ["", "mc", "mcx", "MC12", " mc12", "xmc12", "\nmc12", "mc-12", "mc+12", "mc 12", "mc1e3x".slice(0, 2), "mc٣", "Filled SL", "from #12", "from #12 mc13"];
  for (const comment of foreign) test(`no tag: ${JSON.stringify(comment)}`, () => assert.equal(masterTicketOfComment(comment), null));

  test("a number that cannot be a ticket is no tag", () => {
    assert.equal(masterTicketOfComment("mc9007199254740991"), Number.MAX_SAFE_INTEGER);
    assert.equal(masterTicketOfComment("mc9007199254740993"), null);
    assert.equal(masterTicketOfComment(`mc${"1".repeat(17)}`), null);
    assert.equal(masterTicketOfComment(`mc${"1".repeat(100_000)}`), null);
  });

  test("a tag cut inside its digits names another ticket, so the longest one fits below every known cut", () => {
    assert.ok(tagComment(4_294_967_295 as Ticket).length <= 14);
    assert.ok(tagComment(Number.MAX_SAFE_INTEGER as Ticket).length <= 26);
  });
});

describe("the chain comments of MT4", () => {
  test("from and to name the other ticket", () => {
    assert.equal(chainFrom("from #10884298"), 10_884_298);
    assert.equal(chainTo("to #10888957"), 10_888_957);
    assert.equal(chainFrom("from #10879500[sl/gap]"), 10_879_500);
  });
  test("one is not the other, nor is either in the middle of a text", () => {
    assert.equal(chainFrom("to #12"), null);
    assert.equal(chainTo("from #12"), null);
    for (const comment of ["from 12", "from # 12", "away from #12", "From #12", "close hedge by #12", `from #${"9".repeat(17)}`]) assert.equal(chainFrom(comment), null, comment);
  });
});
