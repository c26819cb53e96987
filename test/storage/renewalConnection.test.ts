// Owns the cases about the connection that renewals are sent on, in a real database: one that has to be waited for, one
// that is used up elsewhere, one that is replaced.

import assert from "node:assert/strict";
import { test } from "node:test";
import { STEADY } from "../../actors/core/leaseProfile.ts";
import { SharedGate } from "../../actors/executor/sharedGate.ts";
import { LeaseKeeper } from "../../actors/shell/leaseKeeper.ts";
import { systemClock } from "../../ops/clock.ts";
import type { Registry } from "../../protocol/ports/storage.ts";
import { openDatabase } from "../../storage/database.ts";
import { postgresRegistry } from "../../storage/registry.ts";
import { NOT_TOLD } from "../../storage/server.ts";
import { claiming, freshCell, me, MASTER, renewing, REPORT } from "../contract/storageFixture.ts";
import { CountingMetrics } from "../sim/cell.ts";
import { eventually, execute } from "../support/postgres.ts";
import { silent } from "../support/silent.ts";
import { session, waiting } from "./heldUp.ts";
import { CONNECTION, migratedDatabase, postgresFixture } from "./postgresStorage.ts";

const alice = me("alice");
const bob = me("bob");
/** Far more than a statement takes: a stamp of the wrong moment is off by it. */
const STALL = "SELECT pg_sleep(0.3)";

test("row 18: a renewal that waited for a connection, and whose answer came late: the gate's deadline is never later than the database's lease_until less the margin", async (t) => {
  const [url, cell, profile] = [await migratedDatabase(), freshCell(), { ...STEADY, renewMs: 20 }];
  const [renewals, claims] = ["leases", "claims"].map((name) => openDatabase({ ...CONNECTION, url, applicationName: `${cell} ${name}`, maxConnections: 1 }));
  assert.ok(renewals !== undefined && claims !== undefined);
  t.after(() => Promise.all([renewals.close(), claims.close()]));
  const registry = postgresRegistry({ renewals, claims }, cell, NOT_TOLD);
  const gate = SharedGate.create(4, systemClock);
  /** On this machine's monotonic clock; of the lease the latest that it can end, since reading it takes time. */
  const seen: { gateMs: number; leaseMs: number }[] = [];
  let leaseMs: number | null = null;
  const stalled: Registry = {
    ...registry,
    async renew(who, terms) {
      // What the renewal before has come to.
      if (leaseMs !== null && gate.lifted) seen.push({ gateMs: systemClock.monotonicMs() + gate.leftMs(), leaseMs });
      const all = renewals.transaction((connection) => connection.query(STALL));
      const reply = await registry.renew(who, terms);
      await all;
      const [row] = await claims.query("SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 * 1000 AS left FROM nodes WHERE cell = $1", [cell]);
      leaseMs = systemClock.monotonicMs() + Number(row?.["left"]);
      await claims.query(STALL);
      return reply;
    },
  };
  const told: string[] = [];
  const keeper = new LeaseKeeper({
    registry: stalled, me: alice, profile, gate, clock: systemClock, logger: silent, metrics: new CountingMetrics(), journal: { note: (_, event) => void told.push(event) }, settleMs: 30_000,
    report: () => REPORT, platformOf: () => MASTER.platform, onAcquired: () => undefined, onHandBack: () => Promise.resolve(0), onLost: () => undefined, onTrip: () => undefined,
    onConfirmed: () => undefined, onLeaseEnd: () => undefined, onFatal: (error) => told.push(error.message),
  });
  t.after(() => keeper.abandon());
  await keeper.start();
  await eventually("one has opened the gate, and another kept it open", () => Promise.resolve(seen.length >= 2));
  for (const { gateMs, leaseMs: endsMs } of seen) assert.ok(gateMs <= endsMs - profile.marginMs, `the gate closes ${gateMs - endsMs + profile.marginMs} ms too late`);
  assert.deepEqual([gate.lifted, told.filter((event) => event === "fenced")], [true, []]);
});

test("row 18: what else this process asks the database keeps no renewal waiting", async (t) => {
  const { cell, open } = await postgresFixture(t);
  const { registry, directory } = await open();
  await directory.put([MASTER], []);
  await registry.renew(alice, renewing());
  const [held] = await registry.claim(alice, claiming());
  assert.ok(held !== undefined);
  const url = await migratedDatabase();
  const blocker = await session(t, url);
  await blocker.query("BEGIN");
  await blocker.query("SELECT 1 FROM trading_accounts WHERE cell = $1 FOR UPDATE", [cell]);
  const release = registry.release(alice, held, 0);
  await waiting(url, "UPDATE trading_accounts");
  const [renewal] = await Promise.allSettled([registry.renew(alice, renewing())]);
  await blocker.query("ROLLBACK"); // only now the release can go on
  assert.deepEqual(renewal.status === "fulfilled" && [renewal.value.wasLive, renewal.value.accounts], [true, [{ account: MASTER.id, epoch: held.epoch }]]);
  assert.equal(await release, true);
});

test("row 30: a lease is a row, no connection's lock: when every connection of its node was replaced it is live, and nobody else has had its account", async (t) => {
  const { cell, open } = await postgresFixture(t);
  const [own, other] = [await open(), await open()];
  await own.directory.put([MASTER], []);
  await own.registry.renew(alice, renewing());
  const held = await own.registry.claim(alice, claiming());
  assert.equal(held.length, 1);
  const url = await migratedDatabase();
  await execute(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1", [`lockstep ${cell}%`]);
  await eventually("no connection of the cell is left", async () => (await execute(url, "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE $1", [`lockstep ${cell}%`])).length === 0);
  const again = <T>(ask: () => Promise<T>): Promise<T> => ask().catch(ask); // that it was cut may not be noticed yet
  await again(() => other.registry.renew(bob, renewing()));
  assert.deepEqual(await again(() => other.registry.claim(bob, claiming({ freeForMs: 0 }))), []);
  const { wasLive, accounts } = await again(() => own.registry.renew(alice, renewing()));
  assert.deepEqual([wasLive, accounts.map(({ account, epoch }) => `${account} ${epoch}`)], [true, ["master 1"]]);
});
