// Owns the PairStore's contract about account states: versions, the owner fence, and what the overview shows of them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AccountState, AccountStateEvent } from "../../protocol/accountState.ts";
import { accountId, epoch, type CellId } from "../../protocol/ids.ts";
import type { Cents, WallMs } from "../../protocol/units.ts";
import { UnknownCommit } from "../../protocol/unknownCommit.ts";
import type { Storage } from "../../storage/storage.ts";
import { adopted, FOLLOWER, linkedStorage, MASTER, pairEvent, shortRows, type StorageFactory } from "./storageFixture.ts";

const STATE: AccountState = { connected: true, funds: { balance: 1_000_000 as Cents, equity: 999_950 as Cents, currency: "USD" }, lastError: null, changedAtMs: 1_761_000_000_123 as WallMs };

const stateEvent = (at: readonly [epoch: number, n: number], change: Partial<AccountState> = {}, account = FOLLOWER.id): AccountStateEvent => ({ kind: "account", follower: account, epoch: epoch(at[0]), n: at[1], state: { ...STATE, ...change } });

const shown = async (storage: Storage, account = FOLLOWER.id): Promise<unknown> => (await storage.overview.accounts({ limit: 10, after: null })).find(({ id }) => id === account)?.state;

export function stateCases(make: StorageFactory): void {
  describe("account states", () => {
    test("one comes back as it was said, with money and without; where nobody has said one there is none", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      assert.equal(await shown(storage), null);
      assert.deepEqual(await storage.pairs.write([stateEvent([1, 1]), stateEvent([1, 1], { funds: null, connected: false, lastError: "connection lost" }, MASTER.id)]), { written: 2, fenced: 0 });
      assert.deepEqual(await shown(storage), { ...STATE, epoch: 1 });
      assert.deepEqual(await shown(storage, MASTER.id), { ...STATE, funds: null, connected: false, lastError: "connection lost", epoch: 1 });
    });

    test("the newest version stands, whatever comes later, also within one batch", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      const outcome: unknown = await storage.pairs.write([stateEvent([1, 5]), stateEvent([1, 6], { connected: false }), stateEvent([1, 4])]).catch((error: { code?: unknown }) => error.code);
      assert.deepEqual(outcome, { written: 2, fenced: 1 });
      assert.deepEqual(await storage.pairs.write([stateEvent([2, 1], { lastError: "x" }), stateEvent([1, 9])]), { written: 1, fenced: 1 });
      assert.deepEqual(await storage.pairs.write([stateEvent([2, 1])]), { written: 0, fenced: 1 }, "the same version again is no news");
      assert.deepEqual(await shown(storage), { ...STATE, lastError: "x", epoch: 2 });
    });

    test("the owners' fence holds for it: what is said after the successor's marker, or above the account's epoch, stays out", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      const batch = [stateEvent([1, 1]), pairEvent([1, 2]), adopted(2), stateEvent([1, 3], { connected: false }), stateEvent([3, 1], { connected: false }), stateEvent([1, 1], {}, accountId("nobody"))];
      assert.deepEqual(await storage.pairs.write(batch), { written: 2, fenced: 3 });
      assert.deepEqual([await shown(storage), (await shortRows(storage)).length], [{ ...STATE, epoch: 1 }, 1]);
      assert.deepEqual(await storage.pairs.write([stateEvent([2, 1])]), { written: 1, fenced: 0 }, "the successor itself is heard");
    });

    test("each account's state meets its own account's fence: another account's marker, or its name's in another cell, is nothing to it", async (t) => {
      const fixture = await make(t);
      const storage = await linkedStorage(fixture, 2);
      const elsewhere = await linkedStorage({ ...fixture, open: () => fixture.open(`${fixture.cell}-b` as CellId) }, 3);
      await elsewhere.pairs.write([adopted(3), stateEvent([3, 1], { lastError: "elsewhere" })]);
      await storage.pairs.write([{ ...adopted(2), follower: MASTER.id }]);
      assert.deepEqual(await storage.pairs.write([stateEvent([3, 1]), stateEvent([1, 1]), stateEvent([1, 2], {}, MASTER.id)]), { written: 1, fenced: 2 });
      assert.deepEqual([await shown(storage), await shown(storage, MASTER.id)], [{ ...STATE, epoch: 1 }, null]);
    });

    test("a bad one is its own fault, and nothing of its batch is kept", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      for (const bad of [{ lastError: "a\0b" }, { funds: { balance: 0.5 as Cents, equity: 1 as Cents, currency: "USD" } }]) {
        await assert.rejects(storage.pairs.write([pairEvent([1, 1]), stateEvent([1, 2], bad)]), { code: "row_fault", message: /^22...: / });
      }
      assert.deepEqual([await shown(storage), await shortRows(storage)], [null, []]);
      await storage.pairs.reject(stateEvent([1, 2], { lastError: "a\0b" }), { code: "22P05", text: "no" });
      assert.equal((await storage.pairs.counts()).rejected, 1);
    });

    test("a commit whose answer was lost is judged by it too", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const isDone = (event: AccountStateEvent): Promise<boolean> => storage.pairs.isDone(new UnknownCommit(new Error("cut"), { written: 1, fenced: 0 }, [event]));
      assert.equal(await isDone(stateEvent([1, 2])), false);
      await storage.pairs.write([stateEvent([1, 2])]);
      assert.deepEqual([await isDone(stateEvent([1, 2])), await isDone(stateEvent([1, 1])), await isDone(stateEvent([1, 3]))], [true, true, false]);
    });
  });
}
