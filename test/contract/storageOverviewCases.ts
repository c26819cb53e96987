// Owns the Overview's contract: who owns what, pages, filters, skips.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountId, linkId, ticket } from "../../protocol/ids.ts";
import type { PairFilter, PairKey } from "../../protocol/ports/overview.ts";
import { claiming, FOLLOWER, freshCell, LINK, linkedStorage, MASTER, me, pairEvent, renewing, type StorageFactory } from "./storageFixture.ts";

const EVERYTHING: PairFilter = { follower: null, link: null, status: null };
const EVER_MS = 1e13;

export function overviewCases(make: StorageFactory): void {
  describe("overview", () => {
    test("nodes: who lives, what it said of itself, how many accounts it has", async (t) => {
      const fixture = await make(t);
      const storage = await fixture.open();
      await storage.directory.put([MASTER, FOLLOWER], [LINK]);
      await storage.registry.renew(me("b"), renewing({ address: "b:9520", capacity: 7, platforms: ["mt4"], accepting: false, logOk: false }));
      await storage.registry.renew(me("a"), renewing({ address: "a:9520" }));
      assert.equal((await storage.registry.claim(me("a"), claiming())).length, 2);
      await storage.registry.leave(me("b"));
      const [a, b, ...more] = await storage.overview.nodes();
      assert.deepEqual(more, []);
      assert.ok(a !== undefined && a.leaseLeftMs > 0 && a.leaseLeftMs <= 60_000);
      assert.deepEqual({ ...a, leaseLeftMs: 0 }, { ...me("a"), live: true, leaseLeftMs: 0, accepting: true, logOk: true, address: "a:9520", capacity: 100, platforms: ["mt4", "mt5"], accounts: 2 });
      assert.ok(b !== undefined && b.leaseLeftMs <= 0);
      assert.deepEqual({ ...b, leaseLeftMs: 0 }, { ...me("b"), live: false, leaseLeftMs: 0, accepting: false, logOk: false, address: "b:9520", capacity: 7, platforms: ["mt4"], accounts: 0 });
    });

    test("owner: nobody, then a live one, then one whose lease has ended", async (t) => {
      const fixture = await make(t);
      const storage = await fixture.open();
      await storage.directory.put([MASTER, FOLLOWER], [LINK]);
      assert.equal(await storage.overview.owner(FOLLOWER.id), null);
      assert.equal(await storage.overview.owner(accountId("nowhere")), null);
      await storage.registry.renew(me("a"), renewing({ address: "a:9520" }));
      await storage.registry.claim(me("a"), claiming());
      assert.deepEqual(await storage.overview.owner(FOLLOWER.id), { ...me("a"), epoch: 1, live: true, address: "a:9520" });
      await storage.registry.leave(me("a"));
      assert.equal((await storage.overview.owner(FOLLOWER.id))?.live, false);
      await storage.registry.renew(me("a", "a-boot-2"), renewing());
      assert.deepEqual(await storage.overview.owner(FOLLOWER.id), { ...me("a"), epoch: 1, live: false, address: null }, "another boot's lease is not its");
    });

    test("accounts come in pages with their owner and why they are parked", async (t) => {
      const storage = await linkedStorage(await make(t), 2);
      const [held] = await storage.registry.claim(me("owner"), claiming({ avoid: [MASTER.id] }));
      assert.equal(held?.account, FOLLOWER.id);
      assert.equal(await storage.directory.park(FOLLOWER, held.epoch, "wrong password"), true);
      const first = await storage.overview.accounts({ limit: 1, after: null });
      assert.deepEqual(first, [{ ...FOLLOWER, epoch: 3, projectedEpoch: 0, owner: { ...me("owner"), live: true, address: null }, parked: "wrong password", state: null }]);
      const second = await storage.overview.accounts({ limit: 5, after: FOLLOWER.id });
      assert.deepEqual(second, [{ ...MASTER, epoch: 2, projectedEpoch: 0, owner: null, parked: null, state: null }]);
      assert.deepEqual(await storage.overview.accounts({ limit: 5, after: MASTER.id }), []);
    });

    test("links come in pages", async (t) => {
      const storage = await linkedStorage(await make(t), 0);
      assert.deepEqual(await storage.overview.links({ limit: 1, after: null }), [LINK]);
      assert.deepEqual(await storage.overview.links({ limit: 1, after: LINK.id }), []);
    });

    test("pairs: filters, and pages that neither repeat nor leave out", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const skipped = { status: "Skipped", reason: "price_moved" } as const;
      await storage.pairs.write([
        pairEvent([1, 1], { masterTicket: ticket(2) }),
        pairEvent([1, 2], { masterTicket: ticket(10), ...skipped }),
        pairEvent([1, 3], { masterTicket: ticket(10), opening: 2 }),
        pairEvent([1, 4], { masterTicket: ticket(3), ...skipped }),
      ]);
      const keys = async (filter: Partial<PairFilter>, limit = 100, after: PairKey | null = null): Promise<string[]> =>
        (await storage.overview.pairs({ ...EVERYTHING, ...filter }, { limit, after })).map(({ pair }) => `${pair.masterTicket}/${pair.opening}`);
      assert.deepEqual(await keys({}), ["2/1", "3/1", "10/1", "10/2"]);
      assert.deepEqual(await keys({}, 2), ["2/1", "3/1"]);
      assert.deepEqual(await keys({}, 2, { link: LINK.id, masterTicket: 3, opening: 1 }), ["10/1", "10/2"]);
      assert.deepEqual(await keys({}, 2, { link: LINK.id, masterTicket: 10, opening: 1 }), ["10/2"]);
      assert.deepEqual(await keys({ status: "Skipped" }), ["3/1", "10/1"]);
      assert.deepEqual(await keys({ follower: FOLLOWER.id, link: LINK.id, status: "Open" }), ["2/1", "10/2"]);
      assert.deepEqual(await keys({ follower: MASTER.id }), []);
      assert.deepEqual(await keys({ link: linkId("nowhere") }), []);
      const [row] = await storage.overview.pairs(EVERYTHING, { limit: 1, after: null });
      assert.deepEqual([row], (await storage.pairs.rowsOf(FOLLOWER.id)).slice(0, 1));
    });

    test("skips are counted by reason, the most frequent first, since a moment", async (t) => {
      const storage = await linkedStorage(await make(t), 1);
      const reasons = ["too_old", "price_moved", "no_quote", "price_moved"] as const;
      await storage.pairs.write(reasons.map((reason, index) => pairEvent([1, index + 1], { masterTicket: ticket(index + 1), status: "Skipped", reason })));
      await storage.pairs.write([pairEvent([1, 9], { masterTicket: ticket(9), status: "Closed", reason: "manual" })]);
      assert.deepEqual(await storage.overview.skips(EVER_MS), [{ reason: "price_moved", count: 2 }, { reason: "no_quote", count: 1 }, { reason: "too_old", count: 1 }]);
      assert.deepEqual(await storage.overview.skips(-EVER_MS), []);
    });

    test("another cell shows nothing of it", async (t) => {
      const fixture = await make(t);
      const storage = await linkedStorage(fixture, 1);
      await storage.pairs.write([pairEvent([1, 1], { status: "Skipped", reason: "too_old" })]);
      const { overview } = await fixture.open(freshCell());
      const page = { limit: 10, after: null };
      assert.deepEqual([await overview.nodes(), await overview.accounts(page), await overview.links(page), await overview.pairs(EVERYTHING, page), await overview.skips(EVER_MS)], [[], [], [], [], []]);
      assert.equal(await overview.owner(FOLLOWER.id), null);
    });
  });
}
