// Owns the tests of `lockstep status`: what it reads, how it looks, its exit codes.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { statusCommand, type StatusCommandOptions } from "../../../ops/commands/status.ts";
import { systemClock } from "../../../ops/clock.ts";
import { statusReport, type StatusReport } from "../../../ops/status/report.ts";
import { statusText } from "../../../ops/status/text.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { bootId, cellId, nodeId } from "../../../protocol/ids.ts";
import type { NodeView } from "../../../protocol/ports/overview.ts";
import { openStorage } from "../../../storage/storage.ts";
import { freshDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";
import { followers, MASTER } from "../http/httpFixture.ts";
import { claiming } from "../../contract/storageFixture.ts";

/** Where no Kafka runs. */
let stateDir = "";
before(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "lockstep-status-"));
});
after(() => rm(stateDir, { recursive: true, force: true }));

async function status(env: Record<string, string>, options: StatusCommandOptions = {}): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  const code = await statusCommand(options, { out: { write: (text: string) => (out += text) }, env: { LOCKSTEP_STATE_DIR: stateDir, ...env }, logger: silent, clock: systemClock });
  return { code, out };
}

test("from an empty database over accounts that nobody owns to a cell that holds; without a node, without a Kafka", async (t) => {
  const DATABASE_URL = await freshDatabase(t);
  await assert.rejects(status({ DATABASE_URL }), (error: unknown) => error instanceof LockstepError && error.code === "configuration" && /has no tables of this release yet/.test(error.message));

  const storage = await openStorage({ url: DATABASE_URL, cell: cellId("main"), logger: silent, maxConnections: 1, connectTimeoutMs: 5_000, statementTimeoutMs: 5_000 });
  t.after(() => storage.close());
  const [follower, off] = followers(2);
  if (follower === undefined || off === undefined) throw new Error("two followers");
  await storage.directory.put([MASTER, follower, { ...off, enabled: false }], []);
  const unowned = await status({ DATABASE_URL }, { json: true });
  assert.equal(unowned.code, 1);
  const report = JSON.parse(unowned.out) as StatusReport;
  assert.deepEqual([report.holds, report.unowned, report.nodes], [false, ["f0", "m"], []]);
  assert.deepEqual(report.writers, { kind: "unknown", why: "no Kafka was named, and none runs here" });

  const me = { node: nodeId("node-1"), boot: bootId("boot-1") };
  await storage.registry.renew(me, { ttlMs: 60_000, timeoutMs: 5_000, report: { accepting: true, logOk: true, capacity: 10, platforms: ["mt4", "mt5"], address: "127.0.0.1:9520" } });
  await storage.registry.claim(me, claiming({ limit: 10, freeForMs: 0 }));
  const held = await status({ DATABASE_URL });
  assert.equal(held.code, 0);
  assert.match(held.out, /^cell main: 2 of 2 enabled accounts have a live owner$/m);
  assert.match(held.out, /node-1 +│ live, (?:60|59|5\d) s left +│ 2 +│ ok +│ mt4 mt5 +│ 127\.0\.0\.1:9520/);
  assert.match(held.out, /f1 +│ follower +│ mt4 +│ switched off +│ 0/);

  await storage.registry.leave(me);
  const left = await status({ DATABASE_URL });
  assert.equal(left.code, 1);
  assert.match(left.out, /f0 +│ follower +│ mt4 +│ node-1 \(its lease has ended\)/);
  assert.equal((await status({ DATABASE_URL }, { cell: "other" })).code, 0, "another cell has no accounts");
});

test("settings that it does not need are not asked for; those that it does are refused", async () => {
  await assert.rejects(status({ LOCKSTEP_HTTP_TOKEN: "nonsense", LOCKSTEP_CELL: "a b", DATABASE_URL: "x" }), (error: unknown) => {
    assert.ok(error instanceof LockstepError && error.code === "configuration");
    assert.deepEqual(error.message.split("\n").map((line) => line.split(" ")[0]), ["cell", "databaseUrl"]);
    return true;
  });
});

describe("the report", () => {
  const node: NodeView = { node: nodeId("node-1"), boot: bootId("b"), live: true, leaseLeftMs: 41_300, accepting: false, logOk: false, address: null, capacity: 1, platforms: ["mt4"], accounts: 1 };
  const view = { ...followers(1)[0]!, epoch: 4 as never, projectedEpoch: 4 as never, owner: null, parked: "wrong password", state: null };
  const report = statusReport({ cell: cellId("main"), nodes: [node], accounts: [view], writers: [{ partition: 0, lag: 0 }, { partition: 3, lag: 7 }], skips: [{ reason: "too_old", count: 3 }] });

  test("names what is parked, how far the writers are and what was skipped", () => {
    const text = statusText(report);
    assert.equal(report.holds, false);
    for (const line of [/^parked: f0: wrong password$/m, /^writers: 7 events behind \(by partition 3: 7\)$/m, /^skipped in the last hour: too_old 3$/m, /live, 41 s left +│ 1 +│ not reached +│ nothing more/]) assert.match(text, line);
  });

  test("shows no more accounts than fit a screen, and says so", () => {
    const accounts = followers(60).map((account) => ({ ...view, ...account }));
    assert.match(statusText(statusReport({ cell: cellId("main"), nodes: [], accounts, writers: "why", skips: [] })), /^and 10 more accounts \(--json shows all\)$/m);
  });
});
