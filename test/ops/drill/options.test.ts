// Owns the tests of what the options of `lockstep drill` mean, and of the table behind them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DRILL_NAMES, DRILLS, type Drill } from "../../../ops/drill/drills.ts";
import { drillPlan } from "../../../ops/drill/options.ts";
import { isLockstepError } from "../../../protocol/errors.ts";

const NAMES = ["clean-stop", "process-kill", "host-kill", "restart", "cut-db", "cut-db-half-open", "db-down", "freeze", "freeze-all", "busy-loop", "starved", "session-cut", "cut-kafka", "kafka-restart", "master-node-kill", "race", "rolling-upgrade"];

const rounds = (name: string, given?: string): number => drillPlan(name, { profile: "fast", rounds: given }).rounds.length;

test("the drills are those that are promised", () => {
  assert.deepEqual([...DRILL_NAMES].sort(), [...NAMES].sort());
});

test("each has its rounds: once, unless it says more or is told so", () => {
  assert.deepEqual([rounds("host-kill"), rounds("restart"), rounds("freeze"), rounds("rolling-upgrade")], [1, 2, 20, 3]);
  assert.deepEqual([rounds("freeze", "2"), rounds("restart", "3")], [2, 6]);
});

test("profiles are taken by their names", () => {
  assert.equal(drillPlan("cut-db", { profile: "published" }).profile, "published");
});

test("everything that is wrong is said at once", () => {
  for (const [name, texts, lines] of [
    ["nothing", { profile: "fast" }, [/^drill "nothing": expected one of clean-stop, .*rolling-upgrade or stale-writer$/]],
    ["freeze", { profile: "slow", rounds: "0" }, [/^--profile: expected published, steady, fast, got "slow"$/, /^--rounds: expected a whole number from 1 to 100, got "0"$/]],
    ["freeze", { profile: "fast", rounds: "1e2" }, [/^--rounds: .*got "1e2"$/]],
    ["toString", { profile: "fast" }, [/^drill "toString": /]],
  ] as const) {
    assert.throws(() => drillPlan(name, texts), (error) => {
      assert.ok(isLockstepError(error, "configuration"));
      const said = error.message.split("\n");
      assert.equal(said.length, lines.length);
      lines.forEach((line, index) => assert.match(said[index] ?? "", line));
      return true;
    });
  }
});

test("what the table says fits together", () => {
  for (const [name, drill] of Object.entries<Drill>(DRILLS)) {
    for (const { strike, whom, heal, comesBack, expects } of drill.rounds) {
      const isOfNodes = whom !== "none";
      assert.equal(["restart_brokers", "restart_kafka", "contend"].includes(strike), !isOfNodes, `${name}: ${strike} of ${whom}`);
      assert.ok(heal !== "adopted" || expects.accounts === "move", `${name}: healed after an adoption that is not expected`);
      assert.ok(expects.accounts !== "stay" || whom !== "one", `${name}: others take what one cannot keep`);
      assert.equal(expects.gap, !["contend", "starve"].includes(strike), `${name}: one stroke has a gap, many have none`);
      assert.ok(expects.longestGapMs === null || expects.gap, `${name}: a gap is bounded that is not measured`);
      assert.ok(strike !== "stop" || expects.silentFrom === null, `${name}: who is told to end may finish`);
      assert.ok(comesBack === null || ["stop", "kill_child", "kill_host"].includes(strike), `${name}: comes back without having ended`);
      assert.ok(!["freeze", "busy_loop", "starve", "restart_brokers", "restart_kafka", "contend"].includes(strike) || heal !== "never", `${name}: for ever`);
      assert.equal(strike === "restart_kafka", drill.ownKafka, `${name}: a Kafka that is struck is the drill's own`);
    }
  }
});
