// Owns the races of the Registry that only a real database has: waits for row locks, and
// statements whose snapshot is older than the row they change.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { STEADY } from "../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../actors/shell/leaseKeeper.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { Permit } from "../../protocol/orders.ts";
import type { Registry } from "../../protocol/ports/storage.ts";
import { CountingMetrics } from "../sim/cell.ts";
import { FakeScheduler } from "../sim/scheduler.ts";
import { silent } from "../support/silent.ts";
import { claiming, me, MASTER, renewing, REPORT } from "../contract/storageFixture.ts";
import { eventually, execute } from "../support/postgres.ts";
import { heldUpStatements, session, waiting } from "./heldUp.ts";
import { migratedDatabase, postgresFixture } from "./postgresStorage.ts";

/** A registry in which alice is live, and a session whose transaction has begun. */
async function rivals(t: TestContext) {
  const fixture = await postgresFixture(t);
  const { registry } = await fixture.open();
  await registry.renew(me("alice"), renewing());
  const url = await migratedDatabase();
  const blocker = await session(t, url);
  await blocker.query("BEGIN");
  return { cell: fixture.cell, registry, url, blocker };
}

test("a renewal that waited for the row judges the old lease after the wait: it ran out meanwhile", async (t) => {
  const { cell, registry, url, blocker } = await rivals(t);
  await blocker.query("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 s' WHERE cell = $1", [cell]);
  const renewal = registry.renew(me("alice"), renewing());
  await waiting(url, "WITH renewed");
  await blocker.query("COMMIT");
  const { held, wasLive } = await renewal;
  assert.deepEqual({ held, wasLive }, { held: true, wasLive: false });
});

test("row 6: a renewal that waited for longer than its ttl still gives a lease of the whole ttl", async (t) => {
  const { cell, registry, url, blocker } = await rivals(t);
  await blocker.query("SELECT 1 FROM nodes WHERE cell = $1 FOR UPDATE", [cell]);
  const shortTtlMs = 100;
  const renewal = registry.renew(me("alice"), renewing({}, shortTtlMs));
  await waiting(url, "WITH renewed");
  await blocker.query("SELECT pg_sleep(0.2)");
  const [now] = await blocker.query("SELECT clock_timestamp()::text AS at");
  await blocker.query("COMMIT");
  await renewal;
  const [row] = await execute(url, "SELECT lease_until >= $2::timestamptz + interval '100 ms' AS whole FROM nodes WHERE cell = $1", [cell, now?.["at"]]);
  assert.equal(row?.["whole"], true);
});

test("a renewal that waited while another boot took the name is refused", async (t) => {
  const { cell, registry, url, blocker } = await rivals(t);
  await blocker.query("UPDATE nodes SET boot = 'other' WHERE cell = $1", [cell]);
  const renewal = registry.renew(me("alice"), renewing());
  await waiting(url, "WITH renewed");
  await blocker.query("COMMIT");
  assert.equal((await renewal).held, false);
});

/** A claim of alice's whose snapshot is taken, and which then waits. */
async function heldUpClaim(t: TestContext) {
  const { storage, url, holdUp } = await heldUpStatements(t);
  await storage.directory.put([MASTER], []);
  await storage.registry.renew(me("alice"), renewing());
  return { url, goOn: await holdUp(() => storage.registry.claim(me("alice"), claiming())) };
}

test("a claim whose snapshot is older than a rival's lease and claim takes nothing from it", async (t) => {
  const { url, goOn } = await heldUpClaim(t);
  await execute(url, "INSERT INTO node_rows (cell, node, boot, lease_until) SELECT cell, 'bob', 'b', clock_timestamp() + interval '1 h' FROM trading_accounts");
  await execute(url, "UPDATE trading_accounts SET node = 'bob', boot = 'b', epoch = epoch + 1");
  assert.deepEqual(await goOn(), []);
  assert.deepEqual(await execute(url, "SELECT node, epoch::int FROM trading_accounts"), [{ node: "bob", epoch: 1 }]);
});

test("nor an account that a rival claimed and gave back meanwhile: its epoch is another one", async (t) => {
  const { url, goOn } = await heldUpClaim(t);
  await execute(url, "UPDATE trading_accounts SET epoch = epoch + 1, freed_at = clock_timestamp()");
  assert.deepEqual(await goOn(), []);
  assert.deepEqual(await execute(url, "SELECT node, epoch::int FROM trading_accounts"), [{ node: null, epoch: 1 }]);
});

for (const [what, change] of [["parked", "parked_reason = 'wrong password'"], ["switched off", "enabled = false"]] as const) {
  test(`nor one that was ${what} meanwhile`, async (t) => {
    const { url, goOn } = await heldUpClaim(t);
    await execute(url, `UPDATE trading_accounts SET ${change}`);
    assert.deepEqual(await goOn(), []);
  });
}

test("of two claims at once the one that comes second leaves the first's rows alone, also when the first is undone", async (t) => {
  const fixture = await postgresFixture(t);
  const [first, second] = [await fixture.open(), await fixture.open()];
  await first.directory.put([MASTER], []);
  for (const name of ["alice", "bob"]) await first.registry.renew(me(name), renewing());
  const url = await migratedDatabase();
  const claimOfAlice = await session(t, url);
  await claimOfAlice.query("BEGIN");
  const taken = await claimOfAlice.query("UPDATE trading_accounts SET node = 'alice', boot = 'alice-boot-1', epoch = epoch + 1 WHERE cell = $1 RETURNING epoch", [fixture.cell]);
  assert.equal(taken.length, 1);
  assert.deepEqual(await second.registry.claim(me("bob"), claiming({ freeForMs: 0 })), []);
  await claimOfAlice.query("ROLLBACK");
  assert.deepEqual((await second.registry.claim(me("bob"), claiming({ freeForMs: 0 }))).map(({ epoch }) => epoch), [1]);
  assert.deepEqual(await first.registry.claim(me("alice"), claiming({ freeForMs: 0 })), []);
});

test("a claim passes over an account that another session holds, instead of waiting", async (t) => {
  const fixture = await postgresFixture(t);
  const { registry, directory } = await fixture.open();
  await directory.put([MASTER, { ...MASTER, id: "second" as typeof MASTER.id, login: 2 }], []);
  await registry.renew(me("alice"), renewing());
  const blocker = await session(t, await migratedDatabase());
  await blocker.query("BEGIN");
  await blocker.query("SELECT 1 FROM trading_accounts WHERE cell = $1 AND id = 'master' FOR UPDATE", [fixture.cell]);
  assert.deepEqual((await registry.claim(me("alice"), claiming({ limit: 9 }))).map(({ account }) => account), ["second"]);
  await blocker.query("ROLLBACK");
});

/** Alice's lease keeper on the real registry: its own time stands still unless it is told, answers come by themselves. */
async function keeping(t: TestContext, registry: Registry) {
  const clock = new FakeScheduler(1);
  const gate = SharedGate.create(4, clock);
  const told: string[] = [];
  const permits: Permit[] = [];
  const seen = { isDown: false, answers: 0, gateWasOpen: false };
  const reached: Registry = {
    ...registry,
    async renew(who, terms) {
      if (seen.isDown) throw new LockstepError("database_busy", "cut off");
      const reply = await registry.renew(who, terms);
      seen.answers += 1;
      return reply;
    },
  };
  const keeper = new LeaseKeeper({
    registry: reached, me: me("alice"), profile: STEADY, gate, clock, logger: silent, metrics: new CountingMetrics(), journal: { note: (_, event) => void (event === "lifted" && told.push("lift")) },
    settleMs: 30_000,
    report: () => REPORT,
    platformOf: () => MASTER.platform,
    onAcquired: ({ epoch }, slot) => permits.push({ slot, epoch }),
    onHandBack: () => Promise.resolve(0),
    onLost: (account) => told.push(`lost ${account}`),
    onTrip: () => told.push("trip"),
    onConfirmed: ({ epoch }) => permits.push({ slot: 0, epoch }),
    onLeaseEnd: () => undefined,
    onFatal: (error) => told.push(error.message),
  });
  t.after(() => keeper.abandon());
  await keeper.start();
  return { keeper, clock, seen, told, isOpen: () => permits.some((permit) => gate.check(permit) === "open") };
}

test("a node whose renewal lists what another claimed while it waited for its row does not open its gate for it", async (t) => {
  const fixture = await postgresFixture(t);
  const [first, second] = [await fixture.open(), await fixture.open()];
  await first.directory.put([MASTER], []);
  const { clock, seen, told, isOpen } = await keeping(t, first.registry);
  assert.deepEqual([told, isOpen()], [["lift"], true]);
  // Cut off until its gate has closed and its lease has run out.
  seen.isDown = true;
  await clock.advance(STEADY.ttlMs);
  await fixture.passTime(2 * STEADY.ttlMs);
  await second.registry.renew(me("bob"), renewing());
  assert.equal(isOpen(), false);
  const url = await migratedDatabase();
  const blocker = await session(t, url);
  await blocker.query("BEGIN");
  await blocker.query("SELECT 1 FROM nodes WHERE cell = $1 AND node = 'alice' FOR UPDATE", [fixture.cell]);
  seen.isDown = false;
  seen.answers = 0;
  await clock.advance(STEADY.retryMs);
  await waiting(url, "WITH renewed");
  assert.deepEqual((await second.registry.claim(me("bob"), claiming({ freeForMs: 0 }))).map(({ epoch }) => epoch), [2]);
  await blocker.query("COMMIT");
  await eventually("the renewal is answered, and its account asked for", async () => Promise.resolve(told.includes("lift", 1)));
  assert.deepEqual([told.slice(1), isOpen()], [["trip", "lift"], false]);
  await clock.advance(STEADY.renewMs);
  await eventually("the next one is answered", async () => Promise.resolve(seen.answers === 2));
  await eventually("its list is read", async () => Promise.resolve(told.includes("lost master")));
  assert.equal(isOpen(), false);
});
