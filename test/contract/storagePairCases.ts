// Owns the PairStore's contract: versions, the owner fence, superseding, and what a bad row costs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { linkId, ticket } from "../../protocol/ids.ts";
import type { Pair, PairEvent } from "../../protocol/pairs.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { UnknownCommit } from "../../protocol/unknownCommit.ts";
import type { Storage } from "../../storage/storage.ts";
import { adopted, FOLLOWER, freshCell, linkedStorage, MASTER, PAIR, pairEvent, shortRows, type StorageFactory } from "./storageFixture.ts";

const second = { opening: 2 } as const;
const closed = { status: "Closed", reason: "master_closed" } as const;
const skipped = { status: "Skipped", reason: "price_moved" } as const;

export function pairCases(make: StorageFactory): void {
  /** A case: the follower's epoch, batches with the expected (written, fenced), and the rows in the end. */
  const batches = (name: string, epochs: number, steps: readonly (readonly [readonly PairEvent[], written: number, fenced: number])[], rows: readonly string[]): void => {
    test(name, async (t) => {
      const storage = await linkedStorage(await make(t), epochs);
      for (const [events, written, fenced] of steps) assert.deepEqual(await storage.pairs.write(events), { written, fenced });
      assert.deepEqual(await shortRows(storage), rows);
    });
  };
  const ROW = "10884298/1";
  const ROW2 = "10884298/2";

  describe("pairs: rows and versions", () => {
    test("a row comes back as it was written, nulls and fractions too", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const bare: Partial<Pair> = { masterTicket: ticket(1), status: "Skipped", followerTicket: null, openPrice: null, takeProfit: null, reason: "price_moved", detail: { movedPoints: 51, limitPoints: 50, symbol: "EURUSD" } };
      await storage.pairs.write([pairEvent([1, 1]), pairEvent([1, 2], bare)]);
      assert.deepEqual(await storage.pairs.rowsOf(FOLLOWER.id), [
        { epoch: 1, n: 2, pair: { ...PAIR, ...bare } },
        { epoch: 1, n: 1, pair: PAIR },
      ]);
      assert.deepEqual(await storage.pairs.rowsOf(MASTER.id), []);
      assert.deepEqual(await storage.pairs.counts(), { pairs: 2, rejected: 0 });
    });

    batches("an empty batch is no fault", 1, [[[], 0, 0]], []);
    batches("the same batch again changes nothing", 1, [[[pairEvent([1, 1]), pairEvent([1, 2], closed)], 2, 0], [[pairEvent([1, 1]), pairEvent([1, 2], closed)], 0, 2]], [`${ROW} Closed 1.2`]);
    batches("an older version never replaces a newer one", 1, [[[pairEvent([1, 5])], 1, 0], [[pairEvent([1, 4])], 0, 1]], [`${ROW} Open 1.5`]);
    batches("a lower n of a newer epoch is newer", 2, [[[pairEvent([1, 5])], 1, 0], [[pairEvent([2, 1])], 1, 0]], [`${ROW} Open 2.1`]);
    batches("an ended row is final", 2, [[[pairEvent([1, 5], closed)], 1, 0], [[pairEvent([2, 1])], 0, 1]], [`${ROW} Closed 1.5`]);
    batches("its owner's skip is final for that owner", 1, [[[pairEvent([1, 5], skipped)], 1, 0], [[pairEvent([1, 6]), pairEvent([1, 7], closed)], 0, 2]], [`${ROW} Skipped 1.5`]);
    batches("what a later owner has to say of a trade that its predecessor skipped takes the skip's place, and that skip does not come back", 2,
      [[[pairEvent([1, 5], skipped), adopted(2), pairEvent([2, 1])], 2, 0], [[pairEvent([1, 5], skipped), pairEvent([2, 2], closed), pairEvent([2, 3])], 1, 2]], [`${ROW} Closed 2.2`]);
    batches("a later owner's skip is final for what the former one still says, also for a close", 2,
      [[[adopted(2), pairEvent([2, 3], skipped)], 1, 0], [[pairEvent([1, 8]), pairEvent([1, 9], closed)], 0, 2]], [`${ROW} Skipped 2.3`]);
    batches("a former owner's late close leaves the later owner's live row as it is", 2, [[[adopted(2), pairEvent([2, 1]), pairEvent([1, 9], closed)], 1, 1]], [`${ROW} Open 2.1`]);
    batches("sent, opened and closed within one batch", 1, [[[pairEvent([1, 1], { status: "Sending" }), pairEvent([1, 2]), pairEvent([1, 3], closed)], 3, 0]], [`${ROW} Closed 1.3`]);
  });

  describe("pairs: the owner fence", () => {
    batches("a live row above the account's epoch stays out", 1, [[[pairEvent([2, 1])], 0, 1]], []);
    batches("what an owner said before its successor's marker goes in, what it says after it stays out", 2,
      [[[pairEvent([1, 1]), adopted(2), pairEvent([1, 2]), pairEvent([1, 3], { masterTicket: ticket(5) })], 1, 2]], [`${ROW} Open 1.1`]);
    batches("the fence holds for later batches", 2, [[[adopted(2)], 0, 0], [[pairEvent([1, 1])], 0, 1], [[pairEvent([2, 1])], 1, 0]], [`${ROW} Open 2.1`]);
    batches("an older marker that comes late does not lower it", 3, [[[adopted(3)], 0, 0], [[adopted(2), pairEvent([2, 1])], 0, 1]], []);
    batches("that a copy is closed is true whoever says it: it passes the fence", 2, [[[adopted(2), pairEvent([1, 9], closed)], 1, 0]], [`${ROW} Closed 1.9`]);
    batches("a skip is its owner's decision: after its successor's marker it stays out like a live row, and so does any other end but a close", 2,
      [[[pairEvent([1, 1], { masterTicket: ticket(5) }), adopted(2), pairEvent([1, 2], skipped), pairEvent([1, 3], { status: "Superseded" }), pairEvent([1, 4], { ...skipped, masterTicket: ticket(5) })], 1, 3]], ["5/1 Open 1.1"]);
    batches("a former owner's late skip does not keep the new owner's live row of the trade out", 2,
      [[[adopted(2), pairEvent([1, 9], skipped), pairEvent([2, 1]), pairEvent([1, 10], skipped)], 1, 2]], [`${ROW} Open 2.1`]);
    batches("a skip before the successor's marker goes in; one above the account's epoch stays out", 1,
      [[[pairEvent([1, 9], skipped), adopted(2), pairEvent([2, 1], { ...skipped, masterTicket: ticket(5) })], 1, 1]], [`${ROW} Skipped 1.9`]);
    batches("a live row of an unknown link stays out", 1, [[[pairEvent([1, 1], { link: linkId("nowhere") })], 0, 1]], []);
    test("another follower's marker does not count", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      await storage.pairs.write([{ ...adopted(2), follower: MASTER.id }, pairEvent([1, 1])]);
      assert.deepEqual(await shortRows(storage), [`${ROW} Open 1.1`]);
    });
  });

  describe("pairs: one live pair per trade", () => {
    batches("a newer owner's live row supersedes the older owner's", 2, [[[pairEvent([1, 1])], 1, 0], [[pairEvent([2, 1], second)], 1, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Open 2.1`]);
    batches("the same within one batch", 2, [[[pairEvent([1, 1]), pairEvent([2, 1], second)], 2, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Open 2.1`]);
    batches("an older live row that meets a newer one is superseded itself", 2, [[[pairEvent([2, 1], second)], 1, 0], [[pairEvent([1, 1])], 1, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Open 2.1`]);
    batches("a newer owner's row that opens and closes within the batch supersedes too", 2,
      [[[pairEvent([1, 1])], 1, 0], [[pairEvent([2, 1], second), pairEvent([2, 2], { ...second, ...closed })], 2, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Closed 2.2`]);
    batches("a row that the fence keeps out supersedes nothing", 3, [[[pairEvent([1, 1])], 1, 0], [[adopted(3), pairEvent([2, 1], second)], 0, 1]], [`${ROW} Open 1.1`]);
    batches("an ended row leaves the other opening alone", 2, [[[pairEvent([1, 1])], 1, 0], [[pairEvent([2, 1], { ...second, ...closed })], 1, 0]], [`${ROW} Open 1.1`, `${ROW2} Closed 2.1`]);
    batches("the next opening after an end is an ordinary row", 1, [[[pairEvent([1, 1]), pairEvent([1, 2], closed), pairEvent([1, 3], second)], 3, 0]], [`${ROW} Closed 1.2`, `${ROW2} Open 1.3`]);
  });

  describe("pairs: a commit whose answer was lost, and rows that are only tried out", () => {
    const doubt = (...events: readonly PairEvent[]): UnknownCommit => new UnknownCommit(new Error("cut"), { written: 0, fenced: 0 }, events);
    const other = { masterTicket: ticket(5) } as const;

    test("it was done when every row is there, at that version, a newer one or ended, and every marker was reached", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      const rows = [pairEvent([1, 1]), pairEvent([1, 2], other)];
      await storage.pairs.write([...rows, adopted(2)]);
      for (const done of [[], rows, [adopted(1)], [...rows, adopted(2)], [pairEvent([1, 0])]]) assert.equal(await storage.pairs.isDone(doubt(...done)), true);
      await storage.pairs.write([pairEvent([2, 7]), pairEvent([2, 8], { ...other, ...closed })]);
      assert.equal(await storage.pairs.isDone(doubt(...rows)), true, "newer ones stand there now");
    });

    test("it was not done when a row is missing, is older, or a marker was not reached", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      await storage.pairs.write([pairEvent([1, 1])]);
      for (const lost of [[pairEvent([1, 1]), pairEvent([1, 2], other)], [pairEvent([1, 2])], [pairEvent([2, 0])], [pairEvent([1, 1], second)], [pairEvent([1, 1]), adopted(1)]]) {
        assert.equal(await storage.pairs.isDone(doubt(...lost)), false);
      }
    });

    test("what is tried out comes to what writing it would, and leaves nothing", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      await storage.pairs.write([pairEvent([1, 1])]);
      assert.deepEqual(await storage.pairs.tryOut([pairEvent([1, 2], closed), pairEvent([1, 3]), adopted(2), pairEvent([1, 4], other)]), { written: 1, fenced: 2 });
      await assert.rejects(storage.pairs.tryOut([pairEvent([1, 2], { volume: -1 as VolumeUnits })]), { code: "row_fault" });
      assert.deepEqual([await shortRows(storage), await storage.pairs.projectedEpoch(FOLLOWER.id)], [[`${ROW} Open 1.1`], 0]);
    });
  });

  describe("pairs: bad rows", () => {
    const faults: readonly (readonly [string, Partial<Pair>])[] = [
      ["a negative volume", { volume: -1 as VolumeUnits }],
      ["a volume with a fraction", { volume: 0.5 as VolumeUnits }],
      ["no volume at all", { volume: null as unknown as VolumeUnits }],
      ["opening 0", { opening: 0 }],
      ["a NUL character in a symbol", { symbol: "EUR\0USD" as Pair["symbol"] }],
      ["the wrong master", { master: FOLLOWER.id }],
      ["an ended row of an unknown link", { link: linkId("nowhere"), status: "Closed" }],
      ["a second live opening of one owner", { masterTicket: ticket(1), opening: 2 }],
    ];
    for (const [name, change] of faults) {
      test(`row_fault, and nothing of the batch is kept: ${name}`, async (t) => {
        const storage = await linkedStorage(await make(t), 2);
        const batch = [pairEvent([1, 1], { masterTicket: ticket(1) }), pairEvent([1, 2], change), adopted(2)];
        await assert.rejects(storage.pairs.write(batch), { code: "row_fault", message: /^2[23]...: / });
        assert.deepEqual(await storage.pairs.counts(), { pairs: 0, rejected: 0 });
        assert.deepEqual(await storage.pairs.write([pairEvent([1, 1])]), { written: 1, fenced: 0 }, "the marker is not kept either");
      });
    }

    test("a rejected event is kept once, whatever bytes are in it", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const event = pairEvent([1, 1], { symbol: "a\0b\ud800\u{1F4C8}" as Pair["symbol"], volume: -1 as VolumeUnits });
      await storage.pairs.reject(event, { code: "22P05", text: "unsupported \0 sequence" });
      await storage.pairs.reject(event, { code: "22P05", text: "unsupported \0 sequence" });
      await storage.pairs.reject(pairEvent([1, 2]), { code: "23514", text: "check" });
      assert.deepEqual(await storage.pairs.counts(), { pairs: 0, rejected: 2 });
    });

    test("another cell's rows are its own", async (t) => {
      const fixture = await make(t);
      const storage = await linkedStorage(fixture, 1);
      const elsewhere: Storage = await linkedStorage({ ...fixture, open: () => fixture.open(other) }, 2);
      await storage.pairs.write([pairEvent([1, 1])]);
      await elsewhere.pairs.write([adopted(2), pairEvent([2, 1], second)]);
      await elsewhere.pairs.reject(pairEvent([1, 1]), { code: "23514", text: "check" });
      assert.deepEqual(await shortRows(storage), [`${ROW} Open 1.1`]);
      assert.deepEqual(await storage.pairs.counts(), { pairs: 1, rejected: 0 });
      assert.deepEqual(await shortRows(elsewhere), [`${ROW2} Open 2.1`]);
    });
    const other = freshCell();
  });
}
