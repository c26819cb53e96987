// Owns the PairStore's contract on what the writers' fence, versions and superseding must leave alone.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ticket, type CellId } from "../../protocol/ids.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Storage } from "../../storage/storage.ts";
import { account, adopted, link, linkedStorage, pairEvent, shortRows, type StorageFactory } from "./storageFixture.ts";

const second = { opening: 2 } as const;
const closed = { status: "Closed", reason: "master_closed" } as const;
const ROW = "10884298/1";
const ROW2 = "10884298/2";

/** What a write came to, as a value: its counts, or the code of its error. */
const outcome = (storage: Storage, batch: readonly PairEvent[]): Promise<unknown> => storage.pairs.write(batch).catch((error: { code?: unknown }) => error.code);

/** Batches, each with what comes of it. */
type Steps = readonly (readonly [readonly PairEvent[], written: number, fenced: number])[];

const CASES: readonly (readonly [name: string, epochs: number, steps: Steps, rows: readonly string[]])[] = [
  ["the same version again is no news", 1, [[[pairEvent([1, 1])], 1, 0], [[pairEvent([1, 1])], 0, 1]], [`${ROW} Open 1.1`]],
  ["a row that is on its way meets the fence like one that stands", 1, [[[pairEvent([2, 1], { status: "Sending" })], 0, 1]], []],
  ["of two markers in a row the higher counts", 3, [[[adopted(2), adopted(3), adopted(2), pairEvent([2, 1])], 0, 1]], []],
  ["the next owner goes on with the same opening", 2, [[[pairEvent([1, 5])], 1, 0], [[pairEvent([2, 1])], 1, 0]], [`${ROW} Open 2.1`]],
  ["a newer owner's opening takes the place of the older one's", 2, [[[pairEvent([1, 1])], 1, 0], [[pairEvent([2, 1], second)], 1, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Open 2.1`]],
  ["an older owner's opening that comes late has no place", 2, [[[pairEvent([2, 1], second)], 1, 0], [[pairEvent([1, 1])], 1, 0]], [`${ROW} Superseded 1.1`, `${ROW2} Open 2.1`]],
  ["a newer owner's opening leaves one that ended as it ended", 2, [[[pairEvent([1, 1]), pairEvent([1, 2], closed)], 2, 0], [[pairEvent([2, 1], second)], 1, 0]], [`${ROW} Closed 1.2`, `${ROW2} Open 2.1`]],
  ["an older live row that meets an ended one of a newer owner stays live", 2, [[[pairEvent([2, 1], { ...second, ...closed })], 1, 0], [[pairEvent([1, 1])], 1, 0]], [`${ROW} Open 1.1`, `${ROW2} Closed 2.1`]],
  ["row 39: of two owners that count alike each version is a row's once, and the later owner's stands", 2,
    [[[pairEvent([1, 1]), pairEvent([2, 1]), pairEvent([1, 1])], 2, 1], [[pairEvent([2, 1]), pairEvent([1, 2])], 0, 2]], [`${ROW} Open 2.1`]],
  ["row 46: what a former owner says just before its successor's marker does not keep the successor out", 2, [[[pairEvent([1, 1]), pairEvent([1, 2])], 2, 0], [[adopted(2), pairEvent([2, 1])], 1, 0]], [`${ROW} Open 2.1`]],
  ["row 46: nor does what it says just after it", 2, [[[adopted(2), pairEvent([1, 1]), pairEvent([1, 2])], 0, 2], [[pairEvent([2, 1])], 1, 0]], [`${ROW} Open 2.1`]],
  ["row 48: a former owner's completion of what its successor goes on with is not taken for the successor's", 2,
    [[[pairEvent([1, 1])], 1, 0], [[adopted(2), pairEvent([2, 1])], 1, 0], [[pairEvent([1, 2], closed)], 0, 1]], [`${ROW} Open 2.1`]],
  ["an ended row that meets a newer owner's live one keeps its own end", 2, [[[pairEvent([2, 1], second)], 1, 0], [[pairEvent([1, 1], closed)], 1, 0]], [`${ROW} Closed 1.1`, `${ROW2} Open 2.1`]],
];

export function fenceCases(make: StorageFactory): void {
  describe("pairs: what is left alone", () => {
    for (const [name, epochs, steps, rows] of CASES) {
      test(name, async (t) => {
        const storage = await linkedStorage(await make(t), epochs);
        for (const [events, written, fenced] of steps) assert.deepEqual(await outcome(storage, events), { written, fenced });
        assert.deepEqual(await shortRows(storage), rows);
      });
    }

    test("only rows of the same trade supersede each other", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      const other = link("other", "another", "follower", 7002);
      await storage.directory.put([account("another", "master", 3)], [other]);
      const ofOther = { link: other.id, master: other.master };
      // The newer owner's rows come last here, and first there: of another ticket, and of another link.
      await storage.pairs.write([pairEvent([1, 1])]);
      await storage.pairs.write([pairEvent([2, 1], { ...second, masterTicket: ticket(5) }), pairEvent([2, 2], { ...second, ...ofOther })]);
      await storage.pairs.write([pairEvent([2, 3], { ...second, masterTicket: ticket(7) }), pairEvent([2, 4], { ...second, ...ofOther, masterTicket: ticket(6) })]);
      await storage.pairs.write([pairEvent([1, 2], { masterTicket: ticket(6) })]);
      assert.deepEqual((await shortRows(storage)).filter((row) => !row.includes("Open")), []);
    });

    test("one link's fence is nothing to another's rows", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const other = link("other", "master", "unclaimed", 7002);
      await storage.directory.put([account("unclaimed", "follower", 3)], [other]);
      const ofOther = pairEvent([1, 2], { link: other.id, follower: other.follower });
      assert.deepEqual(await outcome(storage, [pairEvent([1, 1]), ofOther]), { written: 1, fenced: 1 });
    });

    test("a link of another cell lets nothing in", async (t) => {
      const fixture = await make(t);
      const storage = await linkedStorage(fixture, 1);
      const elsewhere = await linkedStorage({ ...fixture, open: () => fixture.open(`${fixture.cell}-b` as CellId) }, 1);
      const other = link("other", "another", "follower", 7002);
      await elsewhere.directory.put([account("another", "master", 3)], [other]);
      const ofOther = pairEvent([1, 1], { link: other.id, master: other.master });
      assert.deepEqual(await outcome(storage, [ofOther]), { written: 0, fenced: 1 });
      assert.deepEqual(await outcome(elsewhere, [ofOther]), { written: 1, fenced: 0 });
    });

    test("the fence of another cell is nothing to this one's rows", async (t) => {
      const fixture = await make(t);
      const storage = await linkedStorage(fixture, 1);
      const elsewhere = await linkedStorage({ ...fixture, open: () => fixture.open(`${fixture.cell}-b` as CellId) }, 2);
      assert.deepEqual(await elsewhere.pairs.write([adopted(2), pairEvent([2, 1], second)]), { written: 1, fenced: 0 });
      assert.deepEqual(await storage.pairs.write([pairEvent([2, 1], { masterTicket: ticket(5) })]), { written: 0, fenced: 1 });
      assert.deepEqual(await storage.pairs.write([pairEvent([1, 1])]), { written: 1, fenced: 0 });
      assert.deepEqual(await shortRows(storage), [`${ROW} Open 1.1`]);
    });
  });
}
