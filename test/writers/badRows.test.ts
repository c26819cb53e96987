// Owns the cases of rows that the database refuses, the whole way from Kafka to PostgreSQL. Numbers are those of the
// known faults of such systems.

import assert from "node:assert/strict";
import { test } from "node:test";
import { linkId, ticket, type SymbolName } from "../../protocol/ids.ts";
import type { Pair, PairEvent } from "../../protocol/pairs.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { FOLLOWER, pairEvent } from "../contract/storageFixture.ts";
import { ground, patiently, raising, type Ground } from "./ground.ts";

const trade = (n: number, change: Partial<Pair> = {}): PairEvent => pairEvent([1, n], { masterTicket: ticket(n), ...change });
const trades = (from: number, to: number): PairEvent[] => Array.from({ length: to - from + 1 }, (_, index) => trade(from + index));
const tickets = async (g: Ground): Promise<number[]> => (await g.storage.pairs.rowsOf(FOLLOWER.id)).map(({ pair }) => Number(pair.masterTicket));
const named = (name: string): Partial<Pair> => ({ symbol: name as SymbolName });

const BAD: readonly (readonly [kind: string, code: string, Partial<Pair>])[] = [
  ["a CHECK", "23514", { volume: -1 as VolumeUnits }],
  ["a foreign key", "23503", { link: linkId("nowhere"), status: "Closed" }],
  ["a second live opening", "23505", { masterTicket: ticket(3), opening: 2 }],
  ["a number that does not fit", "22003", { digits: 70_000 }],
  ["a NUL character", "22P05", named("EUR\0USD")],
];

for (const [kind, code, change] of BAD) {
  test(`faults 50, 51 and 52: one bad row of 1000 (${kind}): 999 stored, it is kept aside and counted, and what comes after it goes in`, async (t) => {
    const g = await ground(t);
    const bad = trade(500, change);
    await g.say([...trades(1, 499), bad, ...trades(501, 1_000)]);
    const { metrics } = await g.start();
    await g.caughtUp();
    await g.say(trades(1_001, 1_010));
    await g.caughtUp();
    assert.deepEqual(await tickets(g), [...trades(1, 499), ...trades(501, 1_010)].map(({ n }) => n));
    const [kept, ...more] = await g.rejected();
    assert.deepEqual([kept?.code, kept?.event, more], [code, bad, []]);
    assert.match(kept?.text ?? "", new RegExp(`^${code}: `));
    assert.deepEqual([metrics.of("rows_written"), metrics.of("rows_rejected"), metrics.of("rows_fenced")], [1_009, 1, 0]);
  });
}

test("a batch of one conflicting row is not tried for ever", async (t) => {
  const g = await ground(t);
  await g.say([trade(1)]);
  const { metrics } = await g.start();
  await g.caughtUp();
  await g.say([trade(1, { opening: 2 })]);
  await g.caughtUp();
  assert.deepEqual((await g.rejected()).map(({ code }) => code), ["23505"]);
  assert.deepEqual([metrics.of("rows_rejected"), metrics.of("batches_retried")], [1, 0]);
});

test("fault 55: what was written once and is read again from the start changes nothing, neither rows nor reasons nor what is kept aside", async (t) => {
  const g = await ground(t);
  await g.say([...trades(1, 20), trade(21, { volume: -1 as VolumeUnits }), trade(22, { status: "Skipped", reason: "price_moved" })]);
  await g.start();
  await g.caughtUp();
  const all = async (): Promise<unknown> => [await g.storage.pairs.rowsOf(FOLLOWER.id), await g.rejected(), await g.sql("SELECT * FROM copy_events")];
  const before = await all();
  const again = await g.start({ group: "read-again" });
  await g.caughtUp("read-again");
  assert.deepEqual(await all(), before);
  assert.deepEqual([again.metrics.of("rows_written"), again.metrics.of("rows_fenced")], [0, 21]);
});

for (const code of ["40P01", "40001", "55P03"]) {
  test(`fault 57: ${code} is tried again a few times, and costs no row`, async (t) => {
    const g = await ground(t);
    await raising(g, 4);
    await g.say([...trades(1, 5), trade(6, named(`T${code}`)), ...trades(7, 10)]);
    const { metrics } = await g.start();
    await g.caughtUp();
    assert.deepEqual(await tickets(g), trades(1, 10).map(({ n }) => n));
    assert.deepEqual([await g.rejected(), metrics.of("batches_retried"), metrics.of("rows_written"), metrics.of("batches_refused")], [[], 4, 10, 0]);
  });
}

test("fault 57: two writers with the same rows in opposite orders lock them in one order", async (t) => {
  const g = await ground(t, { partitions: 2 });
  const live = trades(1, 400);
  await g.say(live, 0);
  await g.say([...live].reverse(), 1);
  const runs = [await g.start({ group: "first" }), await g.start({ group: "second" })];
  await g.caughtUp("first");
  await g.caughtUp("second");
  assert.deepEqual(await tickets(g), live.map(({ n }) => n));
  assert.equal(runs.reduce((sum, { metrics }) => sum + metrics.of("rows_written"), 0), 400, "each row is written once, by whomever");
  assert.ok(runs.every(({ metrics }) => metrics.of("batches_retried") === 0), "nobody was in anybody's way for good");
});

test("a trigger's own error costs the row that it is raised for, since the others go in", async (t) => {
  const g = await ground(t);
  await raising(g, 0);
  await g.say([...trades(1, 30), trade(31, named("XP0001")), ...trades(32, 60)]);
  await g.start();
  await g.caughtUp();
  assert.deepEqual([(await tickets(g)).length, (await g.rejected()).map(({ code }) => code)], [59, ["P0001"]]);
});

test("an error that is raised for every row costs none: they wait, and go in when it is over", async (t) => {
  const g = await ground(t);
  await raising(g, 40);
  await g.say(Array.from({ length: 20 }, (_, index) => trade(index + 1, named("TP0001"))));
  const { writer } = await g.start();
  await patiently("it is told", () => writer.waiting?.isFault === true);
  await g.caughtUp();
  assert.deepEqual([(await tickets(g)).length, await g.rejected(), writer.waiting], [20, [], null]);
});

test("a column that is missing is nobody's row: kept, loud, and healed when the column is there", async (t) => {
  const g = await ground(t);
  const { writer, metrics, lines } = await g.start();
  await g.say(trades(1, 3));
  await g.caughtUp();
  await g.sql("ALTER TABLE pairs RENAME COLUMN detail TO mislaid");
  await g.say(trades(4, 8));
  await patiently("it is loud", () => writer.waiting?.isFault === true && (writer.waiting.why ?? "").startsWith("42703"));
  assert.ok(metrics.of("batches_refused") > 0);
  assert.ok(lines.some(({ level, text }) => level === "error" && text.includes("for no row's sake")));
  await g.sql("ALTER TABLE pairs RENAME COLUMN mislaid TO detail");
  await g.caughtUp();
  assert.deepEqual([await tickets(g), await g.rejected(), writer.waiting], [trades(1, 8).map(({ n }) => n), [], null]);
});
