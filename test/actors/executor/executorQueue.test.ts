// Owns the tests of what stands around the executor's calls: the queue in front of the lanes, the
// descriptors behind them, and the end.

import assert from "node:assert/strict";
import { readlinkSync } from "node:fs";
import { describe, test } from "node:test";
import { CallSocket } from "../../../actors/executor/callSocket.ts";
import { connectBlocking } from "../../../actors/executor/native.ts";
import { FrameServer, type Peer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { executorBench } from "./executorBench.ts";
import { ask, boot, connectTo, descriptors, LANES } from "./executorFixture.ts";

const bench = executorBench();

describe("the queue", () => {
  test("calls past the cap leave in the order they came, and never more than the lanes at once", async () => {
    const many = await bench.openMany(LANES + 6);
    const waiting: Peer[] = [];
    const arrived: unknown[] = [];
    bench.onFrame = (message, peer) => {
      arrived.push(message["n"]);
      waiting.push(peer);
    };
    const calls = many.map((socket, n) => ask(bench.rig.executor, socket, n));
    await until("all lanes are taken", () => arrived.length === LANES);
    assert.equal(bench.rig.executor.counts().inFlight, LANES);
    assert.equal(bench.rig.executor.counts().waiting, 6);
    for (let made = LANES + 1; made <= LANES + 6; made++) {
      waiting.shift()!.send({ echo: true });
      await until("the next one is made", () => arrived.length === made);
      assert.equal(bench.rig.executor.counts().inFlight, LANES);
    }
    waiting.forEach((peer) => peer.send({ echo: true }));
    await Promise.all(calls.map((call) => call.outcome));
    // The first ones leave together, from several hosts; the others one by one.
    assert.deepEqual(arrived.slice(LANES), [3, 4, 5, 6, 7, 8]);
  });

  test("a full queue is an answer, at once; so is a wait that took too long", async () => {
    const small = await boot({ hosts: 1, maxWaiting: 1, maxWaitMs: 30 });
    try {
      bench.answering = false;
      const many: CallSocket[] = [];
      for (let n = 0; n < LANES + 2; n++) many.push(await connectTo(small.executor, bench.server.port));
      const calls = many.map((socket, n) => ask(small.executor, socket, n));
      assert.deepEqual(await calls[LANES + 1]!.outcome, { kind: "dropped", cause: "queue_full", detail: "1 calls wait already" });
      assert.deepEqual(await calls[LANES]!.outcome, { kind: "dropped", cause: "queue_full", detail: "no lane within 30 ms" });
      assert.equal(small.executor.counts().waiting, 0);
      bench.sockets.push(...many);
    } finally {
      await small.executor.stop();
    }
  });

  test("a call that waits is cancelled at once, a call that was made is not", async () => {
    const many = await bench.openMany(LANES + 1);
    bench.answering = false;
    const calls = many.map((socket, n) => ask(bench.rig.executor, socket, n));
    await until("all lanes are taken", () => bench.asked().length === LANES);
    calls[0]!.cancel();
    calls[LANES]!.cancel();
    assert.equal(bench.rig.executor.counts().waiting, 0);
    assert.deepEqual(await calls[LANES]!.outcome, { kind: "dropped", cause: "cancelled", detail: "cancelled while waiting" });
    assert.equal(bench.rig.executor.counts().inFlight, LANES);
    bench.server.peers.forEach((peer) => peer.send({ echo: 0 }));
    assert.equal((await calls[0]!.outcome).kind, "answered");
    await Promise.all(calls.map((call) => call.outcome));
    assert.equal(bench.asked().includes(LANES), false);
  });

  test("the in-flight count falls before the caller continues", async () => {
    const socket = await bench.open();
    await ask(bench.rig.executor, socket, 1).outcome.then(() => assert.equal(bench.rig.executor.counts().inFlight, 0));
  });

  test("at a trip all that waits is dropped at once, and what was made goes on to its answer", async () => {
    const many = await bench.openMany(LANES + 4);
    bench.answering = false;
    const calls = many.map((socket, n) => ask(bench.rig.executor, socket, n));
    await until("all lanes are taken", () => bench.asked().length === LANES);
    bench.rig.gate.trip();
    bench.rig.executor.dropWaiting();
    const dropped = await Promise.all(calls.slice(LANES).map((call) => call.outcome));
    assert.ok(dropped.every((outcome) => outcome.kind === "dropped" && outcome.cause === "gate"));
    bench.server.peers.forEach((peer) => peer.send({ echo: 0 }));
    const answered = await Promise.all(calls.slice(0, LANES).map((call) => call.outcome));
    assert.ok(answered.every((outcome) => outcome.kind === "answered"));
    assert.deepEqual(bench.asked().length, LANES);
  });

  test("at the lease's end only sockets whose call is unanswered are reset", async () => {
    const idle = await bench.open();
    const hung = await bench.open();
    bench.answering = false;
    const call = ask(bench.rig.executor, hung, 1);
    await until("the call is made", () => bench.asked().length === 1);
    bench.rig.executor.resetUnanswered();
    assert.equal((await call.outcome).kind, "unknown");
    assert.equal(hung.ended, true);
    bench.answering = true;
    assert.equal((await ask(bench.rig.executor, idle, 2).outcome).kind, "answered");
  });
});

describe("a descriptor", () => {
  /** The system gives the lowest number that is free. */
  const socketWithNumber = (fd: number): CallSocket => {
    const made: CallSocket[] = [];
    do made.push(new CallSocket("IPv4", 1_000));
    while (made.at(-1)!.fd < fd);
    const wanted = made.pop()!;
    made.forEach((socket) => socket.end());
    assert.equal(wanted.fd, fd);
    return wanted;
  };

  const isOpen = (fd: number): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  };

  test("is not closed while a lane may be in a call on it, so that no other account can get its number", () => {
    const socket = new CallSocket("IPv4", 1_000);
    socket.enter();
    socket.end();
    assert.equal(isOpen(socket.fd), true);
    const other = new CallSocket("IPv4", 1_000);
    assert.notEqual(other.fd, socket.fd);
    other.end();
    socket.leave();
    assert.equal(isOpen(socket.fd), false);
  });

  test("whose socket was ended while its call waited is not used, although another socket has its number by now", async () => {
    const many = await bench.openMany(LANES + 1);
    bench.answering = false;
    const calls = many.map((socket, n) => ask(bench.rig.executor, socket, n));
    await until("all lanes are taken", () => bench.asked().length === LANES);
    const other = await FrameServer.start(() => undefined);
    many[LANES]!.end();
    const stranger = socketWithNumber(many[LANES]!.fd);
    assert.ok(await connectBlocking(stranger.fd, { ip: "127.0.0.1", family: "IPv4", port: other.port }, 5_000));
    bench.server.peers.forEach((peer) => peer.send({ echo: 0 }));
    assert.equal((await calls[LANES]!.outcome).kind, "dropped");
    await Promise.all(calls.map((call) => call.outcome));
    assert.deepEqual(other.received, []);
    stranger.end();
    await other.close();
  });

  test("of an ended socket is closed once: a second end does not close another's", () => {
    const socket = new CallSocket("IPv4", 1_000);
    socket.end();
    const other = socketWithNumber(socket.fd);
    socket.end();
    assert.equal(isOpen(other.fd), true);
    other.end();
  });

  test("is given back after every end of a call", async () => {
    const before = descriptors();
    const many = await bench.openMany(4);
    bench.answering = false;
    await Promise.all(many.map((socket, n) => ask(bench.rig.executor, socket, n, { timeoutMs: 20 }).outcome));
    await until("the broker's sides are closed too", () => bench.server.peers.every((peer) => peer.ended));
    await until("all are given back", () => descriptors() === before);
  });
});

test("a connection that is refused is said so, and leaves nothing behind", async () => {
  const before = descriptors();
  const closed = await FrameServer.start(() => undefined);
  const port = closed.port;
  await closed.close();
  const opened = await bench.rig.executor.open({ ip: "127.0.0.1", family: "IPv4", port }, 1_000, 1_000).outcome;
  assert.equal(opened.kind, "failed");
  assert.equal(descriptors(), before);
});

test("stop drops what waits, ends what runs, and leaves no thread and no descriptor", async () => {
  const before = descriptors();
  const own = await boot({ hosts: 1 });
  const many = await Promise.all(Array.from({ length: LANES + 2 }, () => connectTo(own.executor, bench.server.port)));
  bench.answering = false;
  const calls = many.map((socket, n) => ask(own.executor, socket, n));
  await until("all lanes are taken", () => bench.asked().length === LANES);
  await own.executor.stop();
  const kinds = (await Promise.all(calls.map((call) => call.outcome))).map((outcome) => (outcome.kind === "dropped" ? outcome.cause : outcome.kind));
  assert.deepEqual(kinds, ["unknown", "unknown", "unknown", "stopped", "stopped"]);
  for (const socket of many) socket.end();
  assert.equal((await ask(own.executor, many[0]!, 9).outcome).kind, "dropped");
  await until("the broker's sides are closed too", () => bench.server.peers.every((peer) => peer.ended));
  await until("all is given back", () => descriptors() <= before);
});
