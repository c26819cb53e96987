// Owns the Registry's contract about several nodes: shares, what is free since when, who may claim
// it, and what each says of itself.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { AccountId } from "../../protocol/ids.ts";
import type { ClaimTerms, HeldAccount, Identity, NodeReport, PlatformShare } from "../../protocol/ports/storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { account, claiming, me, renewing, TTL_MS, type StorageFactory, type StorageFixture } from "./storageFixture.ts";

const alice = me("alice");
const bob = me("bob");
const carol = me("carol");
const FREE_MS = 3_000;
const LIVE_MS = 12_000;
/** As a node claims. */
const AS_A_NODE: Partial<ClaimTerms> = { freeForMs: FREE_MS, liveForMs: LIVE_MS };
const names = (held: readonly HeldAccount[]): string[] => held.map(({ account }) => account);

interface Cell extends Storage {
  readonly fixture: StorageFixture;
  /** Renews all of them. */
  live(...who: readonly Identity[]): Promise<void>;
  takes(who: Identity, terms?: Partial<ClaimTerms>): Promise<string[]>;
  shares(who: Identity): Promise<readonly PlatformShare[]>;
}

export function spreadCases(make: StorageFactory): void {
  /** A cell of `mt4` and `mt5` accounts, named `a0...` and `b0...`; the first is a master. */
  async function cellOf(t: TestContext, mt4: number, mt5 = 0): Promise<Cell> {
    const fixture = await make(t);
    const storage = await fixture.open();
    const accounts = [
      ...Array.from({ length: mt4 }, (_, index) => account(`a${index}`, index === 0 ? "master" : "follower", index)),
      ...Array.from({ length: mt5 }, (_, index) => ({ ...account(`b${index}`, "follower" as const, 100 + index), platform: "mt5" as const })),
    ];
    await storage.directory.put(accounts, []);
    const { registry } = storage;
    return {
      ...storage,
      fixture,
      live: async (...who) => {
        for (const one of who) await registry.renew(one, renewing());
      },
      takes: async (who, terms = {}) => names(await registry.claim(who, claiming({ ...AS_A_NODE, ...terms }))),
      shares: async (who) => (await registry.renew(who, renewing())).shares,
    };
  }

  describe("registry: shares", () => {
    test("a node alone takes everything at once", async (t) => {
      const cell = await cellOf(t, 3, 2);
      await cell.live(alice);
      assert.deepEqual(await cell.takes(alice), ["a0", "a1", "a2", "b0", "b1"]);
    });

    test("of three nodes each takes its share of each platform, rounded up as far as it goes, masters counted like followers", async (t) => {
      const cell = await cellOf(t, 7, 2);
      await cell.live(alice, bob, carol);
      const counts: number[][] = [];
      for (const who of [carol, alice, bob]) {
        // Whoever holds most has what does not divide evenly; before anybody holds anything, the first by name.
        const taken = [...(await cell.takes(who)), ...(await cell.takes(who))];
        counts.push(["a", "b"].map((platform) => taken.filter((name) => name.startsWith(platform)).length));
        assert.deepEqual(await cell.takes(who), []);
      }
      assert.deepEqual(counts.map(([mt4]) => mt4).sort(), [2, 2, 3]);
      assert.deepEqual(counts.map(([, mt5]) => mt5).sort(), [0, 1, 1]);
    });

    test("a node that is not accepting claims nothing and has no share; the others share what it would have had", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.live(alice, bob);
      await cell.registry.renew(bob, renewing({ accepting: false }));
      assert.deepEqual(await cell.takes(bob), []);
      assert.equal((await cell.takes(alice)).length, 4);
    });

    test("a node whose lease has run out has no share either", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.live(bob);
      await cell.fixture.passTime(TTL_MS);
      await cell.live(alice);
      assert.equal((await cell.takes(alice)).length, 4);
    });

    test("a node claims and shares only what it serves", async (t) => {
      const cell = await cellOf(t, 4, 2);
      await cell.live(alice);
      await cell.registry.renew(bob, renewing({ platforms: ["mt5"] }));
      assert.equal((await cell.takes(bob)).length, 1);
      const taken = await cell.takes(alice);
      assert.deepEqual(["a", "b"].map((platform) => taken.filter((name) => name.startsWith(platform)).length), [4, 1]);
    });

    test("no node holds more than its capacity, whatever the share and however long all is free", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.registry.renew(alice, renewing({ capacity: 3 }));
      assert.equal((await cell.takes(alice, { limit: 2 })).length, 2);
      await cell.fixture.passTime(10_000);
      assert.equal((await cell.takes(alice)).length, 1);
      assert.deepEqual(await cell.takes(alice), []);
    });

    test("what is parked or switched off is neither claimed nor counted", async (t) => {
      const cell = await cellOf(t, 6);
      await cell.live(alice);
      const [held] = await cell.registry.claim(alice, claiming({ limit: 1 }));
      assert.ok(held);
      const tried = (await cell.directory.accounts()).find(({ id }) => id === held.account);
      assert.ok(tried);
      assert.ok(await cell.directory.park(tried, held.epoch, "wrong password"));
      await cell.registry.release(alice, held, 0);
      const off = (await cell.directory.accounts()).find(({ id }) => id !== held.account);
      assert.ok(off);
      await cell.directory.put([{ ...off, enabled: false }], []);
      await cell.live(bob);
      await cell.fixture.passTime(10_000);
      assert.equal((await cell.takes(alice, { freeForMs: 1e6 })).length, 2);
      const taken = await cell.takes(bob, { freeForMs: 0 });
      assert.deepEqual([taken.length, taken.includes(held.account), taken.includes(off.id)], [2, false, false]);
    });

    test("an account that is to be avoided is left to others", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(alice);
      assert.deepEqual(await cell.takes(alice, { avoid: ["a0" as AccountId] }), ["a1"]);
      assert.deepEqual(await cell.takes(alice), ["a0"]);
    });

    test("a renewal tells the shares, and whether another has room", async (t) => {
      const cell = await cellOf(t, 5, 1);
      await cell.live(alice);
      await cell.takes(alice);
      assert.deepEqual(await cell.shares(alice), [
        { platform: "mt4", share: 5, mine: 5, othersHaveRoom: false },
        { platform: "mt5", share: 1, mine: 1, othersHaveRoom: false },
      ]);
      assert.deepEqual((await cell.registry.renew(bob, renewing())).shares, [], "as it was before its first renewal");
      assert.deepEqual(await cell.shares(alice), [
        { platform: "mt4", share: 3, mine: 5, othersHaveRoom: true },
        { platform: "mt5", share: 1, mine: 1, othersHaveRoom: false },
      ]);
      assert.deepEqual((await cell.shares(bob)).map(({ share, mine, othersHaveRoom }) => [share, mine, othersHaveRoom]), [[2, 0, false], [0, 0, false]]);
    });

    test("what does not divide evenly stays with whoever holds it", async (t) => {
      const cell = await cellOf(t, 3);
      await cell.live(bob);
      await cell.takes(bob, { limit: 2 });
      await cell.live(alice);
      await cell.takes(alice);
      assert.deepEqual((await cell.shares(bob)).map(({ share, mine }) => [share, mine]), [[2, 2]]);
      assert.deepEqual((await cell.shares(alice)).map(({ share, mine }) => [share, mine]), [[1, 1]]);
    });

    for (const [what, report] of [["is full", { capacity: 0 }], ["does not accept", { accepting: false }], ["does not serve the platform", { platforms: ["mt5"] }]] as [string, Partial<NodeReport>][]) {
      test(`a node that ${what} has no room`, async (t) => {
        const cell = await cellOf(t, 4);
        await cell.live(alice);
        await cell.takes(alice);
        await cell.registry.renew(bob, renewing(report));
        assert.deepEqual((await cell.shares(alice)).map(({ othersHaveRoom }) => othersHaveRoom), [false]);
      });
    }
  });

  describe("registry: what is free since when", () => {
    test("an account that nobody took for a while is limited by capacity only", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.live(alice, bob);
      assert.equal((await cell.takes(alice)).length, 2);
      await cell.fixture.passTime(FREE_MS - 1_000);
      assert.deepEqual(await cell.takes(alice), []);
      await cell.fixture.passTime(1_000);
      assert.equal((await cell.takes(alice)).length, 2);
    });

    test("what is limited by capacity only still counts against the share", async (t) => {
      const cell = await cellOf(t, 4);
      const all = await cell.directory.accounts();
      await cell.directory.put(all.slice(2).map((one) => ({ ...one, enabled: false })), []);
      await cell.live(alice, bob);
      await cell.fixture.passTime(FREE_MS);
      await cell.directory.put(all.slice(2), []);
      assert.deepEqual(await cell.takes(alice), ["a0", "a1"]);
      assert.deepEqual(await cell.takes(bob), ["a2", "a3"]);
    });

    test("an account given back counts from then", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(alice);
      const [first] = await cell.registry.claim(alice, claiming());
      assert.ok(first);
      await cell.live(bob);
      await cell.fixture.passTime(10_000);
      await cell.registry.release(alice, first, 0);
      await cell.live(carol);
      await cell.fixture.passTime(FREE_MS - 1_000);
      assert.deepEqual(await cell.takes(alice), [], "its share is the other one");
      await cell.fixture.passTime(1_000);
      assert.deepEqual(await cell.takes(alice), [first.account]);
    });

    test("one that is switched on again counts from then", async (t) => {
      const cell = await cellOf(t, 2);
      const [first, second] = await cell.directory.accounts();
      assert.ok(first && second);
      await cell.directory.put([{ ...first, enabled: false }], []);
      await cell.live(alice, bob);
      assert.deepEqual(await cell.takes(alice), [second.id]);
      await cell.fixture.passTime(10_000);
      await cell.directory.put([first], []);
      assert.deepEqual(await cell.takes(alice), []);
      assert.deepEqual(await cell.takes(bob), [first.id]);
    });

    test("for a node that just came nothing is free for long", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.fixture.passTime(10_000);
      await cell.live(alice, bob);
      assert.equal((await cell.takes(alice)).length, 2);
      await cell.fixture.passTime(FREE_MS);
      assert.equal((await cell.takes(alice)).length, 2);
    });
  });

  describe("registry: owners that are gone", () => {
    test("an owner that may come back keeps its accounts from a node that has only just come", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(alice);
      await cell.takes(alice);
      await cell.fixture.passTime(TTL_MS);
      await cell.live(bob);
      assert.deepEqual(await cell.takes(bob), []);
      await cell.fixture.passTime(LIVE_MS - 1_000);
      assert.deepEqual(await cell.takes(bob), []);
      await cell.fixture.passTime(1_000);
      assert.equal((await cell.takes(bob)).length, 2);
    });

    test("and from one whose own lease had run out too: live without a break means since its return", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(alice);
      await cell.takes(alice);
      await cell.live(bob);
      await cell.fixture.passTime(TTL_MS);
      await cell.live(bob);
      assert.deepEqual(await cell.takes(bob), []);
      assert.deepEqual((await cell.registry.renew(alice, renewing())).accounts.length, 2, "each finds its own again");
    });

    test("but not from one that was live all along", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(bob);
      await cell.live(alice);
      const held = await cell.registry.claim(alice, claiming({ freeForMs: 0 }));
      assert.equal(held.length, 2);
      await cell.fixture.passTime(TTL_MS - 1_000);
      await cell.live(bob);
      await cell.fixture.passTime(1_000);
      assert.equal((await cell.takes(bob)).length, 2);
    });

    test("of a lapsed owner's accounts the first that may claim takes its share, and all of them only after a while", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.live(carol);
      await cell.takes(carol);
      await cell.fixture.passTime(TTL_MS);
      await cell.live(alice, bob);
      await cell.fixture.passTime(LIVE_MS);
      assert.equal((await cell.takes(alice)).length, 2);
      await cell.fixture.passTime(FREE_MS);
      assert.equal((await cell.takes(alice)).length, 2);
    });

    test("an owner that left, or was said to be dead, holds nobody up", async (t) => {
      const cell = await cellOf(t, 4);
      await cell.live(alice);
      await cell.takes(alice);
      await cell.live(bob, carol);
      await cell.registry.leave(alice);
      assert.equal((await cell.takes(bob)).length, 2);
      assert.equal((await cell.takes(carol)).length, 2);
      assert.deepEqual((await cell.registry.renew(alice, renewing())).accounts, []);
    });

    test("nor does one whose name a newer boot has", async (t) => {
      const cell = await cellOf(t, 2);
      await cell.live(alice);
      await cell.takes(alice);
      await cell.fixture.passTime(TTL_MS);
      await cell.live(me("alice", "reborn"));
      assert.equal((await cell.takes(me("alice", "reborn"))).length, 2);
    });

    test("ended on behalf of a dead process while its claim was still under way: what it got is free", async (t) => {
      const cell = await cellOf(t, 1);
      await cell.live(alice, bob);
      await cell.registry.leave(alice);
      assert.deepEqual(await cell.takes(alice), [], "it is dead");
      assert.deepEqual(await cell.takes(bob), ["a0"]);
    });
  });

  describe("registry: what the others say of the log", () => {
    test("only another node's word counts, and only while it is live", async (t) => {
      const cell = await cellOf(t, 0);
      const othersLogOk = async (): Promise<boolean> => (await cell.registry.renew(alice, renewing())).othersLogOk;
      assert.equal(await othersLogOk(), false);
      assert.equal(await othersLogOk(), false, "its own word");
      await cell.registry.renew(bob, renewing({ logOk: false }));
      assert.equal(await othersLogOk(), false);
      await cell.registry.renew(bob, renewing({ accepting: false }));
      assert.equal(await othersLogOk(), true);
      await cell.fixture.passTime(TTL_MS);
      assert.equal(await othersLogOk(), false);
    });
  });
}
