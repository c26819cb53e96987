// Owns the cases of a master's state: which ticks its broker's changes make, and who a trade is.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { EMPTY_MASTER, foldChange, hasUnknownChain, stateOfSnapshot, type MasterState } from "../../../actors/core/masterState.ts";
import type { MasterPosition, TickBody } from "../../../protocol/ticks.ts";
import type { AccountChange, Position } from "../../../protocol/trades.ts";
import { brokerMs, closed, lots, pending, points, position, removed, snapshot, ticket } from "./examples.ts";

const own = (number: number, volume: number, comment = ""): Position => position({ ticket: ticket(number), volume: lots(volume), comment });
const opened = (of: Position): AccountChange => ({ kind: "position_opened", brokerMs: brokerMs(0), position: of });
const changed = (of: Position): AccountChange => ({ kind: "position_changed", brokerMs: brokerMs(0), position: of });
const ended = (of: Position): AccountChange => ({ kind: "position_closed", brokerMs: brokerMs(0), closed: closed(of) });

function fold(changes: readonly AccountChange[], from: MasterState = EMPTY_MASTER): { state: MasterState; ticks: TickBody[] } {
  const ticks: TickBody[] = [];
  let state = from;
  for (const change of changes) {
    const step = foldChange(state, change);
    state = step.state;
    if (step.tick !== null) ticks.push(step.tick);
  }
  return { state, ticks };
}

/** `part_closed 1 as 2: 0.6 of 1`. */
function show(tick: TickBody): string {
  if (!("position" in tick)) return "masterTicket" in tick ? `${tick.kind} ${tick.masterTicket}` : tick.kind;
  return `${tick.kind} ${shown(tick.position)}`;
}
const shown = (of: MasterPosition): string => `${of.masterTicket} as ${of.ticket}: ${of.volume / lots(1)} of ${of.initialVolume / lots(1)}`;
const standing = (state: MasterState): string[] => [...state.positions.values()].map(shown);

const FIRST_PART = [ended(own(1, 0.4, "to #2")), opened(own(2, 0.6, "from #1"))];
const SECOND_PART = [ended(own(2, 0.1, "to #3")), opened(own(3, 0.5, "from #2"))];

describe("MetaTrader 4's part-closes", () => {
  test("the closed part first, then the rest: one part-close of the first ticket", () => {
    const { ticks, state } = fold([opened(own(1, 1)), ...FIRST_PART]);
    assert.deepEqual(ticks.map(show), ["opened 1 as 1: 1 of 1", "part_closed 1 as 2: 0.6 of 1"]);
    assert.deepEqual(standing(state), ["1 as 2: 0.6 of 1"]);
  });
  test("the rest first, then the closed part: the same", () => {
    const { ticks, state } = fold([opened(own(1, 1)), ...[...FIRST_PART].reverse()]);
    assert.deepEqual(ticks.map(show), ["opened 1 as 1: 1 of 1", "part_closed 1 as 2: 0.6 of 1"]);
    assert.deepEqual(standing(state), ["1 as 2: 0.6 of 1"]);
  });
  test("between the two the trade still stands", () => {
    assert.deepEqual(standing(fold([opened(own(1, 1)), ended(own(1, 0.4, "to #2"))]).state), ["1 as 1: 1 of 1"]);
  });
  test("a chain of three keeps the first ticket and the initial volume, and closes under it", () => {
    const { ticks } = fold([opened(own(1, 1)), ...FIRST_PART, ...SECOND_PART, changed({ ...own(3, 0.5, "from #2"), stopLoss: points(5) }), ended(own(3, 0.5, "from #2[sl/gap]"))]);
    assert.deepEqual(ticks.map(show), ["opened 1 as 1: 1 of 1", "part_closed 1 as 2: 0.6 of 1", "part_closed 1 as 3: 0.5 of 1", "modified 1 as 3: 0.5 of 1", "closed 1"]);
  });
  test("a part that the server closes by itself at the target is a part-close too", () => {
    const part: AccountChange = { kind: "position_closed", brokerMs: brokerMs(0), closed: closed(own(1, 0.4, "to #2"), "take_profit") };
    assert.deepEqual(fold([opened(own(1, 1)), part, opened(own(2, 0.6, "from #1"))]).ticks.map(show).slice(1), ["part_closed 1 as 2: 0.6 of 1"]);
  });
  test("a rest whose old ticket is not known opens, changes and closes nothing, and so do its own rests", () => {
    const rest = own(8, 0.5, "from #7");
    const { ticks, state } = fold([opened(rest), changed({ ...rest, stopLoss: points(5) }), ended(own(8, 0.2, "to #9")), opened(own(9, 0.3, "from #8")), ended(own(9, 0.3, "from #8"))]);
    assert.deepEqual([ticks, standing(state), [...state.unresolved]], [[], [], []]);
  });
  test("a rest that is reported again does not lose its identity", () => {
    const { ticks, state } = fold([opened(own(1, 1)), ...FIRST_PART, opened(own(2, 0.6, "from #1"))]);
    assert.equal(ticks.length, 2);
    assert.deepEqual([standing(state), [...state.unresolved]], [["1 as 2: 0.6 of 1"], []]);
  });
});

describe("other changes", () => {
  test("MetaTrader 5 part-closes under the same ticket", () => {
    assert.deepEqual(fold([opened(own(1, 1)), changed(own(1, 0.3))]).ticks.map(show), ["opened 1 as 1: 1 of 1", "part_closed 1 as 1: 0.3 of 1"]);
  });
  test("a change that changes nothing makes no tick", () => assert.equal(fold([opened(own(1, 1)), changed(own(1, 1))]).ticks.length, 1));
  test("a position that was not reported before is an open", () => assert.deepEqual(fold([changed(own(1, 1))]).ticks.map(show), ["opened 1 as 1: 1 of 1"]));
  test("the end of what is not known makes no tick", () => assert.deepEqual(fold([ended(own(1, 1))]).ticks, []));
  test("a pending keeps its identity when it fills, also where the position has another ticket", () => {
    const order = pending({ ticket: ticket(5) });
    const filled = own(6, 1);
    const { ticks, state } = fold([
      { kind: "pending_placed", brokerMs: brokerMs(0), pending: order },
      { kind: "pending_filled", brokerMs: brokerMs(0), pendingTicket: order.ticket, position: filled },
      ended(filled),
    ]);
    assert.deepEqual(ticks.map(show), ["pending_placed", "pending_filled 5 as 6: 1 of 1", "closed 5"]);
    assert.equal(state.pendings.size, 0);
  });
  test("a position that MetaTrader 5 gives another ticket stays the same trade, once and again", () => {
    const again = (number: number, volume: number): Position => ({ ...own(number, volume), identifier: ticket(1) });
    const { ticks, state } = fold([opened(own(1, 1)), changed(again(7, 1)), changed(again(8, 0.4)), ended(again(9, 0.4))]);
    assert.deepEqual(ticks.map(show), ["opened 1 as 1: 1 of 1", "modified 1 as 7: 1 of 1", "part_closed 1 as 8: 0.4 of 1", "closed 1"]);
    assert.deepEqual(standing(state), []);
    assert.deepEqual(standing(stateOfSnapshot(snapshot({ positions: [again(7, 1)] }), EMPTY_MASTER)), ["1 as 7: 1 of 1"]);
  });
  test("a pending is placed, changed and cancelled; a change of one not known is a placing", () => {
    const order = pending({ ticket: ticket(5) });
    const change: AccountChange = { kind: "pending_changed", brokerMs: brokerMs(0), pending: { ...order, price: points(1) } };
    const end: AccountChange = { kind: "pending_removed", brokerMs: brokerMs(0), removed: removed(order, "expired") };
    assert.deepEqual(fold([change, change, end, end]).ticks.map(show), ["pending_placed", "pending_changed", "pending_cancelled 5"]);
  });
});

describe("the state of a snapshot", () => {
  const chain = { positions: [own(3, 0.5, "from #2")], closed: [closed(own(1, 0.4, "to #2")), closed(own(2, 0.1, "to #3"))] };

  test("chains are followed back through the history to the first ticket and the initial volume", () => {
    assert.deepEqual(standing(stateOfSnapshot(snapshot(chain), EMPTY_MASTER)), ["1 as 3: 0.5 of 1"]);
  });
  test("also when the rest's own comment was cleared", () => {
    assert.deepEqual(standing(stateOfSnapshot(snapshot({ ...chain, positions: [own(3, 0.5)] }), EMPTY_MASTER)), ["1 as 3: 0.5 of 1"]);
  });
  test("what MetaTrader 5 closed of a position counts into its initial volume", () => {
    assert.deepEqual(standing(stateOfSnapshot(snapshot({ positions: [own(1, 0.5)], closed: [closed(own(1, 0.2)), closed(own(1, 0.3))] }), EMPTY_MASTER)), ["1 as 1: 0.5 of 1"]);
  });
  test("a chain that is not in the history is unresolved", () => {
    const state = stateOfSnapshot(snapshot({ positions: [own(3, 0.5, "from #2")] }), EMPTY_MASTER);
    assert.deepEqual([standing(state), [...state.unresolved]], [[], [3]]);
  });
  test("a trade known before keeps its identity when the history is too short for it", () => {
    const before = fold([opened(own(1, 1)), ...FIRST_PART]).state;
    assert.deepEqual(standing(stateOfSnapshot(snapshot({ positions: [own(2, 0.6, "from #1")] }), before)), ["1 as 2: 0.6 of 1"]);
    const partClosedMeanwhile = snapshot({ positions: [own(3, 0.5, "from #2")], closed: [closed(own(2, 0.1, "to #3"))] });
    assert.deepEqual(standing(stateOfSnapshot(partClosedMeanwhile, before)), ["1 as 3: 0.5 of 1"]);
  });
  test("a chain that is not known asks for the whole history; a known one does not", () => {
    assert.ok(hasUnknownChain(EMPTY_MASTER, snapshot(chain)));
    assert.ok(!hasUnknownChain(stateOfSnapshot(snapshot(chain), EMPTY_MASTER), snapshot(chain)));
    assert.ok(!hasUnknownChain(EMPTY_MASTER, snapshot({ positions: [own(1, 1)] })));
    const dayLater = snapshot({ positions: [own(1, 1)], takenAtMs: brokerMs(86_400_000) });
    assert.ok(hasUnknownChain(EMPTY_MASTER, dayLater), "parts of it may have been closed before the history that is shown");
    assert.ok(!hasUnknownChain(stateOfSnapshot(dayLater, EMPTY_MASTER), dayLater));
  });
  test("comments that name one another in a circle are unresolved", () => {
    const state = stateOfSnapshot(snapshot({ positions: [own(1, 1, "from #2")], closed: [closed(own(2, 1, "to #1")), closed(own(1, 1, "to #2"))] }), EMPTY_MASTER);
    assert.deepEqual([...state.unresolved], [1]);
  });
});
