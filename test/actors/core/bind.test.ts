// Owns the cases of identity without a tag: chains whose beginning the history does not show, and fingerprints pass by pass.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bind, type Fingerprint } from "../../../actors/core/reconcile/bind.ts";
import { fingerprintsOf } from "../../../actors/core/reconcile/fingerprints.ts";
import { gatherCopies } from "../../../actors/core/reconcile/copies.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { Position } from "../../../protocol/trades.ts";
import { brokerMs, link, lots, market, masterPosition, pair, position, snapshot, ticket } from "./examples.ts";

/** By master ticket, the standing ticket that is bound to it; and what nobody explains. */
function bound(positions: readonly Position[], pairs: readonly Pair[], passes: readonly (readonly Fingerprint[])[]): { readonly of: readonly unknown[]; readonly nobodys: readonly unknown[] } {
  const { copyOf, unexplained } = bind(gatherCopies(snapshot({ positions }), link().magic, new Set()), pairs, passes);
  const standing = ({ tickets }: { readonly tickets: readonly number[] }): number | undefined => tickets.at(-1);
  return { of: [...copyOf].map(([masterTicket, copy]) => [masterTicket, standing(copy)]).sort(), nobodys: unexplained.map(standing) };
}

const nameless = (of: number, openedAtMs: number): Position => position({ ticket: ticket(of), identifier: ticket(of), comment: "", openTimeMs: brokerMs(openedAtMs) });

/** Of a trade that its master opened at that time, on the follower's clock. */
function print(masterTicket: number, openedAtMs: number, withinMs: number): Fingerprint {
  const { symbol, side, openPrice } = position();
  return { masterTicket: ticket(masterTicket), symbol, side, initialVolumes: [lots(1)], openedFromMs: brokerMs(openedAtMs - 2_000), openedToMs: brokerMs(openedAtMs + withinMs), openPrice, tolerancePoints: 50 };
}
const passes = (...opened: readonly (readonly [masterTicket: number, atMs: number])[]): Fingerprint[][] => [5_000, 120_000].map((withinMs) => opened.map(([masterTicket, atMs]) => print(masterTicket, atMs, withinMs)));

describe("the rest of something that the history does not show", () => {
  const rest = position({ ticket: ticket(51), identifier: ticket(51), volume: lots(0.6), comment: "from #50" });
  test("is the copy of the pair that knows the ticket it names", () => assert.deepEqual(bound([rest], [pair()], []), { of: [[1, 51]], nobodys: [] }));
  test("is nobody's when no pair does", () => assert.deepEqual(bound([rest], [pair({ followerTicket: ticket(49) })], []), { of: [], nobodys: [51] }));
});

describe("copies that are alike and have no tag", () => {
  const [first, second] = [nameless(50, 300), nameless(51, 10_300)];
  test("belong to the trades that were opened just before them", () => assert.deepEqual(bound([first, second], [], passes([1, 0], [2, 10_000])), { of: [[1, 50], [2, 51]], nobodys: [] }));
  test("one that was opened late belongs to the trade that is left", () => assert.deepEqual(bound([nameless(50, 30_000), second], [], passes([1, 0], [2, 10_000])), { of: [[1, 50], [2, 51]], nobodys: [] }));
  test("that were opened together are nobody's: there is no guess", () => assert.deepEqual(bound([first, nameless(51, 1_300)], [], passes([1, 0], [2, 1_000])), { of: [], nobodys: [50, 51] }));
  test("and fit nothing at once are told apart by nothing", () => assert.deepEqual(bound([nameless(50, 30_000)], [], passes([1, 0], [2, 10_000])), { of: [], nobodys: [50] }));
});

test("there is one pass only while the barrier waits, since a row that is still to come knows better than what fits at once, and by an old snapshot", () => {
  const input = { link: link(), targets: new Map([[ticket(1), { kind: "position" as const, position: masterPosition() }]]), snapshot: snapshot(), snapshotAgeMs: 0, pairs: new Map(), market: () => market(), masterNowMs: brokerMs(0), limits: { staleAfterMs: 15_000, settleMs: 30_000, maxOrders: 200 } };
  const windows = (barrier: "open" | "waiting", snapshotAgeMs = 2_000): number[][] => fingerprintsOf({ ...input, barrier, snapshotAgeMs }).map((prints) => prints.map(({ openedFromMs, openedToMs }) => openedToMs - openedFromMs));
  const [[atOnce] = [], [late] = []] = windows("open");
  assert.ok(atOnce !== undefined && late !== undefined && atOnce < late);
  assert.deepEqual([windows("waiting"), windows("open", 2_001)], [[[late]], [[late]]]);
});
