// Owns the cases of reconcile's rules, one by one.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import type { Target } from "../../../actors/core/decide.ts";
import type { Action, KnownPair, PlanInput } from "../../../actors/core/reconcile/input.ts";
import { distrust, plan } from "../../../actors/core/reconcile/plan.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { AccountSnapshot } from "../../../protocol/trades.ts";
import { brokerMs, closed, link, lots, market, masterPending, masterPosition, NOW, pair, pending, points, position, quote, removed, sending, snapshot, ticket } from "./examples.ts";

type Live = Exclude<Target, { kind: "gone" }>;
const held = (more: Parameters<typeof masterPosition>[0] = {}): Live => ({ kind: "position", position: masterPosition(more) });
const waiting = (more: Parameters<typeof masterPending>[0] = {}): Live => ({ kind: "pending", pending: masterPending(more) });
const masterTicketOf = (target: Live): number => (target.kind === "position" ? target.position.masterTicket : target.pending.masterTicket);
const known = (of: Pair, more: Partial<KnownPair> = {}): KnownPair => ({ pair: of, busy: false, settlesAtMs: null, ...more });

interface Case extends Partial<Omit<PlanInput, "targets" | "pairs" | "snapshot">> {
  readonly master?: readonly Live[] | null;
  readonly at?: Partial<AccountSnapshot>;
  readonly pairs?: readonly KnownPair[];
}

const planned = (of: Case): readonly Action[] => plan(inputOf(of));

function inputOf({ master = [], at = {}, pairs = [], ...more }: Case): PlanInput {
  return {
    link: link(),
    targets: master === null ? null : new Map(master.map((target) => [ticket(masterTicketOf(target)), target])),
    snapshot: snapshot(at),
    pairs: new Map(pairs.map((entry) => [entry.pair.masterTicket, entry])),
    market: () => market(),
    masterNowMs: brokerMs(0),
    masterSilentMs: 0,
    snapshotAgeMs: 0,
    emptinessConfirmed: true,
    settledAtMs: 0,
    sinceMs: 0,
    barrier: "open",
    isFirstLook: false,
    monotonicMs: 1_000,
    nowMs: NOW,
    limits: { staleAfterMs: 15_000, settleMs: 30_000, maxOrders: 200 },
    ...more,
  };
}

/** `row 1 Open 50`, `close 50 0.4`, `open mc1 1`, `missing 1`, `again 2000`. */
function show(action: Action): string {
  switch (action.kind) {
    case "row":
      return ["row", action.pair.masterTicket, action.pair.status, action.pair.reason ?? action.pair.followerTicket].join(" ");
    case "loose":
      return `end ${action.order.ticket}`;
    case "order":
      return [action.order.kind, "comment" in action.order ? action.order.comment : action.order.ticket, ..."volume" in action.order ? [action.order.volume / lots(1)] : []].join(" ");
    case "missing":
      return `missing ${action.pair.masterTicket}`;
    case "again":
      return `again ${action.atMs}`;
  }
}
const shown = (of: Case): string[] => planned(of).map(show);
const rowOf = (of: Case): Pair => {
  const row = planned(of).find(({ kind }) => kind === "row");
  assert.ok(row?.kind === "row");
  return row.pair;
};

describe("a copy found without a pair", () => {
  test("open: it is adopted by its tag, not opened again", () => assert.deepEqual(shown({ master: [held()], at: { positions: [position()] } }), ["row 1 Open 50"]));
  test("open and part-closed on MetaTrader 5: what it was opened with includes the part", () => {
    const row = rowOf({ master: [held({ volume: lots(0.6) })], at: { positions: [position({ volume: lots(0.6) })], closed: [closed(position({ volume: lots(0.4) }))] } });
    assert.deepEqual([row.initialVolume, row.volume, row.masterInitialVolume], [lots(1), lots(0.6), lots(1)]);
  });
  test("open, of a master that part-closed meanwhile: adopted, then part-closed", () => {
    assert.deepEqual(shown({ master: [held({ volume: lots(0.6) })], at: { positions: [position()] } }), ["row 1 Open 50", "close 50 0.4"]);
  });
  test("open, and opened late after a part-close of the master: its share counts from then", () => {
    assert.deepEqual(shown({ master: [held({ volume: lots(0.6) })], at: { positions: [position({ volume: lots(0.6) })] } }), ["row 1 Open 50"]);
  });
  test("a pending order: adopted, and changed to what the master has now", () => {
    assert.deepEqual(shown({ master: [waiting({ price: points(109_400) })], at: { pendings: [pending()] } }), ["row 1 Open 50", "change 50"]);
  });
  test("closed: recorded with the reason that history gives, never opened again", () => {
    assert.deepEqual(shown({ master: [held()], at: { closed: [closed(position(), "take_profit")] } }), ["row 1 Closed take_profit"]);
    assert.deepEqual(shown({ master: [waiting()], at: { removed: [removed(pending())] } }), ["row 1 Closed removed"]);
  });
  test("of a trade that the master has no more: an orphan, closed", () => {
    assert.deepEqual(shown({ at: { positions: [position()] } }), ["row 1 Open 50", "close 50 1"]);
    assert.deepEqual(shown({ at: { pendings: [pending()] } }), ["row 1 Open 50", "cancel 50"]);
  });
  test("foreign orders are nobody's business", () => assert.deepEqual(shown({ at: { positions: [position({ magic: 1 as never }), position({ ticket: ticket(51), magic: 0 as never, comment: "by hand" })] } }), []));
});

describe("a known pair", () => {
  const open = [known(pair())];

  test("as it stands needs nothing", () => assert.deepEqual(shown({ master: [held()], pairs: open, at: { positions: [position()] } }), []));
  test("along a part-close chain: the row follows the ticket and keeps its initial volume", () => {
    const at = { positions: [position({ ticket: ticket(51), volume: lots(0.6), comment: "from #50" })], closed: [closed(position({ volume: lots(0.4), comment: "to #51" }))] };
    const row = rowOf({ master: [held({ volume: lots(0.6) })], pairs: open, at });
    assert.deepEqual([row.followerTicket, row.volume, row.initialVolume], [51, lots(0.6), lots(1)]);
    assert.deepEqual(shown({ master: [held({ volume: lots(0.6) })], pairs: open, at }), ["row 1 Open 51"]);
  });
  test("whose position the broker gave another ticket is found by its tag", () => {
    assert.deepEqual(shown({ master: [held()], pairs: open, at: { positions: [position({ ticket: ticket(70), identifier: ticket(50) })] } }), ["row 1 Open 70"]);
  });
  test("whose copy history shows closed is completed with that reason", () => {
    for (const reason of ["stop_loss", "take_profit", "stop_out", "manual"] as const) {
      assert.deepEqual(shown({ master: [held()], pairs: open, at: { closed: [closed(position(), reason)] } }), [`row 1 Closed ${reason}`]);
    }
  });
  test("closed at the broker and gone at the master: nobody's hand", () => assert.deepEqual(shown({ pairs: open, at: { closed: [closed(position())] } }), ["row 1 Closed master_closed"]));
  test("that is neither open nor in history is missing: nothing is concluded", () => {
    assert.deepEqual(shown({ master: [held()], pairs: open }), ["missing 1"]);
    assert.deepEqual(shown({ pairs: open }), ["missing 1"]);
  });
  test("whose master is gone is closed", () => assert.deepEqual(shown({ pairs: open, at: { positions: [position()] } }), ["close 50 1"]));
  test("whose master's stops are other is modified", () => assert.deepEqual(shown({ master: [held({ stopLoss: points(109_000) })], pairs: open, at: { positions: [position()] } }), ["modify 50"]));
  test("whose own stops were moved at its broker is set back to the master's", () => {
    assert.deepEqual(shown({ master: [held()], pairs: open, at: { positions: [position({ stopLoss: points(7) })] } }), ["row 1 Open 50", "modify 50"]);
  });
  test("whose pending filled unseen becomes a position", () => {
    assert.equal(rowOf({ master: [held()], pairs: [known(pair({ holds: "pending" }))], at: { positions: [position()] } }).holds, "position");
  });
  test("that is ended stays ended", () => {
    for (const status of ["Closed", "Skipped", "Superseded"] as const) assert.deepEqual(shown({ master: [held()], pairs: [known(pair({ status }))] }), []);
  });
});

describe("an order whose outcome is open", () => {
  test("found standing by its tag: adopted, settled or not", () => {
    for (const settlesAtMs of [null, 500, 9_000]) assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), { settlesAtMs })], at: { positions: [position()] } }), ["row 1 Open 50"]);
  });
  test("found ended: completed", () => assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), { settlesAtMs: 9_000 })], at: { closed: [closed(position(), "stop_loss")] } }), ["row 1 Closed stop_loss"]));
  test("not found: before its settle time nothing is sent", () => assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), { settlesAtMs: 9_000 })] }), ["again 9000"]));
  test("not found: after it, it is opened late", () => assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), { settlesAtMs: 500 })] }), ["open mc1 1"]));
  test("not found, certainly never sent: opened late at once", () => assert.deepEqual(shown({ master: [held()], pairs: [known(sending())] }), ["open mc1 1"]));
  test("not found and the master gone: ended as never copied, but not before it is settled", () => {
    assert.deepEqual(shown({ pairs: [known(sending(), { settlesAtMs: 9_000 })] }), ["again 9000"]);
    assert.deepEqual(shown({ pairs: [known(sending(), { settlesAtMs: 500 })] }), ["row 1 Skipped gone_before_copy"]);
  });
  test("a part-close whose effect is not seen is not sent again before its settle time", () => {
    const half = { master: [held({ volume: lots(0.6) })], pairs: [known(pair(), { settlesAtMs: 9_000 })] };
    assert.deepEqual(shown({ ...half, at: { positions: [position()] } }), ["again 9000"]);
    assert.deepEqual(shown({ ...half, at: { positions: [position({ stopLoss: points(7) })] } }), ["again 9000"], "levels say nothing about it");
    assert.deepEqual(shown({ ...half, at: { positions: [position({ volume: lots(0.6) })] } }), ["row 1 Open 50"]);
    assert.deepEqual(shown({ ...half, pairs: [known(pair(), { settlesAtMs: 500 })], at: { positions: [position()] } }), ["close 50 0.4"]);
  });
  test("while an order of it is under way a trade is left out", () => {
    assert.deepEqual(shown({ master: [held({ volume: lots(0.5) })], pairs: [known(pair(), { busy: true })], at: { positions: [position()] } }), []);
    assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), { busy: true })] }), []);
  });
});

describe("more than one copy", () => {
  test("of two without a pair the older is adopted, the other closed", () => {
    assert.deepEqual(shown({ master: [held()], at: { positions: [position({ ticket: ticket(60) }), position()] } }), ["row 1 Open 50", "end 60"]);
  });
  test("beside a known pair's the other is closed, also a pending one", () => {
    assert.deepEqual(shown({ master: [held()], pairs: [known(pair())], at: { positions: [position()], pendings: [pending({ ticket: ticket(40) })] } }), ["end 40"]);
  });
  test("where the pair knows the younger, the older is kept and the pair is pointed at it", () => {
    const at = { positions: [position({ ticket: ticket(60) }), position({ ticket: ticket(50), volume: lots(0.7) })] };
    assert.deepEqual(shown({ master: [held()], pairs: [known(pair({ followerTicket: ticket(60) }))], at }), ["row 1 Open 50", "end 60"]);
    assert.equal(rowOf({ master: [held()], pairs: [known(pair({ followerTicket: ticket(60) }))], at }).initialVolume, lots(0.7));
  });
  test("of which the older has ended: the trade is completed, the younger is closed", () => {
    assert.deepEqual(shown({ master: [held()], at: { positions: [position({ ticket: ticket(60) })], closed: [closed(position(), "stop_loss")] } }), ["row 1 Closed stop_loss", "end 60"]);
  });
  test("that turns up after the trade was completed is closed", () => {
    for (const master of [[held()], []]) assert.deepEqual(shown({ master, pairs: [known(pair({ status: "Closed" }))], at: { positions: [position({ ticket: ticket(60) })] } }), ["end 60"]);
  });
  test("that turns up after the trade was skipped is its copy after all", () => {
    const skipped = [known(pair({ status: "Skipped", followerTicket: null }))];
    assert.deepEqual(shown({ master: [held()], pairs: skipped, at: { positions: [position()] } }), ["row 1 Open 50"]);
    assert.equal(rowOf({ master: [held()], pairs: skipped, at: { positions: [position()] } }).opening, 2);
    assert.deepEqual(shown({ pairs: skipped, at: { positions: [position()] } }), ["row 1 Open 50", "close 50 1"]);
  });
  test("a position that reappears under its ticket when the rest of its order fills is its next opening", () => {
    const ended = [known(pair({ status: "Closed" }))];
    const row = rowOf({ master: [held()], pairs: ended, at: { positions: [position({ volume: lots(0.4) })], closed: [closed(position({ volume: lots(0.6) }))] } });
    assert.deepEqual([row.status, row.followerTicket, row.opening], ["Open", 50, 2]);
  });
});

describe("a trade of the master without a copy", () => {
  test("is opened late at a price within the slippage", () => assert.deepEqual(shown({ master: [held()], market: () => market({ quote: quote(110_050) }) }), ["open mc1 1"]));
  test("outside it is skipped as late", () => assert.deepEqual(shown({ master: [held()], market: () => market({ quote: quote(110_051) }) }), ["row 1 Skipped late_open_price_moved"]));
  test("it is opened for as long as the link allows, by the master broker's clock", () => {
    assert.deepEqual(shown({ master: [held()], masterNowMs: brokerMs(120_000) }), ["open mc1 1"]);
    assert.deepEqual(shown({ master: [held()], masterNowMs: brokerMs(120_001) }), ["row 1 Skipped too_old"]);
  });
  test("while the master's clock is not known it waits, and everything else goes on", () => {
    const two = { master: [held(), held({ masterTicket: ticket(2) })], pairs: [known(pair()), known(pair({ masterTicket: ticket(3), followerTicket: ticket(53) }))] };
    assert.deepEqual(shown({ ...two, at: { positions: [position(), position({ ticket: ticket(53), comment: "mc3" })] }, masterNowMs: null }), ["again 2000", "close 53 1"]);
  });
  test("a pending order is placed", () => assert.deepEqual(shown({ master: [waiting()] }), ["place mc1 1"]));
});

describe("a copy whose comment is gone", () => {
  test("a part-closed copy without its tag is found through its chain, without any row", () => {
    const at = { positions: [position({ ticket: ticket(51), volume: lots(0.6), comment: "from #50" })], closed: [closed(position({ volume: lots(0.4), comment: "to #51" }))] };
    const row = rowOf({ master: [held({ volume: lots(0.6) })], at });
    assert.deepEqual([row.masterTicket, row.followerTicket, row.initialVolume, row.volume], [1, 51, lots(1), lots(0.6)]);
    assert.deepEqual(shown({ master: [held({ volume: lots(0.6) })], at }), ["row 1 Open 51"]);
  });
  test("a part-close whose marks were rewritten is found by what it keeps", () => {
    const at = { positions: [position({ ticket: ticket(51), volume: lots(0.6), comment: "" })], closed: [closed(position({ volume: lots(0.4), comment: "Filled" }))] };
    assert.deepEqual(shown({ master: [held({ volume: lots(0.6) })], pairs: [known(pair())], at }), ["row 1 Open 51"]);
  });
  test("by its fingerprint, when it fits one trade only", () => {
    const at = { positions: [position({ comment: "" })] };
    for (const pairs of [[], [known(sending(), { settlesAtMs: 9_000 })]]) assert.deepEqual(shown({ master: [held()], pairs, at }), ["row 1 Open 50"]);
  });
  test("that fits two trades, or of which two fit one, is not guessed at: it is ended", () => {
    const at = { positions: [position({ comment: "" })] };
    assert.deepEqual(shown({ master: [held(), held({ masterTicket: ticket(2) })], pairs: [known(sending(), { settlesAtMs: 500 }), known(sending({ masterTicket: ticket(2) }), { settlesAtMs: 500 })], at, masterNowMs: brokerMs(130_000) }), ["row 1 Skipped too_old", "row 2 Skipped too_old", "end 50"]);
  });
  test("that fits nothing is closed: untracked orphans of our magic are nobody's", () => {
    for (const odd of [{ side: "sell" as const }, { volume: lots(0.3) }, { openPrice: points(120_000) }, { openTimeMs: brokerMs(-60_000) }]) {
      const at = { positions: [position({ comment: "", ...odd })] };
      for (const [unsettled, again] of [[{ settlesAtMs: 9_000 }, ["again 9000", "again 2000"]], [{ busy: true }, ["again 2000"]]] as const) assert.deepEqual(shown({ master: [held()], pairs: [known(sending(), unsettled)], at }), again, "not while an order is under way or unsettled");
      assert.deepEqual(shown({ at }), ["end 50"]);
    }
  });
  test("that is the rest of something older than the history is left alone", () => {
    assert.deepEqual(shown({ at: { positions: [position({ ticket: ticket(51), comment: "from #50" })] } }), []);
  });
  test("filled better than asked, or as a late open of what the master had left, is ours all the same", () => {
    assert.deepEqual(shown({ master: [held()], at: { positions: [position({ comment: "", openPrice: points(109_000) })] } }), ["row 1 Open 50"]);
    assert.deepEqual(shown({ master: [held({ volume: lots(0.5) })], at: { positions: [position({ comment: "", volume: lots(0.5) })] } }), ["row 1 Open 50"]);
  });
  test("an order bound to one pair is no candidate for another", () => {
    const at = { positions: [position({ comment: "mc2" })] };
    assert.deepEqual(shown({ master: [held(), held({ masterTicket: ticket(2) })], pairs: [known(pair())], at }), ["open mc2 1"]);
  });
});

describe("a restart", () => {
  const justCame = { sinceMs: 600, settledAtMs: 30_900 };
  test("opens nothing late that the master opened before it, until what was sent before has settled", () => {
    assert.deepEqual(shown({ master: [held()], masterNowMs: brokerMs(5_000), ...justCame }), ["again 30900"]);
    assert.deepEqual(shown({ master: [held()], masterNowMs: brokerMs(5_000), sinceMs: -31_000, settledAtMs: -1_000 }), ["open mc1 1"]);
  });
  test("opens at once what the master opened after it, as far as clocks can tell", () => {
    for (const [ageMs, does] of [[150, "open mc1 1"], [151, "again 30900"]] as const) assert.deepEqual(shown({ master: [held()], masterNowMs: brokerMs(ageMs), ...justCame }), [does]);
  });
  test("records copies that ended while nobody looked, once", () => {
    const at = { closed: [closed(position(), "take_profit")] };
    assert.deepEqual(shown({ at, isFirstLook: true }), ["row 1 Closed take_profit"]);
    assert.deepEqual(shown({ at }), []);
  });
  test("ends nothing unexplained before that: a former owner's order may be what it is", () => {
    assert.deepEqual(shown({ at: { positions: [position({ comment: "" })] }, ...justCame }), ["again 30900"]);
  });
});

describe("while the barrier waits", () => {
  const [waits, nobodys] = [{ barrier: "waiting" } as const, position({ ticket: ticket(90), comment: "", side: "sell" })];
  test("nothing is ended as unexplained: the pair that explains it may not be known yet", () => assert.deepEqual(shown({ at: { positions: [nobodys] }, ...waits }), []));
  test("nothing is opened late on a link that holds such an order, and nothing is recorded of a trade whose copy it may be", () => {
    const at = { positions: [nobodys] };
    assert.deepEqual(shown({ master: [held()], at, ...waits }), []);
    assert.deepEqual(shown({ pairs: [known(sending(), { settlesAtMs: 500 })], at, ...waits }), [], "nor is a lost order given up");
    assert.deepEqual(shown({ master: [held()], at }), ["end 90", "open mc1 1"]);
  });
  test("a link that holds none opens late: its broker's record is whole", () => assert.deepEqual(shown({ master: [held()], ...waits }), ["open mc1 1"]));
  test("known pairs are closed and modified, and copies adopted by their tag, as ever", () => {
    const at = { positions: [nobodys, position(), position({ ticket: ticket(53), comment: "mc3" }), position({ ticket: ticket(54), comment: "mc4" })] };
    const pairs = [known(pair()), known(pair({ masterTicket: ticket(3), followerTicket: ticket(53) }))];
    assert.deepEqual(shown({ master: [held({ stopLoss: points(109_000) }), held({ masterTicket: ticket(4) })], pairs, at, ...waits }), ["row 4 Open 54", "close 53 1", "modify 50"]);
  });
  test("a known copy that is nowhere is missing all the same", () => assert.deepEqual(shown({ master: [held()], pairs: [known(pair())], at: { positions: [nobodys] }, ...waits }), ["missing 1"]));
});

describe("more of an order that was filled in part", () => {
  test("raises what the copy was opened with: nothing is closed for it", () => {
    const part = pair({ initialVolume: lots(0.4), volume: lots(0.4) });
    const row = rowOf({ master: [held()], pairs: [known(part)], at: { positions: [position()] } });
    assert.deepEqual([row.initialVolume, row.volume], [lots(1), lots(1)]);
    assert.deepEqual(shown({ master: [held()], pairs: [known(part)], at: { positions: [position()] } }), ["row 1 Open 50"]);
  });
});

describe("what proves nothing", () => {
  test("an empty snapshot ends no pair and opens nothing, until it has been empty for a while", () => {
    for (const pairs of [[known(pair())], [known(sending())]]) assert.deepEqual(shown({ master: [held()], pairs, emptinessConfirmed: false }), []);
    assert.deepEqual(shown({ master: [held()], emptinessConfirmed: false }), []);
    assert.deepEqual(shown({ master: [held()] }), ["open mc1 1"]);
    assert.deepEqual(shown({ master: [held()], pairs: [known(pair())] }), ["missing 1"], "and even then ends no pair");
  });
  test("a stale snapshot and a master that has fallen silent conclude nothing, and say so", () => {
    const stands = { pairs: [known(pair())], at: { positions: [position()] } };
    assert.deepEqual(shown(stands), ["close 50 1"]);
    assert.deepEqual(shown({ ...stands, snapshotAgeMs: 15_001 }), []);
    assert.deepEqual(shown({ ...stands, masterSilentMs: 15_001 }), []);
    assert.match(distrust(inputOf({ ...stands, snapshotAgeMs: 15_001 })) ?? "", /stale/);
    assert.equal(distrust(inputOf(stands)), null);
  });
  const much = { pairs: [known(pair()), known(sending({ masterTicket: ticket(2) }))], at: { positions: [position({ ticket: ticket(70), comment: "mc9" })] } };
  test("a master that is not synced concludes nothing", () => assert.deepEqual(shown({ ...much, master: null }), []));
  test("an account that is not synced concludes nothing", () => assert.deepEqual(shown({ ...much, master: [held()], at: { ...much.at, synced: false } }), []));
});

test("a plan has a bounded number of orders, closes first, and is looked at again for the rest", () => {
  const trades = Array.from({ length: 5 }, (_, index) => held({ masterTicket: ticket(index + 1) }));
  const at = { positions: [position({ ticket: ticket(90), comment: "mc9" })] };
  assert.deepEqual(shown({ master: trades, at, limits: { staleAfterMs: 15_000, settleMs: 30_000, maxOrders: 2 } }), ["row 9 Open 90", "close 90 1", "open mc1 1", "again 1000"]);
});

test("rows come first, then closes and cancels, then levels, opens last", () => {
  const order = shown({
    master: [held({ masterTicket: ticket(1) }), held({ masterTicket: ticket(2), stopLoss: points(109_000) }), held({ masterTicket: ticket(3), volume: lots(0.5) })],
    pairs: [known(pair({ masterTicket: ticket(2), followerTicket: ticket(52) })), known(pair({ masterTicket: ticket(3), followerTicket: ticket(53) }))],
    at: { positions: [position({ ticket: ticket(52), comment: "mc2" }), position({ ticket: ticket(53), comment: "mc3" })], pendings: [pending({ ticket: ticket(54), comment: "mc4" })] },
  });
  assert.deepEqual(order, ["row 4 Open 54", "close 53 0.5", "cancel 54", "modify 52", "open mc1 1"]);
});
