// Owns the tests of what the broker does to a position by itself, on MT4 and MT5.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../protocol/ids.ts";
import type { Position } from "../../../protocol/trades.ts";
import { changesOf } from "../../../ops/broker/engine/changes.ts";
import type { TradeEvent } from "../../../ops/broker/log.ts";
import { ASK, BID, closeOrder, lots, openOrder, placeOrder, points, priced, type Engine } from "./market.ts";

function held(engine: Engine, ticket: Ticket): Position {
  const position = engine.state.positions.get(ticket);
  assert.ok(position !== undefined);
  return position;
}

const told = (engine: Engine, events: readonly TradeEvent[]): string[] => events.flatMap((event) => changesOf(event, engine.nowMs as never)).map(({ kind }) => kind);

describe("the server's own part-close", () => {
  test("MT4: the rest has a new ticket and `from #`, the part the old one and `to #`; the text comment is gone", () => {
    const engine = priced("mt4");
    const before = held(engine, engine.standing(openOrder({ stopLoss: points(108_000) })));
    const { outcome } = engine.act({ kind: "part_close", ticket: before.ticket, volume: lots("0.04") });
    assert.deepEqual(outcome, { refusal: null, ticket: null, left: 101, volume: lots("0.04"), price: BID });
    assert.deepEqual([...engine.state.positions.values()], [{ ...before, ticket: 101, identifier: 101, volume: lots("0.06"), comment: "from #100" }]);
    assert.deepEqual(engine.state.closed.map(({ position, reason }) => [position.ticket, position.comment, reason]), [[100, "to #101", "manual"]]);
  });

  test("MT5: ticket, identifier and comment stay", () => {
    const engine = priced("mt5");
    const before = held(engine, engine.standing(openOrder()));
    engine.act({ kind: "part_close", ticket: before.ticket, volume: lots("0.04") });
    assert.deepEqual([...engine.state.positions.values()], [{ ...before, volume: lots("0.06") }]);
  });

  test("of the whole, of more, off the grid, or of what is not a position there is none", () => {
    const engine = priced("mt4");
    const ticket = engine.standing(openOrder());
    const pending = engine.standing(placeOrder());
    const refusal = (of: Ticket, volume: string) => engine.act({ kind: "part_close", ticket: of, volume: lots(volume) }).outcome.refusal;
    for (const bad of ["0.10", "0.20", "0.035"]) assert.equal(refusal(ticket, bad), "invalid_volume", bad);
    assert.equal(refusal(pending, "0.04"), "unknown_position");
  });
});

describe("a stop-out", () => {
  for (const [platform, comment] of [["mt4", "so: 49.90%/99.80/200.00"], ["mt5", "mc42"]] as const) {
    test(`${platform}: closes at the market; the history's comment is ${comment}`, () => {
      const engine = priced(platform);
      const ticket = engine.standing(openOrder({ side: "sell" }));
      assert.equal(engine.act({ kind: "stop_out", ticket }).outcome.price, ASK);
      assert.deepEqual(engine.state.closed.map(({ position, reason, closePrice }) => [position.ticket, position.comment, reason, closePrice]), [[ticket, comment, "stop_out", ASK]]);
      assert.equal(engine.act({ kind: "stop_out", ticket }).outcome.refusal, "unknown_position");
    });
  }
});

describe("server work gives a position another ticket", () => {
  test("MT5: the identifier stays, the old ticket is nobody's, and the change is told under the new one", () => {
    const engine = priced("mt5");
    const before = held(engine, engine.standing(openOrder()));
    const { outcome, events } = engine.act({ kind: "reticket", ticket: before.ticket });
    assert.equal(outcome.left, 101);
    assert.deepEqual([...engine.state.positions.values()], [{ ...before, ticket: 101, identifier: 100 }]);
    assert.deepEqual(told(engine, events), ["position_changed"]);
    assert.equal(engine.ask(closeOrder(before.ticket, lots("0.10"))).outcome.refusal, "unknown_position");
    engine.ask(closeOrder(101 as Ticket, lots("0.10")));
    assert.deepEqual(engine.state.closed.map(({ position }) => [position.ticket, position.identifier]), [[101, 100]]);
  });

  test("MT4: never", () => {
    const engine = priced("mt4");
    assert.equal(engine.act({ kind: "reticket", ticket: engine.standing(openOrder()) }).outcome.refusal, "invalid_request");
  });
});

describe("MT5: the rest of a part-filled order", () => {
  const partFilled = (limits?: { maxOpen: number; maxHistory: number }): { readonly engine: Engine; readonly first: Position } => {
    const engine = priced("mt5", limits);
    return { engine, first: held(engine, engine.standing(openOrder({ volume: lots("0.04") }))) };
  };

  test("makes the position grow under its ticket, at the average price", () => {
    const { engine, first } = partFilled();
    engine.quote(108_600, 108_610);
    const { events } = engine.act({ kind: "fill_rest", first, volume: lots("0.06") });
    assert.deepEqual([...engine.state.positions.values()], [{ ...first, volume: lots("0.10"), openPrice: 108_570 }]);
    assert.deepEqual(told(engine, events), ["position_changed"]);
  });

  test("makes it grow also after a part-close, and under the ticket that server work gave it", () => {
    const { engine, first } = partFilled();
    engine.ask(closeOrder(first.ticket, lots("0.01")));
    const { left } = engine.act({ kind: "reticket", ticket: first.ticket }).outcome;
    engine.act({ kind: "fill_rest", first, volume: lots("0.06") });
    assert.deepEqual([...engine.state.positions.values()].map(({ ticket, identifier, volume }) => [ticket, identifier, volume]), [[left, first.ticket, lots("0.09")]]);
  });

  test("makes a position that was closed meanwhile stand again under its ticket", () => {
    const { engine, first } = partFilled();
    engine.ask(closeOrder(first.ticket, lots("0.04")));
    engine.quote(108_600, 108_610);
    const { events } = engine.act({ kind: "fill_rest", first, volume: lots("0.06") });
    assert.deepEqual([...engine.state.positions.values()], [{ ...first, volume: lots("0.06"), openPrice: 108_610, openTimeMs: engine.nowMs }]);
    assert.deepEqual(engine.state.closed.map(({ position }) => position.ticket), [first.ticket]);
    assert.deepEqual(told(engine, events), ["position_opened"]);
  });

  test("is not filled where it would be one position too many", () => {
    const { engine, first } = partFilled({ maxOpen: 1, maxHistory: 10 });
    engine.ask(closeOrder(first.ticket, lots("0.04")));
    engine.standing(openOrder());
    assert.equal(engine.act({ kind: "fill_rest", first, volume: lots("0.06") }).outcome.refusal, "too_many_positions");
  });
});
