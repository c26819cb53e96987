// Owns the cases of what follows a refusal.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { afterRefusal, pauseMs, type Tried } from "../../../actors/core/retry.ts";
import type { Order, RefusalClass } from "../../../protocol/orders.ts";

type Refused = Exclude<RefusalClass, "already">;
const KINDS: readonly Order["kind"][] = ["open", "place", "close", "cancel", "modify", "change"];

/** What comes of the first, and of the sixth attempt: again, again without stops, or given up. */
const TABLE: Readonly<Record<Refused, Readonly<Record<"open" | "close" | "modify", readonly [string, string]>>>> = {
  fresh_price: { open: ["again", "give_up"], close: ["again", "again"], modify: ["again", "again"] },
  wait: { open: ["again", "give_up"], close: ["again", "again"], modify: ["again", "again"] },
  adjust: { open: ["plain", "give_up"], close: ["again", "again"], modify: ["again", "give_up"] },
  market_closed: { open: ["give_up", "give_up"], close: ["again", "again"], modify: ["again", "again"] },
  final: { open: ["give_up", "give_up"], close: ["again", "again"], modify: ["give_up", "give_up"] },
};

const COLUMN = { open: "open", place: "open", close: "close", cancel: "close", modify: "modify", change: "modify" } as const;

const verdict = (kind: Order["kind"], refusal: Refused, tried: Tried): string => {
  const retry = afterRefusal(kind, refusal, tried, 0.5);
  return retry.kind === "give_up" ? "give_up" : retry.plain ? "plain" : "again";
};

describe("every class of refusal and kind of order", () => {
  for (const refusal of Object.keys(TABLE) as Refused[]) {
    for (const kind of KINDS) {
      const [first, sixth] = TABLE[refusal][COLUMN[kind]];
      test(`${kind} refused as ${refusal}: ${first}, and after six times ${sixth}`, () => {
        assert.equal(verdict(kind, refusal, { attempt: 1, plain: false }), first);
        assert.equal(verdict(kind, refusal, { attempt: 6, plain: false }), sixth);
      });
    }
  }

  test("stops are taken off once, also after a requote, and not twice", () => {
    assert.equal(verdict("open", "adjust", { attempt: 3, plain: false }), "plain");
    assert.equal(verdict("open", "adjust", { attempt: 2, plain: true }), "give_up");
  });
});

describe("the pause before the next attempt", () => {
  test("doubles, to a bound", () => {
    assert.deepEqual([1, 2, 3, 9, 1_000].map((attempt) => pauseMs(attempt, 1)), [200, 400, 800, 30_000, 30_000]);
  });
  test("is jittered down to half", () => assert.deepEqual([pauseMs(3, 0), pauseMs(3, 0.5)], [400, 600]));
});
