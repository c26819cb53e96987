// Owns the contract of changing what is configured while nodes run: applying a file, the version
// that tells nodes of it, parked accounts, and the partition count of a cell.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Account, Link } from "../../protocol/accounts.ts";
import { epoch, symbolName, ticket } from "../../protocol/ids.ts";
import type { Directory, DirectoryDifference } from "../../protocol/ports/storage.ts";
import { DEFAULT_PARTITIONS } from "../../protocol/topics.ts";
import type { Storage } from "../../storage/storage.ts";
import { account, claiming, FOLLOWER, freshCell, link, LINK, linkedStorage, MASTER, me, pairEvent, renewing, type StorageFactory } from "./storageFixture.ts";

const WANTED = { accounts: [FOLLOWER, MASTER], links: [LINK] } as const;
const NOTHING: DirectoryDifference = { added: [], changed: [], removed: [], refused: [] };
const LIVE = { dryRun: false } as const;

const settingsOf = (change: Partial<Link["settings"]>): Link => ({ ...LINK, settings: { ...LINK.settings, ...change } });
const changes = (difference: DirectoryDifference): readonly string[] => difference.changed.map(({ path, from, to }) => `${path}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`);
const refusals = (difference: DirectoryDifference): readonly string[] => difference.refused.map(({ path, why }) => `${path}: ${why}`);
const enabled = async (directory: Directory): Promise<readonly string[]> => [...(await directory.accounts()), ...(await directory.links())].filter((item) => item.enabled).map(({ id }) => id);

/** The master and the follower are held by alice. */
async function held(storage: Storage): Promise<ReadonlyMap<string, number>> {
  await storage.directory.apply(WANTED, LIVE);
  await storage.registry.renew(me("alice"), renewing());
  return new Map((await storage.registry.claim(me("alice"), claiming())).map((entry) => [entry.account, entry.epoch]));
}

export function applyCases(make: StorageFactory): void {
  describe("apply", () => {
    test("a dry run tells the difference and writes nothing; the same is told when it is put", async (t) => {
      const { directory } = await (await make(t)).open();
      const difference = { ...NOTHING, added: ["accounts/follower", "accounts/master", "links/link"] };
      assert.deepEqual(await directory.apply(WANTED, { dryRun: true }), difference);
      assert.deepEqual([await directory.accounts(), await directory.version()], [[], 0]);
      assert.deepEqual(await directory.apply(WANTED, LIVE), difference);
      assert.deepEqual(await directory.read(), { version: 1, ...WANTED, parked: new Map() });
    });

    test("twice changes nothing the second time, and the version stands", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.apply(WANTED, LIVE);
      assert.deepEqual(await directory.apply(WANTED, LIVE), NOTHING);
      await directory.put(WANTED.accounts, WANTED.links);
      assert.equal(await directory.version(), 1);
    });

    test("what changed is named field by field, with what it was and what it is", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.apply(WANTED, LIVE);
      const moved: Account = { ...FOLLOWER, broker: "h:1", credentialsRef: "file:/x" };
      const other = settingsOf({ slippagePoints: 80, sizing: { mode: "multiplier", factorMillionths: 500_000 }, symbols: { ...LINK.settings.symbols, followerSuffix: ".r", map: { GOLD: symbolName("XAUUSD") } } });
      const difference = await directory.apply({ accounts: [MASTER, moved], links: [other] }, LIVE);
      assert.deepEqual([...changes(difference)].sort(), [
        'accounts/follower/broker: "127.0.0.1:9510" -> "h:1"',
        'accounts/follower/credentials: "env:follower" -> "file:/x"',
        'links/link/sizing: {"mode":"multiplier","factorMillionths":1000000} -> {"mode":"multiplier","factorMillionths":500000}',
        'links/link/symbols/followerSuffix: "" -> ".r"',
        'links/link/symbols/map/GOLD: null -> "XAUUSD"',
        "links/link/slippagePoints: 50 -> 80",
      ].sort());
      assert.deepEqual([await directory.accounts(), await directory.links(), await directory.version()], [[moved, MASTER], [other], 2]);
    });

    test("what is named no more is switched off and kept; named again, it is what it was", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.apply(WANTED, LIVE);
      assert.deepEqual(await directory.apply({ accounts: [MASTER], links: [] }, LIVE), { ...NOTHING, removed: ["accounts/follower", "links/link"] });
      assert.deepEqual(await enabled(directory), ["master"]);
      assert.deepEqual(await directory.apply({ accounts: [MASTER], links: [] }, LIVE), NOTHING);
      assert.deepEqual(changes(await directory.apply(WANTED, LIVE)), ["accounts/follower/enabled: false -> true", "links/link/enabled: false -> true"]);
      assert.deepEqual(await enabled(directory), ["follower", "master", "link"]);
    });

    test("what never changes is refused by name, and nothing of the file is put", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.apply(WANTED, LIVE);
      const difference = await directory.apply({ accounts: [MASTER, { ...FOLLOWER, login: 9, platform: "mt5" }, account("third", "follower", 3)], links: [{ ...LINK, magic: link("x", "x", "x", 1).magic }] }, LIVE);
      assert.deepEqual(refusals(difference), ["accounts/follower/platform: its platform is mt4 for ever, not mt5", "accounts/follower/login: its login is 2 for ever, not 9", "links/link/magic: its magic is 7001 for ever, not 1"]);
      assert.deepEqual(await directory.read(), { version: 1, ...WANTED, parked: new Map() });
    });

    test("a login or a magic of something that was removed is not given again", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.apply(WANTED, LIVE);
      await directory.apply({ accounts: [MASTER], links: [] }, LIVE);
      const twin = account("twin", "follower", FOLLOWER.login);
      assert.deepEqual(refusals(await directory.apply({ accounts: [MASTER, twin], links: [] }, LIVE)), ["accounts/twin: 2 at 127.0.0.1:9510 is follower's already"]);
      const again = link("again", "master", "follower", LINK.magic);
      assert.deepEqual(refusals(await directory.apply({ accounts: [MASTER, FOLLOWER], links: [again] }, LIVE)), ["links/again: magic 7001 on follower is link's already"]);
    });

    for (const [name, accounts, path] of [
      ["a follower that is removed", [MASTER], "accounts/follower: 2 copies are open"],
      ["a follower that is switched off", [MASTER, { ...FOLLOWER, enabled: false }], "accounts/follower: 2 copies are open"],
      ["a master that is removed", [FOLLOWER], "accounts/master: 2 copies of its trades are open"],
    ] as const) {
      test(`refused while copies are open: ${name}`, async (t) => {
        const storage = await linkedStorage(await make(t), 1);
        await storage.pairs.write([pairEvent([1, 1]), pairEvent([1, 2], { masterTicket: ticket(2), status: "Sending" }), pairEvent([1, 3], { masterTicket: ticket(3), status: "Skipped" })]);
        const both = await storage.directory.apply({ accounts, links: [] }, LIVE);
        assert.deepEqual(refusals(both), [`${path}: remove its links first, and the account when they are closed`]);
        assert.deepEqual(await enabled(storage.directory), ["follower", "master", "link"]);
        // The link alone can go: it is close-only then.
        assert.deepEqual(await storage.directory.apply({ ...WANTED, links: [] }, LIVE), { ...NOTHING, removed: ["links/link"] });
        await storage.pairs.write([pairEvent([1, 4], { status: "Closed", reason: "manual" }), pairEvent([1, 5], { masterTicket: ticket(2), status: "Skipped", reason: "refused" })]);
        assert.deepEqual(refusals(await storage.directory.apply({ accounts, links: [] }, LIVE)), []);
      });
    }

    test("owner and epoch stay as they are", async (t) => {
      const storage = await (await make(t)).open();
      const epochs = await held(storage);
      await storage.directory.apply({ accounts: [MASTER, { ...FOLLOWER, enabled: false }], links: [] }, LIVE);
      const { accounts } = await storage.registry.renew(me("alice"), renewing());
      assert.deepEqual(new Map(accounts.map((entry) => [entry.account, entry.epoch])), epochs);
    });

    test("another cell's accounts, links and version are its own", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).directory.apply(WANTED, LIVE);
      const elsewhere = (await fixture.open(freshCell())).directory;
      assert.deepEqual(await elsewhere.apply({ accounts: [], links: [] }, LIVE), NOTHING);
      assert.equal(await elsewhere.version(), 0);
      assert.deepEqual(await enabled((await fixture.open()).directory), ["follower", "master", "link"]);
    });

    test("of two that are applied at once, the second is judged against what the first stored", async (t) => {
      const fixture = await make(t);
      const [one, two] = [(await fixture.open()).directory, (await fixture.open()).directory];
      const both = await Promise.all([one.apply(WANTED, LIVE), two.apply(WANTED, LIVE)]);
      assert.deepEqual(both.map(({ added }) => added.length).sort(), [0, 3]);
      assert.equal(await one.version(), 1);
    });
  });

  describe("parked accounts", () => {
    test("are told with their broker's reason, and claimed by nobody", async (t) => {
      const storage = await (await make(t)).open();
      const at = (await held(storage)).get(FOLLOWER.id) ?? 0;
      assert.equal(await storage.directory.park(FOLLOWER, epoch(at), "invalid password\0"), true);
      assert.deepEqual([...(await storage.directory.read()).parked.keys()], [FOLLOWER.id]);
      assert.match((await storage.directory.read()).parked.get(FOLLOWER.id) ?? "", /^invalid password/);
      assert.equal(await storage.directory.version(), 2);
      await storage.registry.release(me("alice"), { account: FOLLOWER.id, epoch: epoch(at) }, 0);
      assert.deepEqual(await storage.registry.claim(me("alice"), claiming()), []);
    });

    test("are tried again when a file that names them is applied, whatever else it says", async (t) => {
      const storage = await (await make(t)).open();
      const at = (await held(storage)).get(FOLLOWER.id) ?? 0;
      await storage.directory.park(FOLLOWER, epoch(at), "invalid password");
      await storage.registry.release(me("alice"), { account: FOLLOWER.id, epoch: epoch(at) }, 0);
      const difference = await storage.directory.apply(WANTED, LIVE);
      assert.deepEqual(changes(difference), ['accounts/follower/parked: "invalid password" -> null']);
      assert.deepEqual([(await storage.directory.read()).parked, await storage.directory.version()], [new Map(), 3]);
      assert.deepEqual((await storage.registry.claim(me("alice"), claiming())).map((entry) => entry.account), [FOLLOWER.id]);
    });

    test("not by a former owner, nor for a way of logging in that was changed meanwhile", async (t) => {
      const storage = await (await make(t)).open();
      const at = (await held(storage)).get(FOLLOWER.id) ?? 0;
      assert.equal(await storage.directory.park(FOLLOWER, epoch(at - 1), "old"), false);
      await storage.directory.apply({ ...WANTED, accounts: [MASTER, { ...FOLLOWER, credentialsRef: "env:NEW" }] }, LIVE);
      assert.equal(await storage.directory.park(FOLLOWER, epoch(at), "old"), false);
      await storage.directory.apply({ ...WANTED, accounts: [MASTER, { ...FOLLOWER, broker: "h:1" }] }, LIVE);
      assert.equal(await storage.directory.park(FOLLOWER, epoch(at), "old"), false);
      await storage.registry.release(me("alice"), { account: FOLLOWER.id, epoch: epoch(at) }, 0);
      assert.equal(await storage.directory.park({ ...FOLLOWER, broker: "h:1" }, epoch(at), "given back"), false);
      assert.deepEqual((await storage.directory.read()).parked, new Map());
    });
  });

  describe("partitions", () => {
    test("the first who asks fixes them, for a cell that has accounts already too", async (t) => {
      const fixture = await make(t);
      const { directory } = await fixture.open();
      await directory.put([MASTER], []);
      assert.deepEqual(await Promise.all([directory.partitions(8), directory.partitions(null), directory.partitions(8)]), [8, 8, 8]);
      assert.equal(await directory.version(), 1);
    });

    test("another count is refused, with what was expected and what was found", async (t) => {
      const { directory } = await (await make(t)).open();
      assert.equal(await directory.partitions(null), DEFAULT_PARTITIONS);
      await assert.rejects(directory.partitions(DEFAULT_PARTITIONS + 1), { code: "configuration", message: /expected 17 partitions, found 16/ });
      assert.equal(await directory.partitions(null), DEFAULT_PARTITIONS);
    });

    for (const count of [0, 1.5, 10_001, Number.NaN]) {
      test(`no count: ${count}`, async (t) => {
        const { directory } = await (await make(t)).open();
        await assert.rejects(directory.partitions(count), { code: "configuration", message: /expected a whole number from 1 to 10000/ });
      });
    }
  });
}
