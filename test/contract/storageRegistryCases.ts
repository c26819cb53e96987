// Owns the Registry's contract: leases, claims, and who loses which race. How accounts are spread is in
// storageSpreadCases.ts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AccountId } from "../../protocol/ids.ts";
import type { HeldAccount, RenewReply } from "../../protocol/ports/storage.ts";
import { account, claiming, freshCell, me, MASTER, renewing, TTL_MS, type StorageFactory } from "./storageFixture.ts";

const alice = me("alice");
const bob = me("bob");
const summary = (held: readonly HeldAccount[]): string[] => held.map(({ account, epoch }) => `${account}@${epoch}`);
const lease = ({ held, wasLive, accounts }: RenewReply) => ({ held, wasLive, accounts });

export function registryCases(make: StorageFactory): void {
  describe("registry: leases", () => {
    test("the first renewal holds the lease and says that there was none before", async (t) => {
      const { registry } = await (await make(t)).open();
      assert.deepEqual(lease(await registry.renew(alice, renewing())), { held: true, wasLive: false, accounts: [] });
      assert.deepEqual(lease(await registry.renew(alice, renewing())), { held: true, wasLive: true, accounts: [] });
    });

    test("a renewal just before the end finds the lease live, one at the end does not", async (t) => {
      const fixture = await make(t);
      const { registry } = await fixture.open();
      await registry.renew(alice, renewing());
      await fixture.passTime(TTL_MS - 30_000);
      assert.equal((await registry.renew(alice, renewing())).wasLive, true);
      await fixture.passTime(TTL_MS);
      assert.deepEqual(lease(await registry.renew(alice, renewing())), { held: true, wasLive: false, accounts: [] });
    });

    test("a second boot under a live name is refused and changes nothing", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, renewing());
      assert.equal((await registry.renew(me("alice", "other"), renewing())).held, false);
      assert.deepEqual(lease(await registry.renew(alice, renewing())), { held: true, wasLive: true, accounts: [] });
    });

    test("a second boot takes the name when the lease has run out, and the first is refused then", async (t) => {
      const fixture = await make(t);
      const { registry } = await fixture.open();
      await registry.renew(alice, renewing());
      await fixture.passTime(TTL_MS);
      assert.deepEqual(lease(await registry.renew(me("alice", "other"), renewing())), { held: true, wasLive: false, accounts: [] });
      assert.equal((await registry.renew(alice, renewing())).held, false);
    });

    test("a boot that left is never revived by a late renewal; a new boot starts at once", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, renewing());
      await registry.leave(alice);
      assert.equal((await registry.renew(alice, renewing())).held, false);
      assert.deepEqual(lease(await registry.renew(me("alice", "other"), renewing())), { held: true, wasLive: false, accounts: [] });
      assert.equal((await registry.renew(alice, renewing())).held, false);
    });

    test("leaving under a name that another boot has changes nothing", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, renewing());
      await registry.leave(me("alice", "other"));
      assert.equal((await registry.renew(alice, renewing())).wasLive, true);
    });

    test("nodes of another cell are strangers", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).registry.renew(alice, renewing());
      const elsewhere = await fixture.open(freshCell());
      assert.deepEqual(lease(await elsewhere.registry.renew(me("alice", "other"), renewing())), { held: true, wasLive: false, accounts: [] });
    });
  });

  describe("registry: claims", () => {
    test("a claim takes free enabled accounts up to the limit, each at a raised epoch, and a renewal lists them", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([account("a", "follower", 1), { ...account("b", "follower", 2), enabled: false }, account("c", "follower", 3), account("d", "master", 4)], []);
      await registry.renew(alice, renewing());
      const first = summary(await registry.claim(alice, claiming({ limit: 2 })));
      assert.equal(first.length, 2);
      assert.deepEqual([...first, ...summary(await registry.claim(alice, claiming({ limit: 9 })))].sort(), ["a@1", "c@1", "d@1"]);
      assert.deepEqual(summary((await registry.renew(alice, renewing())).accounts), ["a@1", "c@1", "d@1"]);
    });

    test("a node without a live lease claims nothing", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      assert.deepEqual(await registry.claim(alice, claiming({ limit: 9 })), []);
      await registry.renew(alice, renewing());
      await fixture.passTime(TTL_MS);
      assert.deepEqual(await registry.claim(alice, claiming({ limit: 9 })), []);
    });

    test("an account of a live owner is not free; once the lease ran out it is, and the former owner no longer lists it", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      await registry.claim(alice, claiming({ limit: 1 }));
      await registry.renew(bob, renewing());
      assert.deepEqual(await registry.claim(bob, claiming({ freeForMs: 0 })), []);
      await fixture.passTime(TTL_MS);
      await registry.renew(bob, renewing());
      assert.deepEqual(summary(await registry.claim(bob, claiming({ limit: 1 }))), ["master@2"]);
      assert.deepEqual(lease(await registry.renew(alice, renewing())), { held: true, wasLive: false, accounts: [] });
    });

    test("an owner whose lease lapsed without a rival gets its account back only at a new epoch", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      await registry.claim(alice, claiming({ limit: 1 }));
      await fixture.passTime(TTL_MS);
      await registry.leave(alice);
      const reborn = me("alice", "other");
      assert.deepEqual((await registry.renew(reborn, renewing())).accounts, []);
      assert.deepEqual(summary(await registry.claim(reborn, claiming({ limit: 1 }))), ["master@2"]);
    });

    test("row 48: a release frees the account only for its owner at its epoch, and once", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      await registry.renew(bob, renewing());
      const [held] = await registry.claim(alice, claiming({ limit: 1 }));
      assert.ok(held);
      assert.equal(await registry.release(bob, held, 0), false);
      assert.equal(await registry.release(me("alice", "other"), held, 0), false);
      assert.equal(await registry.release(alice, { ...held, epoch: (held.epoch + 1) as HeldAccount["epoch"] }, 0), false);
      assert.equal(await registry.release(alice, { ...held, account: "nobody" as AccountId }, 0), false);
      assert.equal(await registry.release(alice, held, 0), true);
      assert.equal(await registry.release(alice, held, 0), false);
      assert.deepEqual(summary(await registry.claim(bob, claiming({ freeForMs: 0 }))), ["master@2"]);
    });

    test("leaving frees the accounts at once", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, renewing());
      await registry.renew(bob, renewing());
      await registry.claim(alice, claiming({ limit: 1 }));
      await registry.leave(alice);
      assert.deepEqual(summary(await registry.claim(bob, claiming({ limit: 1 }))), ["master@2"]);
    });

    test("accounts of another cell are never claimed", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).directory.put([MASTER], []);
      const elsewhere = await fixture.open(freshCell());
      await elsewhere.registry.renew(alice, renewing());
      assert.deepEqual(await elsewhere.registry.claim(alice, claiming({ limit: 9 })), []);
    });

    test("of nodes that claim at the same time, exactly one gets each account", async (t) => {
      const fixture = await make(t);
      const names = Array.from({ length: 24 }, (_, index) => `a${String(index).padStart(2, "0")}`);
      await (await fixture.open()).directory.put(names.map((name, index) => account(name, "follower", index)), []);
      const nodes = await Promise.all(["n1", "n2", "n3", "n4"].map(async (name) => ({ name, registry: (await fixture.open()).registry })));
      await Promise.all(nodes.map(({ name, registry }) => registry.renew(me(name), renewing())));
      const claims = await Promise.all(nodes.flatMap(({ name, registry }) => [registry.claim(me(name), claiming()), registry.claim(me(name), claiming())]));
      // What all passed over because another was just looking at it.
      const rest = await nodes[0]?.registry.claim(me("n1"), claiming({ freeForMs: 0 }));
      assert.deepEqual(summary([...claims.flat(), ...(rest ?? [])]).sort(), names.map((name) => `${name}@1`));
    });

    test("of nodes that find the same lapsed owner, exactly one gets its account", async (t) => {
      const fixture = await make(t);
      const first = await fixture.open();
      await first.directory.put([MASTER], []);
      await first.registry.renew(alice, renewing());
      await first.registry.claim(alice, claiming({ limit: 1 }));
      await fixture.passTime(TTL_MS);
      const nodes = await Promise.all(["n1", "n2", "n3"].map(async (name) => ({ name, registry: (await fixture.open()).registry })));
      await Promise.all(nodes.map(({ name, registry }) => registry.renew(me(name), renewing())));
      const claims = await Promise.all(nodes.map(({ name, registry }) => registry.claim(me(name), claiming({ limit: 1 }))));
      assert.deepEqual(summary(claims.flat()), ["master@2"]);
    });
  });
}
