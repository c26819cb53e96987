// Owns the drills in which nodes end or stand still, from end to end on real processes: two at a time, since most of
// a drill is waiting for a lease.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nothingLeft, says, startCommand, withoutProc } from "../ops/cli/lockstep.ts";
import { drill } from "../ops/drill/drillCommand.ts";
import { sharedKafka } from "../support/kafka.ts";

const LOST_MS = 50;
/** Of nodes that are replaced; a third is the same again. */
const REPLACED = 2;

describe("drills of nodes that end or stand still", { concurrency: 2, skip: withoutProc }, () => {
  test("host-kill", async (t) => {
    const [round] = await drill(t, "host-kill");
    assert.ok(round !== undefined && round.lost.oldestMs <= LOST_MS);
  });

  test("row 37: freeze: one of its rounds", async (t) => {
    assert.equal((await drill(t, "freeze", "--rounds", "1")).length, 1);
  });

  test("rows 33, 35: busy-loop: its executor and its parent go on meanwhile", async (t) => {
    await drill(t, "busy-loop");
  });

  test("row 34: starved: it is fenced, and comes back", async (t) => {
    const [round] = await drill(t, "starved");
    const [struck] = round?.timeline.filter(({ event }) => event === "fault") ?? [];
    const ofStruck = round?.timeline.filter(({ node }) => node === struck?.node).map(({ event }) => event) ?? [];
    assert.ok(ofStruck.includes("fenced") && ofStruck.lastIndexOf("lifted") > ofStruck.indexOf("fenced"));
  });

  test("restart: before and after others took over", async (t) => {
    assert.equal((await drill(t, "restart")).length, 2);
  });

  test("freeze-all", async (t) => {
    await drill(t, "freeze-all");
  });

  test(`rolling-upgrade: ${REPLACED} nodes`, async (t) => {
    const rounds = await drill(t, "rolling-upgrade", "--rounds", String(REPLACED));
    assert.equal(rounds.length, REPLACED);
    assert.equal(rounds.reduce((sum, { lost }) => sum + lost.events, 0), 0, "who ends in order loses nothing");
  });

  test("row 40: race", async (t) => {
    const [round] = await drill(t, "race");
    assert.ok(round !== undefined && round.timeline.filter(({ event }) => event === "claimed").length > 10, "accounts were contended for");
  });

  test("a drill that is killed while a node stands still leaves nothing: nodes, brokers, PostgreSQL", async (t) => {
    const command = await startCommand(t, ["drill", "freeze", "--profile", "fast", "--rounds", "1"], { database: "embedded", env: { KAFKA_BROKERS: (await sharedKafka()).join(",") } });
    await says(command, "err", /^round 1 of 1: freeze of n\d/m);
    assert.ok(command.left().length > 8, "the command, the brokers, three parents and children, PostgreSQL");
    command.child.kill("SIGKILL");
    await nothingLeft(command);
  });
});
