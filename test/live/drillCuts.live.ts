// Owns the drills in which what nodes stand on is cut, from end to end on real processes: two at a time, since most
// of a drill is waiting for a lease.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { withoutProc } from "../ops/cli/lockstep.ts";
import { drill } from "../ops/drill/drillCommand.ts";

describe("drills of what is cut", { concurrency: 2, skip: withoutProc }, () => {
  for (const name of ["cut-db", "cut-db-half-open"]) {
    test(name, async (t) => {
      const [round] = await drill(t, name);
      const events = round?.timeline.map(({ event }) => event) ?? [];
      for (const event of ["renew_failed", "fenced", "lease_end", "claimed", "first_order", "heal", "forgotten"]) assert.ok(events.includes(event), event);
    });
  }

  test("db-down: every node keeps its own accounts", async (t) => {
    const [round] = await drill(t, "db-down");
    const events = round?.timeline.map(({ event }) => event) ?? [];
    assert.ok(events.includes("lifted") && events.includes("confirmed"));
    assert.ok(!events.includes("claimed") && !events.includes("forgotten"));
  });

  test("cut-kafka: it ends itself, and others take over", async (t) => {
    await drill(t, "cut-kafka");
  });

  test("kafka-restart: every owner keeps what it has", async (t) => {
    const [round] = await drill(t, "kafka-restart");
    assert.ok(!round?.timeline.some(({ event }) => event === "claimed"), "nothing moved");
  });
});
