// Owns the demo from end to end: `lockstep demo` in a process of its own, with everything real.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { DemoReport } from "../../../ops/demo/report.ts";
import { locateJava } from "../../../ops/kafka/programs.ts";
import { nothingLeft, runCommand, startCommand } from "../cli/lockstep.ts";
import { realFolder } from "../statement/fixture.ts";

async function demo(t: TestContext, args: readonly string[]): Promise<{ readonly report: DemoReport; readonly code: number | null; readonly err: string }> {
  const command = await startCommand(t, ["demo", "--json", ...args]);
  const { code, out, err } = await command.ended;
  await nothingLeft(command);
  assert.equal(out.split("\n").length, 2, `one line of JSON on standard output\n${err}`);
  return { report: JSON.parse(out) as DemoReport, code, err };
}

function assertCopied({ followers, violations, verdict, rows }: DemoReport): void {
  assert.deepEqual({ verdict, violations }, { verdict: "ok", violations: [] });
  for (const { id, duplicates, missing, wrongVolume, unjustifiedSkips } of followers) assert.deepEqual({ duplicates, missing, wrongVolume, unjustifiedSkips }, { duplicates: 0, missing: 0, wrongVolume: 0, unjustifiedSkips: 0 }, id);
  assert.ok(rows.pairs > 0);
  assert.equal(rows.rejected, 0);
}

/** An environment in which Node is the only program. */
async function withoutJava(t: TestContext): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-node-only-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // Node may lie beside Java in one folder of the system.
  await symlink(process.execPath, join(folder, "node"));
  const env = { PATH: folder, JAVA_HOME: "" };
  for (const program of ["java", "mvn"]) assert.equal((spawnSync(program, ["-version"], { env }).error as NodeJS.ErrnoException | undefined)?.code, "ENOENT", program);
  await assert.rejects(locateJava(env), { code: "configuration", message: /no java in PATH or JAVA_HOME/ });
  return env;
}

const keysOf = (value: object): string[] => Object.keys(value).sort();

describe("lockstep demo", () => {
  test("copies the bundled statement to six followers, and says so in one JSON object of the promised form", async (t) => {
    const { report, code, err } = await demo(t, ["--speed", "20000"]);
    assertCopied(report);
    assert.equal(code, 0);
    assert.deepEqual(keysOf(report), ["followers", "ownTimeMs", "rows", "statement", "verdict", "violations", "warmUpMs"]);
    assert.deepEqual(keysOf(report.statement), ["chains", "format", "from", "ignored", "open", "pendings", "positions", "symbols", "to", "working"]);
    for (const follower of report.followers) assert.deepEqual(keysOf(follower), ["copied", "duplicates", "id", "missing", "modified", "openAtEnd", "partClosed", "pendings", "platform", "skipped", "unjustifiedSkips", "wrongVolume"]);
    assert.deepEqual(keysOf(report.rows), ["pairs", "rejected"]);
    for (const times of [report.ownTimeMs, report.warmUpMs]) {
      assert.deepEqual(keysOf(times), ["count", "max", "p50", "p95"]);
      assert.ok(times.count > 0 && times.p50 > 0 && times.p50 <= times.p95 && times.p95 <= times.max);
    }
    assert.deepEqual(report.followers.map(({ platform }) => platform), ["mt4", "mt4", "mt4", "mt4", "mt5", "mt5"]);
    for (const { id, copied, partClosed, openAtEnd } of report.followers) assert.ok(copied > 20 && partClosed === 3 && openAtEnd === 2, id);
    assert.match(err, /^starting\n(playing \d+\/\d+\n)+settling\nchecking\n$/);
  });

  test("without --json shows a table for people; Java and Maven are not needed", async (t) => {
    const env = await withoutJava(t);
    const { code, out, err } = await runCommand(t, ["demo", "--followers", "2", "--speed", "max"], { env });
    assert.equal(code, 0, err);
    assert.match(out, /│ follower │ platform │ copied │/);
    assert.match(out, /│ f1 +│ mt4 /);
    assert.match(out, /^own time +(p50 [\d.]+ ms|no orders)/m);
    assert.match(out, /^warm-up +p50 [\d.]+ ms .* of the first 20 trades$/m);
    assert.match(out, /^verdict +ok$/m);
  });

  test("under chaos every trade still has its one copy or a true reason, and nothing is left running", async (t) => {
    const { report, code } = await demo(t, ["--chaos", "--seed", "7", "--speed", "10000"]);
    assertCopied(report);
    assert.equal(code, 0);
  });

  const skip = existsSync(realFolder) ? false : `no real statements at ${realFolder}`;
  for (const [file, positions] of [["mt4-statement-partial-closes.htm", 66], ["mt4-statement-suffix.htm", 42], ["mt4-statement-rewritten-comments.htm", 10], ["mt5-report-history.xlsx", 9]] as const) {
    test(`copies the real ${file} without a pause between its trades`, { skip }, async (t) => {
      const { report, code } = await demo(t, ["--statement", join(realFolder, file), "--speed", "max"]);
      assertCopied(report);
      assert.equal(code, 0);
      assert.equal(report.statement.positions, positions);
    });
  }
});
