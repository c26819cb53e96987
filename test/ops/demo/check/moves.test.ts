// Owns the tests of accounts that change their owners: what a new owner could not know of is no fault,
// and a move hides nothing else.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ticket } from "../../../../protocol/ids.ts";
import type { ReasonCode } from "../../../../protocol/reasons.ts";
import { RESYNC_MS } from "../../../../ops/demo/check/ears.ts";
import { F1, staged, type Played } from "./script.ts";
import { GRACE_MS, SETTLE_MS, type Theatre } from "./theatre.ts";
import { assertBroken, assertRight, idle, open, SIMPLE, withRow } from "./trouble.ts";

const HANDOVER_MS = 400;
const MOVES: Parameters<Theatre["report"]>[0] = { handoverMs: HANDOVER_MS };
const GAP_MS = 700;

/** F1 is owned, and nothing is done for it any more: what its rows say is up to the case. */
function owned(): Played {
  const played = staged(SIMPLE);
  played.theatre.disconnect(F1);
  played.theatre.connect(F1, "n1/a#1");
  played.theatre.rest();
  idle(played, F1);
  return played;
}

/** From one owner to the next; both times from now. */
function move({ theatre }: Played, { client = "n2/b#2", meanwhile = () => {} }: { readonly client?: string; readonly meanwhile?: () => void } = {}): void {
  theatre.disconnect(F1);
  meanwhile();
  theatre.pass(GAP_MS);
  theatre.connect(F1, client);
}

const over = ({ theatre }: Played): void => theatre.pass(RESYNC_MS + SETTLE_MS + 4 * GRACE_MS);
const withoutRow = ({ theatre }: Played) => ({ rows: theatre.rows().filter(({ pair }) => pair.follower !== F1) });

describe("a trade that begins and ends while nobody owns the follower", () => {
  const played = (client?: string): Played => {
    const one = owned();
    const brief = (): void => {
      const ticket = open(one);
      one.theatre.pass(100);
      one.theatre.close(ticket);
    };
    move(one, { meanwhile: brief, ...(client === undefined ? {} : { client }) });
    over(one);
    return one;
  };

  test("needs no row, and is counted as unheard", () => {
    const one = played();
    assertRight(one, { ...MOVES, ...withoutRow(one) });
    assert.deepEqual(one.theatre.report({ ...MOVES, ...withoutRow(one) }).followers.find(({ id }) => id === F1)?.skipped, { unheard: 1 });
  });
  test("is missing where accounts stay where they are", () => {
    const one = played();
    assertBroken(one, ["missing f1"], withoutRow(one));
  });
  test("is missing where its owner only logged in again", () => {
    const one = played("n1/a#1");
    assertBroken(one, ["missing f1"], { ...MOVES, ...withoutRow(one) });
  });
});

describe("a trade that begins before its follower's owner has gone", () => {
  const played = (beforeMs: number, { outlives = false } = {}): Played => {
    const one = owned();
    const ticket = open(one);
    one.theatre.pass(beforeMs);
    move(one, { meanwhile: () => void (!outlives && one.theatre.close(ticket)) });
    if (outlives) one.theatre.pass(100);
    if (outlives) one.theatre.close(ticket);
    over(one);
    return one;
  };

  test("when that one may have taken nothing new any more: needs no row", () => {
    const one = played(HANDOVER_MS - 50);
    assertRight(one, { ...MOVES, ...withoutRow(one) });
  });
  test("earlier than that: is missing", () => {
    const one = played(HANDOVER_MS + 50);
    assertBroken(one, ["missing f1"], { ...MOVES, ...withoutRow(one) });
  });
  test("and ends under the new owner: is missing without a row", () => {
    const one = played(50, { outlives: true });
    assertBroken(one, ["missing f1"], { ...MOVES, ...withoutRow(one) });
  });
});

describe("a trade that stands when the new owner comes", () => {
  const skipped = (standsMs: number, reason: ReasonCode = "gone_before_copy"): { readonly one: Played; readonly rows: ReturnType<typeof withRow> } => {
    const one = owned();
    let ticket = 0 as Ticket;
    move(one, { meanwhile: () => void (ticket = open(one)) });
    one.theatre.pass(standsMs);
    one.theatre.close(ticket);
    one.copier.deaf.delete(F1);
    one.copier.catchUp([F1]);
    over(one);
    return { one, rows: withRow(one, { reason }) };
  };

  test("and ends before orders of the former owner have settled: was gone before it could be opened late", () => {
    const { one, rows } = skipped(SETTLE_MS - 100);
    assertRight(one, { ...MOVES, ...rows });
  });
  test("for longer than that: was not gone", () => {
    const { one, rows } = skipped(RESYNC_MS + SETTLE_MS + 2 * GRACE_MS);
    assertBroken(one, ["unjustified-skip f1"], { ...MOVES, ...rows });
  });
});

test("a trade that begins when the new owner has taken everything in is to be copied at once", () => {
  const one = owned();
  move(one);
  one.theatre.pass(RESYNC_MS + 100);
  const ticket = open(one);
  one.theatre.pass(2 * GRACE_MS);
  one.theatre.close(ticket);
  one.copier.deaf.delete(F1);
  one.copier.catchUp([F1]);
  over(one);
  assertBroken(one, ["unjustified-skip f1"], { ...MOVES, ...withRow(one, { reason: "gone_before_copy" }) });
});
