// Owns the tests of a host thread that dies under its calls.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { CallSocket } from "../../../actors/executor/callSocket.ts";
import { deafListener } from "../../support/deafListener.ts";
import { FrameServer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { ask, boot, connectTo, descriptors, LANES, type Rig } from "./executorFixture.ts";

let rig: Rig;
let server: FrameServer;
let answering = true;

before(async () => {
  rig = await boot({ hosts: 1, maxWaiting: 10 });
});
after(() => rig.executor.stop());
beforeEach(async () => {
  answering = true;
  server = await FrameServer.start((message, peer) => (answering ? peer.send({ echo: message["n"] }) : undefined));
});
afterEach(() => server.close());

/** A message that no host can read: its thread dies of an uncaught exception. */
const crash = (): void => rig.executor.hostThreads[0]!.postMessage({});
const whole = (): boolean => rig.executor.counts().hosts === 1 && rig.executor.counts().stranded === 0;
const connectMany = async (count: number): Promise<CallSocket[]> => Promise.all(Array.from({ length: count }, () => connectTo(rig.executor, server.port)));

describe("a host that dies (fault 89)", () => {
  test("settles the calls that were made as unknown, frees their lanes and is replaced, loudly", async () => {
    const before = descriptors();
    const lostBefore = rig.executor.counts().hostsLost;
    const sockets = await connectMany(LANES);
    answering = false;
    const calls = sockets.map((socket, n) => ask(rig.executor, socket, n));
    await until("all calls are made", () => server.received.length === LANES);
    crash();
    for (const call of calls) {
      const outcome = await call.outcome;
      assert.ok(outcome.kind === "unknown");
      assert.match(outcome.detail, /^the host thread died/);
    }
    await until("it is replaced and its lanes have returned", whole);
    assert.equal(rig.executor.counts().hostsLost, lostBefore + 1);
    assert.ok(rig.log.lines.some((line) => line.level === "error" && line.text.startsWith("a host thread died")));
    await until("the broker sees the ends", () => server.peers.every((peer) => peer.ended));
    await until("all descriptors are given back", () => descriptors() <= before);
  });

  test("leaves its lanes counted as used until they have returned", async () => {
    const sockets = await connectMany(LANES);
    answering = false;
    const calls = sockets.map((socket, n) => ask(rig.executor, socket, n));
    await until("all calls are made", () => server.received.length === LANES);
    const counts: number[] = [];
    const settled = Promise.all(calls.map((call) => call.outcome.then(() => counts.push(rig.executor.counts().stranded + rig.executor.counts().inFlight))));
    crash();
    await settled;
    assert.equal(counts[0], LANES);
    await until("the lanes have returned", whole);
  });

  test("does not take what waits with it: the next host makes those calls", async () => {
    const sockets = await connectMany(LANES + 2);
    answering = false;
    const calls = sockets.map((socket, n) => ask(rig.executor, socket, n));
    await until("all lanes are taken", () => server.received.length === LANES);
    answering = true;
    crash();
    const outcomes = await Promise.all(calls.map((call) => call.outcome));
    assert.deepEqual(outcomes.map((outcome) => outcome.kind), ["unknown", "unknown", "unknown", "answered", "answered"]);
    for (const socket of sockets) socket.end();
    await until("all is as before", whole);
  });

  test("ends a connection that was being made, and its socket", async () => {
    const deaf = await deafListener();
    const before = descriptors();
    const opening = rig.executor.open({ ip: "127.0.0.1", family: "IPv4", port: deaf.port }, 30_000, 5_000);
    assert.equal(rig.executor.counts().inFlight, 1);
    crash();
    assert.equal((await opening.outcome).kind, "failed");
    await until("its lane has returned", whole);
    assert.equal(descriptors() <= before, true);
    deaf.close();
  });

  test("by termination settles its calls too, when their lanes return", async () => {
    const [socket] = await connectMany(1);
    answering = false;
    const call = ask(rig.executor, socket!, 1, { timeoutMs: 300 });
    await until("the call is made", () => server.received.length === 1);
    void rig.executor.hostThreads[0]!.terminate();
    assert.equal((await call.outcome).kind, "unknown");
    await until("it is replaced", whole);
  });

  test("between two calls costs none of them", async () => {
    const [socket] = await connectMany(1);
    assert.equal((await ask(rig.executor, socket!, 1).outcome).kind, "answered");
    const lostBefore = rig.executor.counts().hostsLost;
    crash();
    await until("it died and is replaced", () => rig.executor.counts().hostsLost === lostBefore + 1 && whole());
    assert.equal((await ask(rig.executor, socket!, 2).outcome).kind, "answered");
    socket!.end();
  });
});

test("a connection that does not come ends at its time-out", async () => {
  const deaf = await deafListener();
  const opened = await rig.executor.open({ ip: "127.0.0.1", family: "IPv4", port: deaf.port }, 40, 5_000).outcome;
  assert.equal(opened.kind, "failed");
  deaf.close();
});
