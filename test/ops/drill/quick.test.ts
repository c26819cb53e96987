// Owns the drills that are over soon, from end to end: what each of them promises besides what its verdict says. The others
// are in live/.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { withoutProc } from "../cli/lockstep.ts";
import { drill } from "./drillCommand.ts";

const LOST_MS = 50;

describe("quick drills", { skip: withoutProc }, () => {
  test("process-kill: others have its accounts at once, and the log lacks nothing older than what was under way", async (t) => {
    const [round] = await drill(t, "process-kill");
    assert.ok(round !== undefined && round.lost.oldestMs <= LOST_MS);
    assert.ok(round.untouched.orders > 0, "others traded on");
  });

  test("clean-stop: others have its accounts at once, and the log lacks nothing", async (t) => {
    const [round] = await drill(t, "clean-stop");
    assert.equal(round?.lost.events, 0);
  });

  test("session-cut: every owner keeps what it has", async (t) => {
    const [round] = await drill(t, "session-cut");
    assert.ok(round !== undefined && round.timeline.some(({ event }) => event === "session_lost"), "sessions were cut");
    assert.ok(!round.timeline.some(({ event }) => event === "claimed"), "nothing moved");
  });

  test("master-node-kill: the master moves too", async (t) => {
    const [round] = await drill(t, "master-node-kill");
    assert.ok(round !== undefined && round.timeline.some(({ event, detail }) => event === "claimed" && /^m[12] /.test(detail)), "somebody else has the master");
    assert.ok(round.lost.oldestMs <= LOST_MS);
  });
});
