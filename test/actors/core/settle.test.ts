// Owns the cases of how a pair changes: by answers and by the broker's reports, whichever comes first.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { afterChange, afterExecution, concerns, ownEnding } from "../../../actors/core/settle.ts";
import type { Answer, Order } from "../../../protocol/orders.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { AccountChange, CloseReason } from "../../../protocol/trades.ts";
import { brokerMs, closed, lots, MAGIC, masterPosition, NOW, pair, pending, points, position, removed, sending, SYMBOL, ticket } from "./examples.ts";

const OPEN: Order = { kind: "open", symbol: SYMBOL, side: "buy", volume: lots(1), priceLimit: null, stopLoss: points(109_000), takeProfit: null, magic: MAGIC, comment: "mc1" };
const PLACE: Order = { kind: "place", symbol: SYMBOL, pending: "buy_limit", volume: lots(1), price: points(109_500), stopLoss: points(109_000), takeProfit: null, magic: MAGIC, comment: "mc1" };
const close = (volume: number, part: boolean): Order => ({ kind: "close", ticket: ticket(50), symbol: SYMBOL, volume: lots(volume), part });
const MODIFY: Order = { kind: "modify", ticket: ticket(50), symbol: SYMBOL, stopLoss: points(109_000), takeProfit: points(112_000) };

type Executed = Extract<Answer, { kind: "done" | "done_in_part" }>;
const done = (of: number | null, volume = 0, price: number | null = null, kind: Executed["kind"] = "done"): Executed => ({ kind, ticket: of === null ? null : ticket(of), volume: lots(volume), price: price === null ? null : points(price), brokerMs: brokerMs(0) });
const answered = (before: Pair, order: Order, answer: Executed, sent = before): Pair => afterExecution(before, order, answer, sent, NOW);
const reported = (before: Pair, change: AccountChange, closing = false): Pair => afterChange(before, change, closing ? "master_closed" : null, NOW);

const opened = (more: Parameters<typeof position>[0] = {}): AccountChange => ({ kind: "position_opened", brokerMs: brokerMs(0), position: position(more) });
const changed = (more: Parameters<typeof position>[0] = {}): AccountChange => ({ kind: "position_changed", brokerMs: brokerMs(0), position: position(more) });
const ended = (reason: CloseReason, more: Parameters<typeof position>[0] = {}): AccountChange => ({ kind: "position_closed", brokerMs: brokerMs(0), closed: closed(position(more), reason) });
const filled = (more: Parameters<typeof position>[0] = {}): AccountChange => ({ kind: "pending_filled", brokerMs: brokerMs(0), pendingTicket: ticket(50), position: position(more) });

const core = ({ status, holds, followerTicket, initialVolume, volume, stopLoss, openPrice }: Pair) => ({ status, holds, followerTicket, initialVolume, volume, stopLoss, openPrice });

describe("an open", () => {
  test("by its answer: ticket, executed volume, fill price, the stops that were asked for", () => {
    assert.deepEqual(core(answered(sending(), OPEN, done(50, 0.9, 110_003, "done_in_part"))), { status: "Open", holds: "position", followerTicket: 50, initialVolume: lots(0.9), volume: lots(0.9), stopLoss: 109_000, openPrice: 110_003 });
  });
  test("by the broker's report, while no answer came", () => {
    assert.deepEqual(core(reported(sending(), opened({ volume: lots(0.9), stopLoss: points(5), openPrice: points(110_003) }))), { status: "Open", holds: "position", followerTicket: 50, initialVolume: lots(0.9), volume: lots(0.9), stopLoss: 5, openPrice: 110_003 });
  });
  test("report and answer come to the same in either order", () => {
    const report = opened({ stopLoss: points(109_000), openPrice: points(110_003) });
    const answer = done(50, 1, 110_003);
    assert.deepEqual(core(answered(reported(sending(), report), OPEN, answer, sending())), core(reported(answered(sending(), OPEN, answer), report)));
  });
  test("an answer that comes after a server's own part-close does not bring the old ticket back", () => {
    const moved = reported(reported(sending(), opened()), opened({ ticket: ticket(51), volume: lots(0.4), comment: "from #50" }));
    assert.deepEqual([moved.followerTicket, answered(moved, OPEN, done(50, 1), sending()).followerTicket, answered(moved, OPEN, done(50, 1), sending()).volume], [51, 51, lots(0.4)]);
  });
  test("an answer without a ticket leaves the pair open and nameless, to be found by its tag", () => {
    const nameless = answered(sending(), OPEN, done(null, 1));
    assert.deepEqual([nameless.status, nameless.followerTicket], ["Open", null]);
    assert.ok(concerns(nameless, opened(), MAGIC));
    assert.equal(reported(nameless, opened()).followerTicket, 50);
  });
});

describe("a part-close", () => {
  const part = close(0.4, true);
  test("on MetaTrader 5: answer first, then the report", () => assert.equal(reported(answered(pair(), part, done(50, 0.4)), changed({ volume: lots(0.6) })).volume, lots(0.6)));
  test("on MetaTrader 5: report first, then the answer, counted once", () => {
    assert.equal(answered(reported(pair(), changed({ volume: lots(0.6) })), part, done(50, 0.4), pair()).volume, lots(0.6));
  });
  test("on MetaTrader 4 the rest's ticket comes with the report", () => {
    const moved = reported(pair(), opened({ ticket: ticket(51), volume: lots(0.6), comment: "from #50" }));
    assert.deepEqual([moved.followerTicket, moved.volume, moved.initialVolume], [51, lots(0.6), lots(1)]);
    assert.deepEqual([answered(moved, part, done(null, 0.4), pair()).followerTicket, answered(moved, part, done(51, 0.4), pair()).volume], [51, lots(0.6)]);
  });
  test("on MetaTrader 4 an answer that names the rest settles it, and the late report changes nothing", () => {
    const settled = answered(pair(), part, done(51, 0.4));
    assert.deepEqual([settled.followerTicket, settled.volume], [51, lots(0.6)]);
    const late = opened({ ticket: ticket(51), volume: lots(0.6), comment: "from #50" });
    assert.ok(concerns(settled, late, MAGIC));
    assert.deepEqual(core(reported(settled, late)), core(settled));
  });
  test("on MetaTrader 4 without the rest's ticket nothing is concluded", () => assert.deepEqual(answered(pair(), part, done(null, 0.4)), pair()));
  test("the closed part is not the end: its comment says where the rest went", () => assert.equal(reported(pair(), ended("manual", { volume: lots(0.4), comment: "to #51" })).status, "Open"));
  test("what the master then held is remembered with the share that answers to it", () => {
    const sent = pair({ masterVolume: lots(0.6) });
    assert.equal(answered(pair(), part, done(50, 0.4), sent).masterVolume, lots(0.6));
    assert.equal(answered(reported(pair(), opened({ ticket: ticket(51), volume: lots(0.6), comment: "from #50" })), part, done(null, 0.4), sent).masterVolume, lots(0.6));
  });
});

describe("an end", () => {
  test("our own close is the master's, whether answer or report comes first", () => {
    assert.equal(answered(pair(), close(1, false), done(50, 1), pair({ masterVolume: lots(0) })).reason, "master_closed");
    assert.equal(reported(pair(), ended("manual"), true).reason, "master_closed");
  });
  test("a residue that is closed whole says so: the master still holds", () => {
    assert.equal(answered(pair(), close(1, false), done(50, 1), pair({ masterVolume: lots(0.1) })).reason, "part_below_grid");
    assert.equal(ownEnding(close(1, false), { kind: "position", position: masterPosition() }), "part_below_grid");
    assert.equal(ownEnding(null, { kind: "gone", reason: "master_closed" }), "master_closed");
    assert.equal(ownEnding(null, { kind: "position", position: masterPosition() }), null);
  });
  test("a full close that was executed in part leaves the rest standing", () => {
    const left = answered(pair(), close(1, false), done(50, 0.3, null, "done_in_part"));
    assert.deepEqual([left.status, left.volume], ["Open", lots(0.7)]);
  });
  for (const reason of ["manual", "stop_loss", "take_profit", "stop_out"] as const) {
    test(`closed at the broker by ${reason}`, () => assert.deepEqual([reported(pair(), ended(reason)).status, reported(pair(), ended(reason)).reason, reported(pair(), ended(reason)).volume], ["Closed", reason, 0]));
  }
  test("a stop that is hit while we close is still a stop", () => assert.equal(reported(pair(), ended("stop_loss"), true).reason, "stop_loss"));
  test("an ended pair never changes", () => {
    const over = pair({ status: "Closed", reason: "manual" });
    for (const change of [opened(), changed(), ended("stop_loss"), filled()]) assert.equal(reported(over, change), over);
    for (const order of [OPEN, PLACE, close(1, false), MODIFY]) assert.equal(answered(over, order, done(50, 1)), over);
  });
  test("a modify that is answered after the ticket moved changes no levels", () => assert.equal(answered(pair({ followerTicket: ticket(51) }), MODIFY, done(50)).stopLoss, null));
});

describe("a pending order", () => {
  const placed = answered(sending({ holds: "pending" }), PLACE, done(50));
  test("by its answer", () => assert.deepEqual(core(placed), { status: "Open", holds: "pending", followerTicket: 50, initialVolume: lots(1), volume: lots(1), stopLoss: 109_000, openPrice: 109_500 }));
  test("by its report", () => {
    const report: AccountChange = { kind: "pending_placed", brokerMs: brokerMs(0), pending: pending({ stopLoss: points(109_000) }) };
    assert.ok(concerns(sending({ holds: "pending" }), report, MAGIC));
    assert.deepEqual(core(reported(sending({ holds: "pending" }), report)), core(placed));
  });
  test("fills: it holds a position now, and counts shares from what was filled", () => {
    const now = reported(placed, filled({ volume: lots(0.8), openPrice: points(109_499) }));
    assert.deepEqual([now.holds, now.initialVolume, now.openPrice], ["position", lots(0.8), 109_499]);
  });
  test("fills before its answer: found by tag, and the answer changes nothing more", () => {
    const unanswered = sending({ holds: "pending" });
    assert.ok(concerns(unanswered, filled(), MAGIC));
    const now = reported(unanswered, filled({ ticket: ticket(60) }));
    assert.deepEqual(core(answered(now, PLACE, done(50), unanswered)), core(now));
  });
  test("ends by our cancel or at the broker", () => {
    const end: AccountChange = { kind: "pending_removed", brokerMs: brokerMs(0), removed: removed(pending(), "expired") };
    assert.equal(answered(placed, { kind: "cancel", ticket: ticket(50), symbol: SYMBOL }, done(50)).reason, "master_cancelled");
    assert.equal(reported(placed, end, true).reason, "master_cancelled");
    assert.deepEqual([reported(placed, end).reason, reported(placed, end).detail["why"]], ["removed", "expired"]);
  });
  test("a cancel answered after it filled ends nothing", () => assert.equal(answered(reported(placed, filled()), { kind: "cancel", ticket: ticket(50), symbol: SYMBOL }, done(50)).status, "Open"));
  test("is changed to what was asked, or to what is reported", () => {
    const order: Order = { kind: "change", ticket: ticket(50), symbol: SYMBOL, price: points(109_400), stopLoss: null, takeProfit: null };
    const report: AccountChange = { kind: "pending_changed", brokerMs: brokerMs(0), pending: pending({ price: points(109_400) }) };
    assert.deepEqual(core(answered(placed, order, done(50))), core(reported(placed, report)));
  });
});

describe("whom a report concerns", () => {
  test("while the ticket is not known, the whole tag under our magic", () => {
    assert.ok(concerns(sending(), opened({ comment: "mc1" }), MAGIC));
    for (const other of [{ comment: "mc12" }, { comment: "xmc1" }, { magic: 1 as typeof MAGIC }, { comment: "" }]) assert.ok(!concerns(sending(), opened(other), MAGIC), JSON.stringify(other));
  });
  test("afterwards the ticket and its chain, not the tag", () => {
    assert.ok(!concerns(pair(), opened({ ticket: ticket(51) }), MAGIC));
    assert.ok(concerns(pair(), opened({ ticket: ticket(51), comment: "from #50" }), MAGIC));
    assert.ok(!concerns(pair(), changed({ ticket: ticket(51) }), MAGIC));
  });
  test("a position that was given another ticket, by identifier, or by tag when that changed twice", () => {
    assert.ok(concerns(pair(), changed({ ticket: ticket(70), identifier: ticket(50), comment: "" }), MAGIC));
    assert.ok(concerns(pair({ followerTicket: ticket(70) }), changed({ ticket: ticket(71), identifier: ticket(50) }), MAGIC));
    assert.equal(reported(pair(), changed({ ticket: ticket(70), identifier: ticket(50) })).followerTicket, 70);
  });
});
