// Owns the Registry's contract on what confirms or adopts an account (take), on what is waited for after an owner (settle),
// on databases that are not the expected one, and on nodes that are long gone (sweep).

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { epoch, type AccountId } from "../../protocol/ids.ts";
import type { HeldAccount, OwnedAccount, Registry } from "../../protocol/ports/storage.ts";
import { account, claiming, me, MASTER, renewing, SETTLE_MS, taking, TTL_MS, type StorageFactory } from "./storageFixture.ts";

const alice = me("alice");
const bob = me("bob");
const summary = (held: readonly HeldAccount[]): string[] => held.map(({ account: id, epoch: at }) => `${id}@${at}`);
const held = (id: string, at: number): HeldAccount => ({ account: id as AccountId, epoch: epoch(at) });

/** What is left to wait for, in whole seconds, rounded up: a real clock goes on while we ask. */
const settleSeconds = (owned: readonly OwnedAccount[]): number[] => owned.map(({ settleLeftMs }) => Math.ceil(settleLeftMs / 1_000));

async function databaseOf(registry: Registry) {
  return (await registry.renew(alice, renewing())).clock;
}

export function takeCases(make: StorageFactory): void {
  /** Alice holds `a` and `b` at epoch 1, bob is live. */
  async function owned(t: Parameters<StorageFactory>[0]) {
    const fixture = await make(t);
    const { registry, directory } = await fixture.open();
    await directory.put([account("a", "follower", 1), account("b", "follower", 2), account("c", "follower", 3)], []);
    await registry.renew(alice, renewing());
    await registry.claim(alice, claiming({ avoid: ["c" as AccountId] }));
    await registry.renew(bob, renewing());
    return { ...fixture, registry };
  }

  describe("registry: take", () => {
    test("row 3: exactly what was asked for is taken, each at a raised epoch, also when the owner is me", async (t) => {
      const { registry } = await owned(t);
      assert.deepEqual(summary(await registry.take(alice, [held("a", 1)], taking())), ["a@2"]);
      assert.deepEqual(summary((await registry.renew(alice, renewing())).accounts), ["a@2", "b@1"]);
    });

    test("row 25: at an epoch that is not the row's nothing is taken, so an old token is worth nothing", async (t) => {
      const { registry } = await owned(t);
      assert.deepEqual(summary(await registry.take(alice, [held("a", 1), held("b", 2), held("nobody", 1)], taking())), ["a@2"]);
      assert.deepEqual(await registry.take(alice, [held("a", 1)], taking()), []);
      assert.deepEqual(summary(await registry.take(alice, [held("a", 2)], taking())), ["a@3"]);
    });

    test("nothing is taken from a live owner; from one whose lease ran out, or who left, it is", async (t) => {
      const { registry, passTime } = await owned(t);
      assert.deepEqual(await registry.take(bob, [held("a", 1)], taking()), []);
      await passTime(TTL_MS);
      await registry.renew(bob, renewing());
      assert.deepEqual(summary(await registry.take(bob, [held("a", 1)], taking())), ["a@2"]);
      assert.deepEqual(await registry.take(alice, [held("b", 1)], taking()), [], "who takes must be live");
      await registry.leave(alice);
      assert.deepEqual(summary(await registry.take(bob, [held("b", 1)], taking())), ["b@2"]);
    });

    test("an account of nobody is taken; another boot of my name is somebody else", async (t) => {
      const { registry } = await owned(t);
      assert.deepEqual(summary(await registry.take(alice, [held("c", 0)], taking())), ["c@1"]);
      assert.deepEqual(await registry.take(me("alice", "other"), [held("a", 1)], taking()), []);
    });

    test("row 23: after another's take no renewal of the former owner restores its claim", async (t) => {
      const { registry, passTime } = await owned(t);
      await passTime(TTL_MS);
      await registry.renew(bob, renewing());
      await registry.take(bob, [held("a", 1)], taking());
      const { wasLive, accounts } = await registry.renew(alice, renewing());
      assert.deepEqual([wasLive, summary(accounts)], [false, ["b@1"]]);
      assert.deepEqual(summary((await registry.renew(bob, renewing())).accounts), ["a@2"]);
    });
  });

  describe("registry: what does not divide evenly", () => {
    test("is anybody's who claims, among equals: no account waits for the node that a rounding favours", async (t) => {
      const { registry } = await owned(t);
      // Alice has two of three, which is her share; bob takes the third.
      assert.deepEqual(summary(await registry.claim(bob, claiming())), ["c@1"]);
      await registry.release(alice, held("a", 1), 0);
      // One each and one is free: by name it is alice's.
      assert.deepEqual((await registry.renew(bob, renewing())).shares.map(({ share, mine }) => [share, mine]), [[1, 1]]);
      assert.deepEqual(summary(await registry.claim(bob, claiming())), ["a@2"]);
      assert.deepEqual(await registry.claim(alice, claiming()), []);
    });
  });

  describe("registry: settle", () => {
    test("nothing is waited for where nobody was, or when everything that was sent was answered", async (t) => {
      const { registry } = await owned(t);
      assert.deepEqual(settleSeconds(await registry.claim(bob, claiming({ freeForMs: 0 }))), [0]);
      await registry.release(alice, held("a", 1), 0);
      assert.deepEqual(settleSeconds(await registry.claim(bob, claiming({ freeForMs: 0 }))), [0]);
      assert.deepEqual(settleSeconds(await registry.take(alice, [held("b", 1)], taking())), [0], "what I sent I know myself");
    });

    test("after a release that was not answered for, as long as it says", async (t) => {
      const { registry, passTime } = await owned(t);
      await registry.release(alice, held("a", 1), 20_000);
      await passTime(5_000);
      assert.deepEqual(settleSeconds(await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["c" as AccountId] }))), [15]);
    });

    test("after an end, from the end; after a lapse, from the end of the lease; after a newer boot, from its start", async (t) => {
      for (const [how, seconds] of [["end", 20], ["lapse", 20], ["newer boot", 25]] as const) {
        const { registry, passTime } = await owned(t);
        if (how === "end") await registry.leave(alice);
        else await passTime(TTL_MS);
        await passTime(5_000);
        if (how === "newer boot") await registry.renew(me("alice", "other"), renewing());
        await passTime(5_000);
        if (how === "newer boot") await registry.renew(me("alice", "other"), renewing());
        await registry.renew(bob, renewing());
        const claimed = await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["b" as AccountId, "c" as AccountId] }));
        assert.deepEqual([how, ...settleSeconds(claimed)], [how, seconds]);
      }
    });

    test("an end that is told after a lapse counts from the lapse", async (t) => {
      const { registry, passTime } = await owned(t);
      await passTime(TTL_MS + 5_000);
      await registry.leave(alice);
      await registry.renew(bob, renewing());
      assert.deepEqual(settleSeconds(await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["b" as AccountId, "c" as AccountId] }))), [25]);
    });

    test("a take waits for its former owner as a claim does, also for a former boot of its own name", async (t) => {
      const { registry, passTime } = await owned(t);
      const reborn = me("alice", "other");
      await passTime(TTL_MS + 5_000);
      for (const one of [bob, reborn]) await registry.renew(one, renewing());
      assert.deepEqual(settleSeconds(await registry.take(bob, [held("a", 1)], taking())), [30], "from the start of the newer boot");
      await passTime(5_000);
      assert.deepEqual(settleSeconds(await registry.take(reborn, [held("b", 1)], taking())), [25]);
    });

    test("once it is over nothing is left of it", async (t) => {
      const { registry, passTime } = await owned(t);
      await registry.release(alice, held("a", 1), 5_000);
      await passTime(6_000);
      const claimed = await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["c" as AccountId] }));
      assert.deepEqual(claimed.map(({ settleLeftMs }) => settleLeftMs), [0]);
    });

    test("a claim of what another had leaves a longer settle time as it is", async (t) => {
      const { registry } = await owned(t);
      await registry.release(alice, held("a", 1), 50_000);
      await registry.take(alice, [held("a", 1)], taking());
      await registry.leave(alice);
      assert.deepEqual(settleSeconds(await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["b" as AccountId, "c" as AccountId] }))), [50]);
    });

    test("it never falls, whoever comes next with whatever settle time", async (t) => {
      const { registry } = await owned(t);
      await registry.release(alice, held("a", 1), 20_000);
      await registry.claim(alice, claiming({ freeForMs: 0, avoid: ["c" as AccountId] }));
      await registry.release(alice, held("a", 2), 10_000);
      await registry.claim(bob, claiming({ freeForMs: 0, avoid: ["c" as AccountId] }));
      await registry.leave(bob);
      assert.deepEqual(settleSeconds(await registry.take(alice, [held("a", 3)], taking({ settleMs: 1_000 }))), [20]);
      assert.deepEqual(settleSeconds(await registry.take(alice, [held("a", 4)], taking({ settleMs: SETTLE_MS }))), [20]);
    });
  });

  describe("registry: which database", () => {
    test("the reply tells the clock, which goes on, and the timeline, which does not", async (t) => {
      const { registry, passTime } = await owned(t);
      const before = await databaseOf(registry);
      await passTime(0);
      const after = await databaseOf(registry);
      assert.ok(after.nowMs >= before.nowMs, `${after.nowMs} after ${before.nowMs}`);
      assert.ok(before.timeline !== null && before.timeline >= 1);
      assert.equal(after.timeline, before.timeline);
    });

    test("a clock or a timeline that is not expected gives nothing; one within the tolerance does", async (t) => {
      const { registry } = await owned(t);
      const clock = await databaseOf(registry);
      const within = { clock, toleranceMs: 60_000 };
      for (const expected of [
        { ...within, clock: { ...clock, nowMs: clock.nowMs - 120_000 } },
        { ...within, clock: { ...clock, nowMs: clock.nowMs + 120_000 } },
        { ...within, clock: { ...clock, timeline: (clock.timeline ?? 0) + 1 } },
      ]) {
        assert.deepEqual(await registry.claim(bob, claiming({ freeForMs: 0, expected })), []);
        assert.deepEqual(await registry.take(alice, [held("a", 1)], taking({ expected })), []);
      }
      assert.deepEqual(summary(await registry.claim(bob, claiming({ freeForMs: 0, expected: within }))), ["c@1"]);
      assert.deepEqual(summary(await registry.take(alice, [held("a", 1)], taking({ expected: within }))), ["a@2"]);
    });

    test("who leaves lapsed owners alone claims what is nobody's, and what those that left had", async (t) => {
      const { registry, passTime } = await owned(t);
      await passTime(TTL_MS);
      await registry.renew(bob, renewing());
      const leaving = claiming({ freeForMs: 0, leaveLapsed: true });
      assert.deepEqual(summary(await registry.claim(bob, leaving)), ["c@1"]);
      await registry.leave(alice);
      assert.deepEqual(summary(await registry.claim(bob, leaving)), ["a@2", "b@2"]);
    });
  });

  describe("registry: sweep", () => {
    test("only nodes long dead that own nothing are removed; accounts and their epochs stay", async (t) => {
      const { registry, passTime } = await owned(t);
      await registry.renew(me("idle"), renewing());
      await passTime(TTL_MS + 10_000);
      await registry.renew(bob, renewing());
      assert.equal(await registry.sweep(60_000), 0, "not long enough");
      assert.equal(await registry.sweep(5_000), 1, "the idle one");
      await registry.take(bob, [held("a", 1), held("b", 1)], taking());
      assert.equal(await registry.sweep(5_000), 1, "alice");
      assert.deepEqual(summary((await registry.renew(bob, renewing())).accounts), ["a@2", "b@2"]);
      assert.equal((await registry.renew(me("idle", "other"), renewing())).held, true);
    });

    test("nodes of another cell are left alone", async (t) => {
      const fixture = await make(t);
      const [here, there] = [await fixture.open(), await fixture.open(`${fixture.cell}-b` as typeof fixture.cell)];
      await there.directory.put([MASTER], []);
      for (const one of [alice, bob]) await there.registry.renew(one, renewing());
      await there.registry.claim(alice, claiming());
      assert.equal(await here.registry.sweep(-1e9), 0);
      await here.registry.renew(alice, renewing());
      assert.equal(await here.registry.sweep(-1e9), 1, "what its name owns there is not its own");
      assert.equal(await there.registry.sweep(-1e9), 1, "bob");
    });
  });
}
