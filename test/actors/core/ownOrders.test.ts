// Owns the cases of finding our own copies in a follower's account.

import { test } from "node:test";
import assert from "node:assert/strict";
import { ownOrders, type Standing } from "../../../actors/core/ownOrders.ts";
import { magic } from "../../../protocol/ids.ts";
import type { AccountSnapshot } from "../../../protocol/trades.ts";
import { closed, lots, MAGIC, pending, position, removed, snapshot, ticket } from "./examples.ts";

const own = (more: Partial<AccountSnapshot>) => ownOrders(snapshot(more), MAGIC);

function show(standing: Standing): string {
  switch (standing.kind) {
    case "position":
      return `position ${standing.position.ticket} of ${standing.initialVolume / lots(1)}`;
    case "pending":
      return `pending ${standing.pending.ticket}`;
    case "ended":
      return `ended ${"pending" in standing.entry ? standing.entry.pending.ticket : standing.entry.position.ticket}`;
    case "none":
      return "none";
  }
}

const mt4Rest = position({ ticket: ticket(52), volume: lots(0.5), comment: "from #51" });
const mt4Parts = [closed(position({ ticket: ticket(50), volume: lots(0.4), comment: "to #51" })), closed(position({ ticket: ticket(51), volume: lots(0.1), comment: "to #52" }))];

test("by ticket: an open position, with what was closed of it", () => {
  assert.equal(show(own({ positions: [position({ volume: lots(0.6) })], closed: [closed(position({ volume: lots(0.4) }))] }).byTicket(ticket(50))), "position 50 of 1");
});
test("by ticket: along the new tickets of MetaTrader 4, from any of them", () => {
  const found = own({ positions: [mt4Rest], closed: mt4Parts });
  assert.deepEqual([50, 51, 52].map((number) => show(found.byTicket(ticket(number)))), ["position 52 of 1", "position 52 of 0.6", "position 52 of 0.5"]);
});
test("by ticket: along a chain whose closed part is not in the history, by the rest's own comment", () => {
  assert.equal(show(own({ positions: [position({ ticket: ticket(51), comment: "from #50" })] }).byTicket(ticket(50))), "position 51 of 1");
});
test("by ticket: ended at the end of its chain", () => {
  assert.equal(show(own({ closed: [...mt4Parts, closed(mt4Rest, "stop_loss")] }).byTicket(ticket(50))), "ended 52");
});
test("by ticket: a chain whose rest is nowhere is not ended, it is not found", () => assert.equal(show(own({ closed: mt4Parts }).byTicket(ticket(50))), "none"));
test("by ticket: pending orders, placed and removed", () => {
  assert.equal(show(own({ pendings: [pending()] }).byTicket(ticket(50))), "pending 50");
  assert.equal(show(own({ removed: [removed(pending())] }).byTicket(ticket(50))), "ended 50");
});
test("by tag: open before ended, of two open ones the older", () => {
  const two = own({ positions: [position({ ticket: ticket(60) }), position({ ticket: ticket(55) })], closed: [closed(position({ ticket: ticket(40) }))] });
  assert.equal(show(two.byTag(ticket(1))), "position 55 of 1");
  assert.deepEqual(two.openOf(ticket(1)).map((order) => order.ticket), [55, 60]);
  assert.equal(show(own({ closed: [closed(position())] }).byTag(ticket(1))), "ended 50");
});
test("by tag: only a whole tag under our magic counts, whatever stands behind it", () => {
  for (const comment of ["mc1", "mc1[tp]", "mc1 anything"]) assert.equal(show(own({ positions: [position({ comment })] }).byTag(ticket(1))), "position 50 of 1", comment);
  for (const foreign of [position({ comment: "mc12" }), position({ comment: "xmc1" }), position({ magic: magic(1) }), position({ comment: "" })]) {
    assert.equal(show(own({ positions: [foreign] }).byTag(ticket(1))), "none", foreign.comment);
  }
});
test("the master tickets that open orders name", () => {
  const found = own({ positions: [position(), position({ ticket: ticket(51), comment: "mc9" }), position({ ticket: ticket(52), comment: "by hand" })], closed: [closed(position({ comment: "mc7" }))] });
  assert.deepEqual([...found.masterTickets()], [1, 9]);
});
test("comments that name one another in a circle end the search", () => {
  assert.equal(show(own({ closed: [closed(position({ ticket: ticket(50), comment: "to #51" })), closed(position({ ticket: ticket(51), comment: "to #50" }))] }).byTicket(ticket(50))), "none");
});
