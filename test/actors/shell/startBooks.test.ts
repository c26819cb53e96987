// Owns the cases of knowing when the books of a start have been read.

import { test } from "node:test";
import assert from "node:assert/strict";
import { StartBooks } from "../../../actors/shell/startBooks.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";

function starting(bounds: readonly (readonly [start: number, end: number])[]) {
  const clock = new FakeScheduler(1);
  const books = new StartBooks(bounds.map(([start, end], partition) => ({ partition, start, end })), clock);
  const state = { missing: null as readonly number[] | null };
  void books.read.then((missing) => (state.missing = missing));
  const take = async (partition: number, next: number) => {
    books.take({ topic: "books", partition, records: [], next, end: next });
    await clock.advance(1);
  };
  return { clock, books, state, take };
}

test("empty partitions are read at once, without a batch", async () => {
  const { clock, state } = starting([[0, 0], [7, 7]]);
  await clock.advance(1);
  assert.deepEqual(state.missing, []);
});

test("every partition must reach the end that it had at the start, over holes too", async () => {
  const { state, take } = starting([[0, 10], [5, 8], [3, 3]]);
  await take(0, 9);
  await take(1, 8);
  assert.equal(state.missing, null);
  await take(0, 12);
  assert.deepEqual(state.missing, []);
});

test("an end that the log let go keeps nobody waiting, once the log has answered for a while with nothing", async () => {
  const { clock, books, state, take } = starting([[0, 10], [0, 4]]);
  books.watch(() => clock.monotonicMs());
  await take(1, 4);
  await take(0, 8);
  await clock.advance(2_500);
  assert.equal(state.missing, null);
  await clock.advance(2_000);
  assert.deepEqual(state.missing, [0]);
});

test("a log that does not answer proves nothing, however long", async () => {
  const { clock, books, state, take } = starting([[0, 10]]);
  const heardAtMs = clock.monotonicMs();
  books.watch(() => heardAtMs);
  await clock.advance(600_000);
  assert.equal(state.missing, null);
  await take(0, 10);
  assert.deepEqual(state.missing, []);
});

test("what lay there at the start is no news, what comes after it is", () => {
  const { books } = starting([[0, 10]]);
  assert.deepEqual([9, 10].map((offset) => books.wasThere(0, offset)), [true, false]);
  assert.equal(books.wasThere(5, 0), false);
});
