// Owns the cases of following a master through the log: repeats, zombies, holes, and books.

import { describe, test } from "node:test";
import assert from "node:assert/strict";
import { foldBook, foldTick, MAX_WAITING, newFold, type FoldStep, type MasterFold } from "../../../actors/core/masterFold.ts";
import type { Tick } from "../../../protocol/ticks.ts";
import { alive, book, masterPending, masterPosition, brokerMs, ticket, tick } from "./examples.ts";

const LIVE_MS = 0;
const trade = (number: number) => masterPosition({ masterTicket: ticket(number), ticket: ticket(number) });
/** Synced at (1, 5), with trade 1. */
const synced = (): MasterFold => foldBook(newFold(), book(1, 5, [trade(1)]), LIVE_MS).fold;

function feed(fold: MasterFold, ...ticks: readonly Tick[]): FoldStep {
  let step: FoldStep = { fold, fresh: [], replaced: false, verdict: "waiting" };
  for (const next of ticks) step = foldTick(step.fold, next, LIVE_MS);
  return step;
}

const at = (fold: MasterFold): string => `${fold.epoch}/${fold.seq} ${fold.synced ? "synced" : "not synced"}, trades ${[...fold.positions.keys()].join(" ")}`;
const seqs = (ticks: readonly Tick[]): number[] => ticks.map(({ seq }) => seq);

describe("ticks", () => {
  test("the next one is folded and handed on", () => {
    const step = feed(synced(), tick(1, 6));
    assert.deepEqual([step.verdict, seqs(step.fresh), at(step.fold)], ["folded", [6], "1/6 synced, trades 1 6"]);
  });
  test("every kind changes what is open", () => {
    const pending = masterPending({ masterTicket: ticket(7) });
    const bodies = [
      { kind: "pending_placed", pending } as const,
      { kind: "pending_filled", position: trade(7) } as const,
      { kind: "closed", masterTicket: ticket(1), reason: "manual", closePrice: trade(1).openPrice, digits: 5 } as const,
      { kind: "pending_placed", pending: masterPending({ masterTicket: ticket(9) }) } as const,
      { kind: "pending_cancelled", masterTicket: ticket(9), reason: "cancelled" } as const,
    ];
    const { fold } = feed(synced(), ...bodies.map((body, index) => tick(1, 6 + index, body)));
    assert.deepEqual([at(fold), fold.pendings.size], ["1/10 synced, trades 7", 0]);
  });
  test("one of a lower epoch is a zombie's, and stays one while a hole is open", () => {
    assert.equal(feed(synced(), tick(0, 6)).verdict, "stale");
    const hole = feed(synced(), tick(2, 1));
    assert.equal(foldTick(hole.fold, tick(1, 6), LIVE_MS).verdict, "stale");
  });
  test("a repeat changes nothing", () => {
    const step = feed(synced(), tick(1, 6), tick(1, 6));
    assert.deepEqual([step.verdict, step.fresh, at(step.fold)], ["repeated", [], "1/6 synced, trades 1 6"]);
  });
  test("a sign of life at the last seq is no repeat and no news", () => {
    const step = feed(synced(), alive(1, 5));
    assert.deepEqual([step.verdict, step.fresh, step.fold.synced], ["folded", [], true]);
  });
  test("a sign of life above the last seq shows that the last tick was lost", () => assert.deepEqual([feed(synced(), alive(1, 6)).verdict, feed(synced(), alive(1, 6)).fold.synced], ["gap", false]));
  test("a hole stops the fold, and what comes behind it waits", () => {
    const step = feed(synced(), tick(1, 7), tick(1, 8));
    assert.deepEqual([step.verdict, step.fresh, at(step.fold), seqs(step.fold.waiting)], ["waiting", [], "1/5 not synced, trades 1", [7, 8]]);
  });
  test("a newer epoch without its book is a hole", () => assert.equal(feed(synced(), tick(2, 1)).verdict, "gap"));
});

describe("books", () => {
  test("the first one is taken", () => assert.equal(at(synced()), "1/5 synced, trades 1"));
  test("one that is older than the fold is ignored, one that is equal only confirms", () => {
    const { fold } = feed(synced(), tick(1, 6));
    for (const seq of [5, 6]) {
      const step = foldBook(fold, book(1, seq), LIVE_MS);
      assert.deepEqual([step.verdict, step.replaced, at(step.fold)], ["stale", false, "1/6 synced, trades 1 6"]);
    }
  });
  test("one that is ahead is left to the ticks, and taken when they do not come", () => {
    const step = foldBook(synced(), book(1, 7, [trade(9)]), LIVE_MS);
    assert.deepEqual([step.ahead, step.replaced, at(step.fold)], [true, false, "1/5 synced, trades 1"]);
    const forced = foldBook(step.fold, book(1, 7, [trade(9)]), LIVE_MS, true);
    assert.deepEqual([forced.replaced, at(forced.fold)], [true, "1/7 synced, trades 9"]);
  });
  test("one of a newer epoch replaces the fold at once, though its seq is lower", () => {
    const step = foldBook(synced(), book(2, 1, [trade(9)]), LIVE_MS);
    assert.deepEqual([step.replaced, at(step.fold)], [true, "2/1 synced, trades 9"]);
  });
  test("one that covers the hole makes the ticks behind it news", () => {
    const { fold } = feed(synced(), tick(1, 7), tick(1, 8), alive(1, 8), tick(1, 9));
    const step = foldBook(fold, book(1, 7, [trade(7)]), LIVE_MS);
    assert.deepEqual([step.replaced, seqs(step.fresh), at(step.fold)], [true, [8, 9], "1/9 synced, trades 7 8 9"]);
  });
  test("one from before the hole does not close it", () => {
    const { fold } = feed(synced(), tick(1, 7));
    const step = foldBook(fold, book(1, 5, [trade(1)]), LIVE_MS);
    assert.deepEqual([step.replaced, step.fresh, step.fold.synced], [false, [], false]);
  });
  test("a second hole behind the book waits for the next book", () => {
    const { fold } = feed(synced(), tick(1, 7), tick(1, 10));
    const first = foldBook(fold, book(1, 7), LIVE_MS);
    assert.deepEqual([first.verdict, first.replaced, first.fold.synced], ["gap", false, false]);
    const second = foldBook(first.fold, book(1, 10, [trade(10)]), LIVE_MS);
    assert.deepEqual([second.replaced, seqs(second.fresh), at(second.fold)], [true, [], "1/10 synced, trades 10"]);
  });
  test("a lost last tick that a sign of life showed is closed only by a book that has it", () => {
    const { fold } = feed(synced(), alive(1, 6));
    assert.equal(foldBook(fold, book(1, 5), LIVE_MS).fold.synced, false);
    assert.equal(foldBook(fold, book(1, 6), LIVE_MS).fold.synced, true);
  });
  test("a zombie's book is not obeyed once a newer epoch was seen, however many ticks came since", () => {
    let { fold } = feed(synced(), tick(2, 3));
    for (let seq = 6; seq < 6 + MAX_WAITING + 10; seq++) fold = foldTick(fold, tick(1, seq), LIVE_MS).fold;
    const step = foldBook(fold, book(1, 9_999, [trade(9)]), LIVE_MS);
    assert.deepEqual([step.verdict, step.replaced, at(step.fold)], ["stale", false, "1/5 not synced, trades 1"]);
  });
  test("what waits is bounded: the oldest goes, and the hole that it leaves is seen", () => {
    let fold = synced();
    for (let seq = 7; seq <= 7 + MAX_WAITING; seq++) fold = foldTick(fold, tick(1, seq), LIVE_MS).fold;
    assert.equal(fold.waiting.length, MAX_WAITING);
    assert.equal(foldBook(fold, book(1, 6), LIVE_MS).fold.synced, false);
    assert.equal(foldBook(fold, book(1, 7), LIVE_MS).fold.synced, true);
  });
});

describe("a book from before the start", () => {
  const old = (): MasterFold => foldBook(newFold(), book(1, 5, [trade(1)]), null).fold;

  test("is not believed by itself: ticks that nobody reads any more may have followed it", () => assert.equal(at(old()), "1/5 not synced, trades 1"));
  test("is believed when a sign of life repeats its seq", () => {
    const step = feed(old(), alive(1, 5));
    assert.deepEqual([step.replaced, step.fresh, at(step.fold)], [true, [], "1/5 synced, trades 1"]);
  });
  test("is believed when the next tick follows it", () => {
    const step = feed(old(), tick(1, 6));
    assert.deepEqual([step.replaced, seqs(step.fresh), at(step.fold)], [true, [6], "1/6 synced, trades 1 6"]);
  });
  test("contains what comes from before it: that is a repeat, and the next tick still follows", () => {
    const repeated = feed(old(), tick(1, 4));
    assert.deepEqual([repeated.verdict, seqs(feed(repeated.fold, tick(1, 5), tick(1, 6)).fresh)], ["repeated", [6]]);
  });
  test("is not believed when something lies between, until a live book comes", () => {
    const step = feed(old(), alive(1, 6));
    assert.deepEqual([step.replaced, step.fold.synced], [false, false]);
    assert.equal(at(foldBook(step.fold, book(1, 6, [trade(6)]), LIVE_MS).fold), "1/6 synced, trades 6");
  });
  test("gives no reading of the master's clock", () => {
    assert.equal(old().clock, null);
    assert.notEqual(synced().clock, null);
  });
});

test("the least delayed reading of the master's clock is kept", () => {
  const first = foldTick(synced(), alive(1, 5, 1_000), 100).fold;
  const late = foldTick(first, alive(1, 5, 2_000), 1_500).fold;
  assert.deepEqual(late.clock, { brokerMs: brokerMs(1_000), atMs: 100 });
  const better = foldTick(late, alive(1, 5, 3_000), 2_050).fold;
  assert.deepEqual(better.clock, { brokerMs: brokerMs(3_000), atMs: 2_050 });
});

test("the master was heard of when its last live record came, however late; a book from before the start and a zombie's record say nothing", () => {
  const old = foldBook(newFold(), book(1, 5, [trade(1)]), null).fold;
  assert.equal(old.heardAtMs, null);
  const first = foldTick(synced(), { ...tick(1, 6), brokerNowMs: brokerMs(1_000) }, 100).fold;
  const late = foldTick(first, { ...alive(1, 6), brokerNowMs: brokerMs(1_500) }, 9_000).fold;
  assert.deepEqual([late.heardAtMs, late.clock?.atMs], [9_000, 100]);
  const moved = foldBook(late, book(2, 1, [trade(1)]), 30_000).fold;
  assert.equal(moved.heardAtMs, 30_000);
  assert.equal(foldTick(moved, tick(1, 7), 31_000).fold.heardAtMs, 30_000);
  assert.equal(foldBook(moved, book(1, 9, [trade(1)]), 31_000).fold.heardAtMs, 30_000);
});
