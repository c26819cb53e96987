// Owns the Registry's contract: leases, claims, and who loses which race.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AccountId } from "../../protocol/ids.ts";
import type { HeldAccount } from "../../protocol/ports/storage.ts";
import { account, freshCell, me, MASTER, TTL_MS, type StorageFactory } from "./storageFixture.ts";

const alice = me("alice");
const bob = me("bob");
const summary = (held: readonly HeldAccount[]): string[] => held.map(({ account, epoch }) => `${account}@${epoch}`);

export function registryCases(make: StorageFactory): void {
  describe("registry: leases", () => {
    test("the first renewal holds the lease and says that there was none before", async (t) => {
      const { registry } = await (await make(t)).open();
      assert.deepEqual(await registry.renew(alice, TTL_MS), { held: true, wasLive: false, accounts: [] });
      assert.deepEqual(await registry.renew(alice, TTL_MS), { held: true, wasLive: true, accounts: [] });
    });

    test("a renewal just before the end finds the lease live, one at the end does not", async (t) => {
      const fixture = await make(t);
      const { registry } = await fixture.open();
      await registry.renew(alice, TTL_MS);
      await fixture.passTime(TTL_MS - 30_000);
      assert.equal((await registry.renew(alice, TTL_MS)).wasLive, true);
      await fixture.passTime(TTL_MS);
      assert.deepEqual(await registry.renew(alice, TTL_MS), { held: true, wasLive: false, accounts: [] });
    });

    test("a second boot under a live name is refused and changes nothing", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, TTL_MS);
      assert.equal((await registry.renew(me("alice", "other"), TTL_MS)).held, false);
      assert.deepEqual(await registry.renew(alice, TTL_MS), { held: true, wasLive: true, accounts: [] });
    });

    test("a second boot takes the name when the lease has run out, and the first is refused then", async (t) => {
      const fixture = await make(t);
      const { registry } = await fixture.open();
      await registry.renew(alice, TTL_MS);
      await fixture.passTime(TTL_MS);
      assert.deepEqual(await registry.renew(me("alice", "other"), TTL_MS), { held: true, wasLive: false, accounts: [] });
      assert.equal((await registry.renew(alice, TTL_MS)).held, false);
    });

    test("a boot that left is never revived by a late renewal; a new boot starts at once", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, TTL_MS);
      await registry.leave(alice);
      assert.equal((await registry.renew(alice, TTL_MS)).held, false);
      assert.deepEqual(await registry.renew(me("alice", "other"), TTL_MS), { held: true, wasLive: false, accounts: [] });
      assert.equal((await registry.renew(alice, TTL_MS)).held, false);
    });

    test("leaving under a name that another boot has changes nothing", async (t) => {
      const { registry } = await (await make(t)).open();
      await registry.renew(alice, TTL_MS);
      await registry.leave(me("alice", "other"));
      assert.equal((await registry.renew(alice, TTL_MS)).wasLive, true);
    });

    test("nodes of another cell are strangers", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).registry.renew(alice, TTL_MS);
      const elsewhere = await fixture.open(freshCell());
      assert.deepEqual(await elsewhere.registry.renew(me("alice", "other"), TTL_MS), { held: true, wasLive: false, accounts: [] });
    });
  });

  describe("registry: claims", () => {
    test("a claim takes free enabled accounts up to the limit, each at a raised epoch", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([account("a", "follower", 1), { ...account("b", "follower", 2), enabled: false }, account("c", "follower", 3), account("d", "master", 4)], []);
      await registry.renew(alice, TTL_MS);
      assert.deepEqual(summary(await registry.claim(alice, 2)), ["a@1", "c@1"]);
      assert.deepEqual(summary(await registry.claim(alice, 9)), ["d@1"]);
      assert.deepEqual(summary((await registry.renew(alice, TTL_MS)).accounts), ["a@1", "c@1", "d@1"]);
    });

    test("a node without a live lease claims nothing", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      assert.deepEqual(await registry.claim(alice, 9), []);
      await registry.renew(alice, TTL_MS);
      await fixture.passTime(TTL_MS);
      assert.deepEqual(await registry.claim(alice, 9), []);
    });

    test("an account of a live owner is not free; once the lease ran out it is, and the former owner no longer lists it", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      await registry.renew(alice, TTL_MS);
      await registry.claim(alice, 1);
      await registry.renew(bob, TTL_MS);
      assert.deepEqual(await registry.claim(bob, 1), []);
      await fixture.passTime(TTL_MS);
      await registry.renew(bob, TTL_MS);
      assert.deepEqual(summary(await registry.claim(bob, 1)), ["master@2"]);
      assert.deepEqual(await registry.renew(alice, TTL_MS), { held: true, wasLive: false, accounts: [] });
    });

    test("an owner whose lease lapsed without a rival gets its account back only at a new epoch", async (t) => {
      const fixture = await make(t);
      const { registry, directory } = await fixture.open();
      await directory.put([MASTER], []);
      await registry.renew(alice, TTL_MS);
      await registry.claim(alice, 1);
      await fixture.passTime(TTL_MS);
      await registry.leave(alice);
      const reborn = me("alice", "other");
      assert.deepEqual((await registry.renew(reborn, TTL_MS)).accounts, []);
      assert.deepEqual(summary(await registry.claim(reborn, 1)), ["master@2"]);
    });

    test("a release frees the account only for its owner at its epoch, and once", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, TTL_MS);
      await registry.renew(bob, TTL_MS);
      const [held] = await registry.claim(alice, 1);
      assert.ok(held);
      assert.equal(await registry.release(bob, held), false);
      assert.equal(await registry.release(me("alice", "other"), held), false);
      assert.equal(await registry.release(alice, { ...held, epoch: (held.epoch + 1) as HeldAccount["epoch"] }), false);
      assert.equal(await registry.release(alice, { ...held, account: "nobody" as AccountId }), false);
      assert.equal(await registry.release(alice, held), true);
      assert.equal(await registry.release(alice, held), false);
      assert.deepEqual(summary(await registry.claim(bob, 1)), ["master@2"]);
    });

    test("leaving frees the accounts at once", async (t) => {
      const { registry, directory } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(alice, TTL_MS);
      await registry.renew(bob, TTL_MS);
      await registry.claim(alice, 1);
      await registry.leave(alice);
      assert.deepEqual(summary(await registry.claim(bob, 1)), ["master@2"]);
    });

    test("accounts of another cell are never claimed", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).directory.put([MASTER], []);
      const elsewhere = await fixture.open(freshCell());
      await elsewhere.registry.renew(alice, TTL_MS);
      assert.deepEqual(await elsewhere.registry.claim(alice, 9), []);
    });

    test("of nodes that claim at the same time, exactly one gets each account", async (t) => {
      const fixture = await make(t);
      const names = Array.from({ length: 24 }, (_, index) => `a${String(index).padStart(2, "0")}`);
      await (await fixture.open()).directory.put(names.map((name, index) => account(name, "follower", index)), []);
      const nodes = await Promise.all(["n1", "n2", "n3", "n4"].map(async (name) => ({ name, registry: (await fixture.open()).registry })));
      await Promise.all(nodes.map(({ name, registry }) => registry.renew(me(name), TTL_MS)));
      const claims = await Promise.all(nodes.flatMap(({ name, registry }) => [registry.claim(me(name), 9), registry.claim(me(name), 9)]));
      const rest = await nodes[0]?.registry.claim(me("n1"), 99); // what all skipped because another was just looking at it
      assert.deepEqual(summary([...claims.flat(), ...(rest ?? [])]).sort(), names.map((name) => `${name}@1`));
    });

    test("of nodes that find the same lapsed owner, exactly one gets its account", async (t) => {
      const fixture = await make(t);
      const first = await fixture.open();
      await first.directory.put([MASTER], []);
      await first.registry.renew(alice, TTL_MS);
      await first.registry.claim(alice, 1);
      await fixture.passTime(TTL_MS);
      const nodes = await Promise.all(["n1", "n2", "n3"].map(async (name) => ({ name, registry: (await fixture.open()).registry })));
      await Promise.all(nodes.map(({ name, registry }) => registry.renew(me(name), TTL_MS)));
      const claims = await Promise.all(nodes.map(({ name, registry }) => registry.claim(me(name), 1)));
      assert.deepEqual(summary(claims.flat()), ["master@2"]);
    });
  });
}
