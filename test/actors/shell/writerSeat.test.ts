// Owns the tests of when a node is one of its cell's writers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WriterSeat } from "../../../actors/shell/writerSeat.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { silent } from "../../support/silent.ts";

function seat(how: { startFails?: () => boolean; stopTakes?: () => Promise<void> } = {}) {
  const clock = new FakeScheduler(1);
  const told: string[] = [];
  const gate = { open: false };
  let made = 0;
  const make = () => {
    const name = `w${(made += 1)}`;
    return {
      start: async () => {
        told.push(`${name} begins`);
        if (how.startFails?.() === true) throw new Error("no log");
      },
      stop: async () => {
        told.push(`${name} ends`);
        await how.stopTakes?.();
      },
      drain: async () => void told.push(`${name} drains`),
      blockedPartitions: [made],
      fetchedAtMs: made,
      waiting: null,
    };
  };
  const set = async (open: boolean, ms = 1_000): Promise<void> => {
    gate.open = open;
    await clock.advance(ms);
  };
  return { clock, told, set, seat: new WriterSeat({ make, isOpen: () => gate.open, clock, logger: silent }) };
}

/** One that was open, and whose gate has been closed since. */
async function left(how: Parameters<typeof seat>[0]) {
  const run = seat(how);
  await run.seat.start();
  await run.set(true);
  await run.set(false);
  return run;
}

test("a node writes from its start, leaves when its gate closes, and comes back as a new writer when it is open again", async () => {
  const run = seat();
  await run.seat.start();
  await run.clock.advance(60_000);
  assert.deepEqual(run.told, ["w1 begins"], "the gate was never open yet");
  await run.set(true);
  await run.set(false);
  assert.deepEqual(run.told, ["w1 begins", "w1 ends"]);
  assert.deepEqual([run.seat.heardAtMs, run.seat.blockedPartitions, run.seat.waiting], [[], [], null], "it says nothing of a log that it does not read");
  await run.set(true);
  assert.deepEqual([run.told.slice(2), run.seat.heardAtMs, run.seat.blockedPartitions], [["w2 begins"], [2], [2]]);
  await run.seat.drain(1);
  await run.seat.stop();
  assert.deepEqual([run.told.slice(3), run.clock.pending], [["w2 drains", "w2 ends"], 0]);
});

test("no new writer begins before the one before it has ended", async () => {
  let end: () => void = () => undefined;
  const run = await left({ stopTakes: () => new Promise((resolve) => (end = resolve)) });
  await run.set(true, 10_000);
  assert.deepEqual(run.told, ["w1 begins", "w1 ends"]);
  end();
  await run.clock.advance(1_000);
  assert.deepEqual(run.told, ["w1 begins", "w1 ends", "w2 begins"]);
});

test("a stop in the middle of a leave waits for its end", async () => {
  let end: () => void = () => undefined;
  const run = await left({ stopTakes: () => new Promise((resolve) => (end = resolve)) });
  let stopped = false;
  const stop = run.seat.stop().then(() => (stopped = true));
  await run.clock.advance(10_000);
  assert.equal(stopped, false, "the old writer may still write");
  end();
  await stop;
  assert.deepEqual([run.told, run.clock.pending], [["w1 begins", "w1 ends"], 0]);
});

test("one that could not begin is tried again; one that begins while the node stops ends again", async () => {
  let [begun, fails] = [0, true];
  const run = await left({ startFails: () => (begun += 1) > 1 && fails });
  await run.set(true, 600);
  assert.deepEqual(run.told.slice(2, 3), ["w2 begins"]);
  fails = false;
  await run.clock.advance(1_000);
  assert.ok(run.told.includes("w3 begins"), run.told.join());
  await run.seat.stop();
  assert.equal(run.told.at(-1), "w3 ends");
});
