// Owns the Registry's contract on who is who: "me", "live" and "owner" mean a node and its boot, in one cell. The same name
// with another boot, the same boot under another name, and both in another cell are somebody else.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { AccountId, CellId } from "../../protocol/ids.ts";
import { epoch } from "../../protocol/ids.ts";
import type { HeldAccount } from "../../protocol/ports/storage.ts";
import { account, claiming, me, MASTER, renewing, taking, TTL_MS, type StorageFactory } from "./storageFixture.ts";

const alice = me("alice", "boot");
const bob = me("bob", "boot");
const reborn = me("alice", "reborn");
const summary = (held: readonly HeldAccount[]): string[] => held.map(({ account: id, epoch: at }) => `${id}@${at}`);
const master = (at: number): HeldAccount => ({ account: MASTER.id, epoch: epoch(at) });
/** Nothing is long free. */
const byShare = claiming({ freeForMs: 1e9 });
/** All is. */
const byCapacity = claiming({ freeForMs: 0 });

export function identityCases(make: StorageFactory): void {
  describe("registry: nodes and boots", () => {
    test("names and boots are compared both: a boot's name under another node is nobody's", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      assert.deepEqual(await registry.take(me("carol", "boot"), [master(0)], taking()), [], "who takes must be live itself");
      assert.deepEqual(await registry.claim(me("carol", "boot"), byCapacity), [], "who claims too");
      await registry.renew(bob, renewing());
      assert.deepEqual(summary(await registry.claim(alice, byShare)), ["master@1"]);
      assert.deepEqual((await registry.renew(bob, renewing())).accounts, []);
      assert.deepEqual(await registry.take(bob, [master(1)], taking()), []);
      assert.equal(await registry.release(bob, master(1), 0), false);
      await registry.leave(me("alice", "other"));
      assert.deepEqual(summary((await registry.renew(alice, renewing())).accounts), ["master@1"]);
    });

    test("a boot that is refused learns no shares: they are the live one's", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      const { held, shares } = await registry.renew(reborn, renewing());
      assert.deepEqual({ held, shares }, { held: false, shares: [] });
    });

    test("a former boot claims nothing on the lease of its name's newer one, and takes nothing", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      await registry.leave(alice);
      await registry.renew(reborn, renewing());
      assert.deepEqual(await registry.claim(alice, byCapacity), []);
      assert.deepEqual(await registry.take(alice, [master(0)], taking()), []);
      assert.deepEqual(summary(await registry.claim(reborn, byCapacity)), ["master@1"]);
    });

    test("what a former boot of its name still holds counts against neither its capacity nor its share", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put(["a", "b", "c", "d"].map((id, index) => account(id, "follower", index)), []);
      await registry.renew(alice, renewing());
      assert.equal((await registry.claim(alice, claiming({ limit: 2 }))).length, 2);
      await registry.leave(alice);
      await registry.renew(reborn, renewing({ capacity: 2 }));
      assert.deepEqual((await registry.renew(reborn, renewing({ capacity: 2 }))).shares, [{ platform: "mt4", share: 4, mine: 0, othersHaveRoom: false }]);
      assert.equal((await registry.claim(reborn, byShare)).length, 2);
    });

    test("a node that could have more itself is not another that has room", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      assert.deepEqual((await registry.renew(alice, renewing())).shares, [{ platform: "mt4", share: 1, mine: 0, othersHaveRoom: false }]);
    });
  });

  describe("registry: cells", () => {
    /** Two cells with the same names in them; time passes in the first. */
    async function twoCells(t: TestContext) {
      const fixture = await make(t);
      const [here, there] = [await fixture.open(), await fixture.open(`${fixture.cell}-b` as CellId)];
      for (const { directory } of [here, there]) await directory.put([MASTER], []);
      return { here: here.registry, there: there.registry, directories: [here.directory, there.directory] as const, passTime: fixture.passTime };
    }

    test("what a cell's node owns and says is nothing to the same name in another cell", async (t) => {
      const { here, there } = await twoCells(t);
      for (const one of [alice, bob]) await there.renew(one, renewing());
      await there.claim(alice, byCapacity);
      await here.renew(alice, renewing());
      const { accounts, othersLogOk } = await here.renew(alice, renewing());
      assert.deepEqual({ accounts, othersLogOk }, { accounts: [], othersLogOk: false });
      await there.leave(alice);
      assert.equal((await here.renew(alice, renewing())).wasLive, true);
    });

    test("another cell's nodes and accounts have no part in the shares", async (t) => {
      const { here, there, directories } = await twoCells(t);
      const more = Array.from({ length: 20 }, (_, index) => account(`m${index}`, "follower", index + 2));
      await directories[1].put(more, []);
      for (const one of [alice, bob, me("carol")]) await there.renew(one, renewing());
      assert.ok((await there.claim(alice, byShare)).length > 0);
      await directories[0].put([account("second", "follower", 2)], []);
      await here.renew(alice, renewing());
      assert.deepEqual(summary(await here.claim(alice, byShare)), ["master@1", "second@1"], "alone it has both");
      for (const { account: id, epoch: at } of await here.take(alice, [master(1), { account: "second" as AccountId, epoch: epoch(1) }], taking())) await here.release(alice, { account: id, epoch: at }, 0);
      await here.renew(bob, renewing());
      assert.equal((await here.claim(alice, byShare)).length, 1, "of two, each has one");
    });

    test("an owner is judged by its own cell's row: what its name does in another is nothing to it", async (t) => {
      const { here, there, passTime } = await twoCells(t);
      for (const cell of [here, there]) {
        await cell.renew(alice, renewing());
        await cell.claim(alice, byCapacity);
      }
      await here.renew(bob, renewing());
      await there.leave(alice);
      assert.deepEqual(await here.claim(bob, byCapacity), [], "its owner has left only there");
      await passTime(TTL_MS + 1_000);
      for (const cell of [here, there]) await cell.renew(bob, renewing());
      assert.deepEqual(summary(await here.claim(bob, byCapacity)), ["master@2"]);
      assert.deepEqual(summary(await there.claim(bob, byCapacity)), ["master@2"], "the other cell's row was as it was");
    });

    test("a take asks its own cell's nodes and changes its own cell's row", async (t) => {
      const { here, there, passTime } = await twoCells(t);
      await there.renew(me("carol"), renewing());
      assert.deepEqual(await here.take(me("carol"), [master(0)], taking()), [], "it is not live here");
      for (const cell of [here, there]) {
        await cell.renew(alice, renewing());
        await cell.renew(bob, renewing());
        await cell.claim(bob, byCapacity);
      }
      await there.release(bob, master(1), 0);
      assert.deepEqual(await here.take(alice, [master(1)], taking()), [], "only there it is nobody's");
      await there.leave(bob);
      assert.deepEqual(await here.take(alice, [master(1)], taking()), [], "its owner has left only there");
      await passTime(TTL_MS + 1_000);
      for (const cell of [here, there]) await cell.renew(alice, renewing());
      assert.deepEqual(summary(await here.take(alice, [master(1)], taking())), ["master@2"]);
      assert.deepEqual(summary(await there.take(alice, [master(1)], taking())), ["master@2"]);
    });

    test("a release frees its own cell's row", async (t) => {
      const { here, there } = await twoCells(t);
      for (const cell of [here, there]) {
        await cell.renew(alice, renewing());
        await cell.claim(alice, byCapacity);
      }
      assert.equal(await here.release(alice, master(1), 0), true);
      assert.deepEqual(summary((await there.renew(alice, renewing())).accounts), ["master@1"]);
    });
  });
}
