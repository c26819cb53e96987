// Owns the tests of comments that a broker cuts, rewrites or loses.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLockstepError } from "../../../protocol/errors.ts";
import type { Platform } from "../../../protocol/trades.ts";
import { ORDINARY, type Quirks } from "../../../ops/broker/quirks.ts";
import { closeOrder, lots, MT4_ACCOUNT, MT5_ACCOUNT, openOrder, placeOrder, points, priced, type Engine } from "./market.ts";
import { entriesOf, running } from "./testServer.ts";

function quirky(platform: Platform, quirk: Partial<Quirks>): Engine {
  const engine = priced(platform);
  engine.setQuirk(quirk);
  return engine;
}

const LONG = "0123456789".repeat(4);
const open = ({ state }: Engine): string[] => [...state.positions.values()].map(({ comment }) => comment);
const history = ({ state }: Engine): string[] => state.closed.map(({ position }) => position.comment);

/** The history's comment of a position that its stop, or its target, closes. */
function stopped(platform: Platform, quirk: Partial<Quirks>, comment: string, hit: "stop" | "target" = "stop"): string | undefined {
  const engine = quirky(platform, quirk);
  engine.standing(openOrder({ comment, stopLoss: points(108_400), takeProfit: points(108_600) }));
  if (hit === "stop") engine.quote(108_300, 108_310);
  else engine.quote(108_600, 108_610);
  return history(engine)[0];
}

describe("comments", () => {
  for (const characters of [27, 26]) {
    test(`cut at ${characters} characters, of positions, pendings and in the history`, () => {
      const engine = quirky("mt4", { commentCharacters: characters });
      engine.standing(openOrder({ comment: LONG }));
      engine.standing(placeOrder({ comment: LONG }));
      assert.deepEqual(open(engine), [LONG.slice(0, characters)]);
      assert.deepEqual([...engine.state.pendings.values()].map(({ comment }) => comment), [LONG.slice(0, characters)]);
      assert.equal(stopped("mt4", { commentCharacters: characters }, LONG)?.length, characters);
    });
  }

  test("a stop replaces the whole comment by `Filled SL`, a target by `Filled TP`", () => {
    for (const platform of ["mt4", "mt5"] as const) {
      assert.equal(stopped(platform, { stopComment: "replaced" }, "mc42"), "Filled SL");
      assert.equal(stopped(platform, { stopComment: "replaced" }, "mc42", "target"), "Filled TP");
    }
  });

  test("a stop appends `Filled SL`, whole, at the cost of the comment's end", () => {
    assert.equal(stopped("mt5", { stopComment: "appended" }, "mc42"), "mc42 Filled SL");
    assert.equal(stopped("mt4", { stopComment: "appended" }, ""), "Filled SL");
    assert.equal(stopped("mt4", { stopComment: "appended" }, LONG), `${LONG.slice(0, 21)} Filled SL`);
    assert.equal(stopped("mt4", { stopComment: "appended", commentCharacters: 26 }, LONG), `${LONG.slice(0, 16)} Filled SL`);
    assert.equal(stopped("mt4", { stopComment: "replaced", commentCharacters: 4 }, LONG), "Fill");
  });

  test("rewriting is for stops and targets: a close by hand and a stop-out are the platform's", () => {
    const engine = quirky("mt4", { stopComment: "replaced" });
    engine.ask(closeOrder(engine.standing(openOrder()), lots("0.10")));
    engine.act({ kind: "stop_out", ticket: engine.standing(openOrder()) });
    assert.deepEqual(history(engine), ["mc42", "so: 49.90%/99.80/200.00"]);
  });

  test("lost at the open, of positions and pendings", () => {
    const engine = quirky("mt5", { clearedComments: ["opened"] });
    engine.standing(openOrder());
    engine.standing(placeOrder());
    assert.deepEqual([...open(engine), ...[...engine.state.pendings.values()].map(({ comment }) => comment)], ["", ""]);
  });

  test("MT5: lost at a part-close, by whomever it is made; the closed part keeps it", () => {
    const engine = quirky("mt5", { clearedComments: ["rest"] });
    engine.standing(closeOrder(engine.standing(openOrder()), lots("0.04")));
    engine.act({ kind: "part_close", ticket: engine.standing(openOrder()), volume: lots("0.04") });
    assert.deepEqual([open(engine), history(engine)], [["", ""], ["mc42", "mc42"]]);
  });

  test("MT4: a chain that lost its `from #`, and one that lost both ends", () => {
    for (const [cleared, left, past] of [[["rest"], "", "to #101"], [["rest", "part"], "", ""]] as const) {
      const engine = quirky("mt4", { clearedComments: cleared });
      engine.standing(closeOrder(engine.standing(openOrder()), lots("0.04")));
      assert.deepEqual([open(engine), history(engine)], [[left], [past]]);
    }
  });
});

describe("standing quirks", { timeout: 20_000 }, () => {
  test("are an account's own, in the log with all of them, and last until they are taken away", async (t) => {
    const { server, session, sink } = await running(t);
    const client = await session();
    server.broker.setQuirk(MT4_ACCOUNT, { clearedComments: ["opened"] });
    server.broker.setQuirk(MT4_ACCOUNT, { commentCharacters: 27 });
    await client.order(openOrder());
    server.broker.setQuirk(MT4_ACCOUNT, ORDINARY);
    await client.order(openOrder());
    assert.deepEqual(server.trader(MT4_ACCOUNT).positions().map(({ comment }) => comment), ["", "mc42"]);
    const first = { ...ORDINARY, clearedComments: ["opened"] } as const;
    assert.deepEqual(entriesOf(sink, "quirks").map(({ quirks }) => quirks), [first, { ...first, commentCharacters: 27 }, ORDINARY]);
    assert.equal(server.broker.quirks(MT5_ACCOUNT), ORDINARY);
  });

  const senseless: readonly Partial<Quirks>[] = [
    { commentCharacters: 32 },
    { commentCharacters: 1.5 },
    { snapshots: { kind: "stale", ageMs: -1, forMs: null } },
    { snapshots: { kind: "empty", forMs: -1 } },
  ];
  for (const quirk of senseless) {
    test(`that make no sense are refused: ${JSON.stringify(quirk)}`, async (t) => {
      const { server } = await running(t);
      assert.throws(() => server.broker.setQuirk(MT4_ACCOUNT, quirk), (error) => isLockstepError(error, "invalid_value"));
      assert.deepEqual(server.broker.quirks(MT4_ACCOUNT), ORDINARY);
    });
  }
});
