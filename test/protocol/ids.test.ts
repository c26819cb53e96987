// Owns the cases about identifiers: what is refused at the door.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountId, bootId, cellId, epoch, linkId, magic, nodeId, seq, symbolName, ticket } from "../../protocol/ids.ts";

const refused = { code: "invalid_value" };

describe("names", () => {
  for (const [kind, make] of Object.entries({ accountId, linkId, nodeId, bootId, cellId })) {
    test(`${kind} takes letters, digits, dot, underscore and hyphen, up to 64`, () => {
      for (const text of ["a", "7", "Follower-1", "node.eu_west-2", "x".repeat(64)]) assert.equal(make(text), text);
    });
    test(`${kind} refuses what could break a topic's name, a path or a line`, () => {
      for (const text of ["", "x".repeat(65), ".hidden", "-option", "a b", "a/b", "a\nb", "ü", "a\u0000", "a:b"]) assert.throws(() => make(text), refused, JSON.stringify(text));
    });
  }

  test("a refusal names the kind and the text it got", () => {
    assert.throws(() => accountId("a b"), /account id: .*"a b"/);
  });
});

describe("numbers", () => {
  const bounds = { ticket: { make: ticket, max: Number.MAX_SAFE_INTEGER }, magic: { make: magic, max: 2_147_483_647 }, epoch: { make: epoch, max: Number.MAX_SAFE_INTEGER }, seq: { make: seq, max: Number.MAX_SAFE_INTEGER } };
  for (const [kind, { make, max }] of Object.entries(bounds)) {
    test(`${kind} is a whole number from 0 to ${max}`, () => {
      assert.equal(make(0), 0);
      assert.equal(make(max), max);
      for (const value of [-1, 0.5, NaN, Infinity, max + 1]) assert.throws(() => make(value), refused, `${value}`);
    });
  }
});

describe("symbols", () => {
  test("brokers' prefixes and suffixes are taken as they are", () => {
    for (const text of ["EURUSD", "EURUSD.", "eurusd-2", "XAUUSD@", ".Z", "#AAPL", "GER40_c", "x".repeat(32)]) assert.equal(symbolName(text), text);
  });
  test("blanks, nothing, and more than 32 characters are refused", () => {
    for (const text of ["", " ", "EUR USD", "EURUSD\n", "x".repeat(33)]) assert.throws(() => symbolName(text), refused, JSON.stringify(text));
  });
});
