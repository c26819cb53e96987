// Owns running `lockstep drill NAME --profile fast --json` as a user does, and what must hold of every one: the
// verdict, the form of the report, and that nothing is left, neither processes nor rows nor groups.

import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { GroupView } from "../../../log/kafka/groupView.ts";
import { KAFKA_LOG_LIMITS } from "../../../log/kafka/limits.ts";
import { systemClock } from "../../../ops/clock.ts";
import type { DrillReport, WholeReport } from "../../../ops/drill/report.ts";
import { ownUser } from "../../../ops/local/users.ts";
import { sharedKafka } from "../../support/kafka.ts";
import { borrowJars } from "../../support/kafkaJars.ts";
import { execute, freshDatabase } from "../../support/postgres.ts";
import { silent } from "../../support/silent.ts";
import { nothingLeft, startCommand } from "../cli/lockstep.ts";

/** Of each round. */
const FIELDS = ["drill", "dropped", "gapMs", "lateOpenMs", "lost", "profile", "timeline", "untouched", "verdict", "violations"];
const TABLES = ["nodes", "trading_accounts", "copy_links", "pairs", "copy_events", "rejected_rows", "cells"];

/** Resolves with the rounds of a drill that ended well. */
export async function drill(t: TestContext, ...args: readonly string[]): Promise<readonly DrillReport[]> {
  const [brokers, database, stateDir] = await Promise.all([sharedKafka(), freshDatabase(t), stateWithJars(t)]);
  const command = await startCommand(t, ["drill", ...args, "--profile", "fast", "--json"], { env: { DATABASE_URL: database, KAFKA_BROKERS: brokers.join(","), LOCKSTEP_STATE_DIR: stateDir } });
  const { code, out, err } = await command.ended;
  assert.equal(out.split("\n").length, 2, `one line of JSON on standard output\n${err}`);
  const whole = JSON.parse(out) as WholeReport;
  const rounds = "rounds" in whole ? whole.rounds : [whole];
  for (const { gapMs, lateOpenMs, lost, untouched, dropped } of rounds) t.diagnostic(JSON.stringify({ gapMs, lateOpenMs, lost, untouched, dropped }));
  // What it was like is gone with its folder.
  for (const { timeline, verdict } of rounds) if (verdict !== "ok") for (const { atMs, node, event, detail } of timeline) t.diagnostic(`${atMs} ${node} ${event} ${detail}`);
  // One line each, and once more where it fails: of a long run only the end of what it says may be shown.
  const wrong = rounds.flatMap(({ violations }, index) => violations.map(({ rule, follower, detail }) => `round ${index + 1}: ${rule}${follower === null ? "" : ` at ${follower}`}: ${detail}`));
  for (const line of wrong) t.diagnostic(line);
  assert.deepEqual([whole.verdict, code], ["ok", 0], [err, `${args.join(" ")}: ${wrong.length} violations`, ...wrong].join("\n"));
  for (const round of rounds) {
    assert.deepEqual(Object.keys(round).sort(), FIELDS);
    assert.ok(round.timeline.some(({ event, atMs }) => event === "fault" && atMs === 0), "the fault is second 0");
    assert.ok(round.timeline.some(({ event }) => event === "renewed"), "nodes told what they did");
  }
  await nothingLeft(command);
  for (const table of TABLES) assert.deepEqual(await execute(database, `SELECT * FROM ${table}`), [], `rows of ${table}`);
  const groups = new GroupView({ brokers, clientId: "lockstep test", clock: systemClock, logger: silent, limits: KAFKA_LOG_LIMITS });
  t.after(() => groups.close());
  assert.deepEqual(await groups.namesOf(`lockstep.lockstep-drill-${await runIn(stateDir)}.`), [], "its groups are gone");
  return rounds;
}

/** The only run whose files are there. */
async function runIn(stateDir: string): Promise<string> {
  const [folder = ""] = await readdir(join(stateDir, `uid-${ownUser().uid}`, "drill"));
  return folder.split("-").at(-1) ?? "";
}

/** A Kafka of the drill's own fetches nothing. */
async function stateWithJars(t: TestContext): Promise<string> {
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-drill-"));
  await chmod(stateDir, 0o1777);
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 5 }));
  await borrowJars(join(stateDir, `uid-${ownUser().uid}`));
  return stateDir;
}
