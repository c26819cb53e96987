// Owns the Directory's contract: what is put comes back, and what must never change does not.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFAULT_LINK_SETTINGS, type Account, type Link } from "../../protocol/accounts.ts";
import { symbolName } from "../../protocol/ids.ts";
import type { VolumeUnits } from "../../protocol/units.ts";
import { account, claiming, FOLLOWER, freshCell, link, LINK, MASTER, me, renewing, type StorageFactory } from "./storageFixture.ts";

export function directoryCases(make: StorageFactory): void {
  describe("directory", () => {
    test("what was put comes back whole, in the order of its ids", async (t) => {
      const { directory } = await (await make(t)).open();
      const settings = { ...DEFAULT_LINK_SETTINGS, sizing: { mode: "fixed" as const, volume: 1_000_000 as VolumeUnits }, symbols: { ...DEFAULT_LINK_SETTINGS.symbols, map: { GOLD: symbolName("XAUUSD@") } } };
      await directory.put([MASTER, FOLLOWER], [{ ...LINK, settings }]);
      assert.deepEqual(await directory.accounts(), [FOLLOWER, MASTER]);
      assert.deepEqual(await directory.links(), [{ ...LINK, settings }]);
    });

    test("a later put adds and changes, and removes nothing", async (t) => {
      const { directory } = await (await make(t)).open();
      await directory.put([MASTER, FOLLOWER], [LINK]);
      const moved = { ...MASTER, broker: "localhost:1", credentialsRef: "file:/other", enabled: false };
      const third = account("third", "follower", 3);
      await directory.put([moved, third], [{ ...LINK, enabled: false }]);
      assert.deepEqual(await directory.accounts(), [FOLLOWER, moved, third]);
      assert.deepEqual(await directory.links(), [{ ...LINK, enabled: false }]);
    });

    test("a put leaves owner and epoch as they are", async (t) => {
      const { directory, registry } = await (await make(t)).open();
      await directory.put([MASTER], []);
      await registry.renew(me("alice"), renewing());
      const [claimed] = await registry.claim(me("alice"), claiming({ limit: 1 }));
      await directory.put([{ ...MASTER, broker: "localhost:1" }], []);
      assert.deepEqual((await registry.renew(me("alice"), renewing())).accounts, [{ account: MASTER.id, epoch: claimed?.epoch }]);
    });

    test("two accounts may swap their brokers' addresses", async (t) => {
      const { directory } = await (await make(t)).open();
      const [one, two] = [{ ...account("one", "follower", 5), broker: "h:1" }, { ...account("two", "follower", 5), broker: "h:2" }] as const;
      await directory.put([one, two], []);
      await directory.put([{ ...one, broker: "h:2" }, { ...two, broker: "h:1" }], []);
      assert.deepEqual((await directory.accounts()).map(({ id, broker }) => `${id} ${broker}`), ["one h:2", "two h:1"]);
    });

    const refusals: readonly (readonly [string, readonly Account[], readonly Link[], RegExp])[] = [
      ["an account that changes its role", [{ ...MASTER, role: "follower" }], [], /account master: its role is master for ever/],
      ["an account that changes its login", [{ ...MASTER, login: 99 }], [], /account master: its login is 1 for ever, not 99/],
      ["a link that changes its follower", [account("third", "follower", 3)], [{ ...LINK, follower: link("x", "x", "third", 1).follower }], /link link: its follower is follower for ever/],
      ["a link that changes its magic", [], [{ ...LINK, magic: link("x", "x", "x", 1).magic }], /link link: its magic is 7001 for ever/],
      ["a magic given twice on one follower", [], [link("second", "master", "follower", 7001)], /link second: magic 7001 on follower is link's already/],
      ["two accounts with one login at one broker", [account("third", "follower", 2)], [], /account third: 2 at 127.0.0.1:9510 is follower's already/],
      ["one id given twice", [account("third", "follower", 3), account("third", "follower", 4)], [], /account third: the id third is third's already/],
      ["a link without its account", [], [link("second", "master", "nobody", 1)], /link second: there is no account nobody/],
      ["a link from a follower", [account("third", "follower", 3)], [link("second", "third", "follower", 1)], /link second: account third is a follower, not a master/],
    ];
    for (const [name, accounts, links, text] of refusals) {
      test(`refused, and nothing of the put is kept: ${name}`, async (t) => {
        const { directory } = await (await make(t)).open();
        await directory.put([MASTER, FOLLOWER], [LINK]);
        await assert.rejects(directory.put([...accounts, account("bystander", "master", 77)], links), { code: "configuration", message: text });
        assert.deepEqual(await directory.accounts(), [FOLLOWER, MASTER]);
        assert.deepEqual(await directory.links(), [LINK]);
      });
    }

    test("another cell has accounts and links of its own under the same ids", async (t) => {
      const fixture = await make(t);
      await (await fixture.open()).directory.put([MASTER, FOLLOWER], [LINK]);
      const elsewhere = (await fixture.open(freshCell())).directory;
      assert.deepEqual(await elsewhere.accounts(), []);
      await elsewhere.put([{ ...MASTER, role: "follower" }], []);
      assert.deepEqual(await (await fixture.open()).directory.accounts(), [FOLLOWER, MASTER]);
    });
  });
}
