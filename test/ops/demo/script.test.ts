// Owns the cases of a demo's script: how each kind of row comes about at the master's broker.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../protocol/ids.ts";
import { scriptOf, type Step } from "../../../ops/demo/script.ts";
import { playedAccount } from "./played.ts";
import { statementOf, type StatementRow } from "./mt4Html.ts";

const BUY: StatementRow = { ticket: 7, type: "buy", symbol: "eurusd", lots: "0.10", openSecond: 0, price: "1.10000", closeSecond: 60, lastPrice: "1.10100" };
const NO_LEVELS = { stopLoss: null, takeProfit: null };

/** All steps of the statement's script but for quotes. */
const doneIn = (rows: readonly StatementRow[]): Step[] => scriptOf(statementOf(rows)).flatMap(({ steps }) => steps).filter(({ kind }) => kind !== "quote");
const kindsIn = (rows: readonly StatementRow[]): string[] => doneIn(rows).map(({ kind }) => kind);

describe("a trade", () => {
  test("with stops that were possible from the start is opened with them and closed by hand", () => {
    assert.deepEqual(doneIn([{ ...BUY, stopLoss: "1.09900", takeProfit: "1.10200" }]), [
      { kind: "open", role: 7, symbol: "eurusd", side: "buy", volume: 10_000_000, stopLoss: 109_900, takeProfit: 110_200 },
      { kind: "close", role: 7 },
    ]);
  });

  test("that its stop or target ended is left to the broker", () => {
    assert.deepEqual(kindsIn([{ ...BUY, takeProfit: "1.10100" }]), ["open"]);
    assert.deepEqual(kindsIn([{ ...BUY, stopLoss: "1.09900", lastPrice: "1.09850", comment: "[sl/gap]" }]), ["open"]);
  });

  test("with a stop that was trailed beyond its open gets it later, at a quote between", () => {
    const [open, modify, ...rest] = doneIn([{ ...BUY, stopLoss: "1.10050" }]);
    assert.deepEqual({ ...open, ...NO_LEVELS }, open);
    assert.deepEqual(modify, { kind: "modify", role: 7, stopLoss: 110_050, takeProfit: null });
    assert.deepEqual(rest.map(({ kind }) => kind), ["close"]);
  });

  test("that a mark says was stopped, and whose row shows no stop, is stopped where it closed", async () => {
    const rows: StatementRow[] = [{ ...BUY, lastPrice: "1.09700", comment: "[sl]" }];
    const { trades, levels } = await playedAccount(statementOf(rows));
    assert.deepEqual(trades["s7"]?.closes, [{ volume: 10_000_000, price: 109_700, reason: "stop_loss" }]);
    assert.deepEqual(levels["s7"], [{ stopLoss: 109_700, takeProfit: null }]);
  });

  test("that its broker ended for margin is stopped out there", () => {
    assert.deepEqual(kindsIn([{ ...BUY, comment: "so: 49.90%/99.80/200.00" }]), ["open", "stop_out"]);
  });

  test("that was closed by hand beyond its stop never had it: nothing would have been left to close", async () => {
    const { trades } = await playedAccount(statementOf([{ ...BUY, stopLoss: "1.09900", lastPrice: "1.09850" }]));
    assert.deepEqual(trades["s7"]?.closes, [{ volume: 10_000_000, price: 109_850, reason: "manual" }]);
  });

  test("that closes in the second of its open, at its stop, is opened, stopped, and nothing else", () => {
    assert.deepEqual(kindsIn([{ ...BUY, closeSecond: 0, stopLoss: "1.10000", lastPrice: "1.10000" }]), ["open", "modify"]);
  });

  test("with stop and target one point apart keeps the one that ended it", async () => {
    const { levels } = await playedAccount(statementOf([{ ...BUY, stopLoss: "1.10100", takeProfit: "1.10101" }]));
    assert.deepEqual(levels["s7"], [{ stopLoss: 110_100, takeProfit: null }]);
  });

  test("that is open stays open, with its stop", async () => {
    const { trades, levels } = await playedAccount(statementOf([{ ...BUY, closeSecond: null, stopLoss: "1.10050" }]));
    assert.deepEqual([trades["s7"]?.left, levels["s7"]], [10_000_000, [{ stopLoss: 110_050, takeProfit: null }]]);
  });

  test("in thousandths of a lot, or in thousands of lots, is within the master's grid", async () => {
    for (const lots of ["0.001", "2500.00"]) assert.equal(Object.keys((await playedAccount(statementOf([{ ...BUY, lots }]))).trades).length, 1, lots);
  });
});

test("two trades whose levels are in each other's way both end with them", async () => {
  // Each one's stop is hit by the other's open and close.
  const rows: StatementRow[] = [
    { ...BUY, ticket: 7, price: "1.10000", closeSecond: 60, lastPrice: "1.10100", stopLoss: "1.10090" },
    { ...BUY, ticket: 8, type: "sell", price: "1.10010", closeSecond: 60, lastPrice: "1.09900", stopLoss: "1.09910" },
  ];
  const { levels } = await playedAccount(statementOf(rows));
  assert.deepEqual([levels["s7"], levels["s8"]], [[{ stopLoss: 110_090, takeProfit: null }], [{ stopLoss: 109_910, takeProfit: null }]]);
});

test("a chain is one trade with the whole volume, part-closed row by row, each part with the stop of its row", async () => {
  const rows: StatementRow[] = [
    { ...BUY, ticket: 7, lots: "0.30", closeSecond: 20, lastPrice: "1.10050", stopLoss: "1.09900", comment: "to #8" },
    { ...BUY, ticket: 8, lots: "0.20", closeSecond: 40, lastPrice: "1.10080", stopLoss: "1.09950", comment: "to #9" },
    { ...BUY, ticket: 9, lots: "0.10", closeSecond: 60, lastPrice: "1.10060", stopLoss: "1.10060", comment: "from #8[sl]" },
  ];
  assert.deepEqual(kindsIn(rows), ["open", "part_close", "modify", "part_close", "modify"]);
  const { trades, levels } = await playedAccount(statementOf(rows));
  assert.deepEqual(trades["s7"], {
    symbol: "eurusd",
    side: "buy",
    volume: 60_000_000,
    openPrice: 110_000,
    closes: [
      { volume: 30_000_000, price: 110_050, reason: "manual" },
      { volume: 20_000_000, price: 110_080, reason: "manual" },
      { volume: 10_000_000, price: 110_060, reason: "stop_loss" },
    ],
    left: null,
  });
  assert.deepEqual(levels["s7"]?.map(({ stopLoss }) => stopLoss), [109_900, 109_950, 110_060]);
});

describe("a pending order", () => {
  const LIMIT: StatementRow = { ticket: 5, type: "buy_limit", symbol: "eurusd", lots: "0.10", openSecond: 10, price: "1.09800", closeSecond: 50, lastPrice: "1.10050" };

  test("that the market stayed away from is placed at its price and cancelled", () => {
    assert.deepEqual(doneIn([BUY, LIMIT]).filter(({ kind }) => kind !== "open" && kind !== "close"), [
      { kind: "place", role: 5, symbol: "eurusd", pending: "buy_limit", volume: 10_000_000, price: 109_800, ...NO_LEVELS },
      { kind: "cancel", role: 5 },
    ]);
  });

  test("that a row's price would have filled stands apart until then, and at its price before it ends", async () => {
    const dip: StatementRow = { ...BUY, ticket: 8, openSecond: 30, price: "1.09700", closeSecond: 31, lastPrice: "1.09700" };
    assert.deepEqual(doneIn([BUY, LIMIT, dip]).filter((step) => "role" in step && step.role === (5 as Ticket)).map(({ kind }) => kind), ["place", "change", "cancel"]);
    const { pendings } = await playedAccount(statementOf([BUY, LIMIT, dip]));
    assert.deepEqual(pendings["s5"], { symbol: "eurusd", kind: "buy_limit", volume: 10_000_000, price: 109_800, end: "removed" });
  });

  test("that was deleted at a price that would have filled it is not filled", async () => {
    const { pendings } = await playedAccount(statementOf([BUY, { ...LIMIT, lastPrice: "1.09800" }]));
    assert.deepEqual([pendings["s5"]?.price, pendings["s5"]?.end], [109_800, "removed"]);
  });

  test("that works at the end works, alone in its symbol too", async () => {
    for (const rows of [[BUY, { ...LIMIT, closeSecond: null }], [{ ...LIMIT, closeSecond: null, lastPrice: "1.09700" }]]) {
      const { pendings } = await playedAccount(statementOf(rows));
      assert.deepEqual([pendings["s5"]?.price, pendings["s5"]?.end], [109_800, "working"]);
    }
  });

  test("within the real spread of the statement's end works on", async () => {
    // Bid 1.10000 and ask 1.10020 in the statement, two points apart in the demo.
    const rows: StatementRow[] = [{ ...BUY, closeSecond: null, lastPrice: "1.10000", stopLoss: "1.09990" }, { ...LIMIT, closeSecond: null, price: "1.10015", lastPrice: "1.10020" }];
    const { trades, pendings, levels } = await playedAccount(statementOf(rows));
    assert.deepEqual([trades["s7"]?.left, pendings["s5"]?.price, pendings["s5"]?.end, levels["s7"]], [10_000_000, 110_015, "working", [{ stopLoss: 109_990, takeProfit: null }]]);
  });

  test("that no market leaves unfilled together with another is not filled either", async () => {
    const rows: StatementRow[] = [BUY, { ...LIMIT, closeSecond: null, price: "1.20000" }, { ...LIMIT, ticket: 6, type: "buy_stop", closeSecond: null, price: "1.10000" }];
    const { pendings } = await playedAccount(statementOf(rows));
    assert.deepEqual([pendings["s5"]?.end, pendings["s6"]?.end], ["working", "working"]);
  });

  test("is placed before what happens in the same second", () => {
    assert.deepEqual(kindsIn([BUY, { ...LIMIT, openSecond: 0 }]).slice(0, 2), ["place", "open"]);
  });
});

describe("a pending order that was filled", () => {
  /** BUY, as an MT5 report has it that was a pending order of ticket 5. */
  const filledAt = (price: number, placedSecond: number, rows: readonly StatementRow[] = [{ ...BUY, openSecond: 30 }]) => {
    const statement = statementOf(rows);
    const [trade] = statement.positions;
    assert.ok(trade !== undefined && statement.fromMs !== null);
    const { symbol, digits, volume, openTimeMs: filledTimeMs } = trade;
    const placedTimeMs = (filledTimeMs - 30_000 + placedSecond * 1_000) as typeof filledTimeMs;
    const filled = { ticket: 5 as Ticket, symbol, digits, volume, stopLoss: null, takeProfit: null, magic: null, comment: "", kind: "buy_limit", placedTimeMs, price: price as typeof trade.openPrice, filledTimeMs, filledVolume: volume, filledAs: trade.ticket } as const;
    return { ...statement, filledPendings: [filled] };
  };

  test("is placed and filled, and never opened at the market", async () => {
    for (const price of [110_000, 110_004]) {
      const statement = filledAt(price, 10);
      const { trades, pendings } = await playedAccount(statement);
      assert.equal(pendings["s5"]?.end, "filled", `at ${price}`);
      assert.deepEqual([trades["s5"]?.openPrice, trades["s5"]?.closes.length, trades["s7"]], [110_000, 1, undefined]);
      assert.ok(scriptOf(statement).every(({ steps }) => steps.every(({ kind }) => kind !== "open")));
    }
  });

  test("is placed after the last quote that would have filled it too early", async () => {
    const early: StatementRow = { ...BUY, ticket: 8, openSecond: 15, closeSecond: 20, price: "1.09900", lastPrice: "1.09905" };
    const statement = filledAt(110_000, 10, [{ ...BUY, openSecond: 30 }, early, { ...BUY, ticket: 9, openSecond: 25, closeSecond: 90, price: "1.10050" }]);
    const { pendings, trades } = await playedAccount(statement);
    assert.equal(pendings["s5"]?.end, "filled");
    assert.deepEqual(Object.keys(trades).sort(), ["s5", "s8", "s9"]);
  });

  test("that the trade's own price does not reach is opened as it stands", async () => {
    const { trades, pendings } = await playedAccount(filledAt(109_000, 10));
    assert.deepEqual([trades["s7"]?.openPrice, pendings["s5"]], [110_000, undefined]);
  });
});

describe("the order of a script", () => {
  test("every symbol has a price before anything happens", () => {
    const [first, ...rest] = scriptOf(statementOf([{ ...BUY, openSecond: 5 }, { ...BUY, ticket: 8, symbol: "gbpusd", openSecond: 9 }]));
    assert.deepEqual(first?.steps.map((step) => [step.kind, "symbol" in step ? step.symbol : null]), [["quote", "eurusd"], ["quote", "gbpusd"]]);
    assert.deepEqual(rest.map(({ atMs }) => atMs), rest.map(({ atMs }) => atMs).sort((a, b) => a - b));
  });

  test("a statement of thousands of rows is made into a script in seconds", () => {
    const rows = Array.from({ length: 3_000 }, (_, index): StatementRow => ({ ...BUY, ticket: index + 1, openSecond: index, closeSecond: index + 200, stopLoss: "1.10050" }));
    assert.equal(doneIn(rows).length, 9_000);
  });
});
