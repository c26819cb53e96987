// Owns the tests of the executor's calls: boot, answers, time-outs, gate 2 and the send.

import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { describe, test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import type { Epoch } from "../../../protocol/ids.ts";
import type { Peer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { executorBench, fill } from "./executorBench.ts";
import { ask, boot, connectTo, LANES, openGate, PERMIT, POOL } from "./executorFixture.ts";

const bench = executorBench();

describe("boot", () => {
  test("counts the pool's threads, and logs the number", () => {
    assert.equal(bench.rig.executor.counts().poolThreads, POOL);
    assert.deepEqual(bench.rig.log.lines.at(0), { level: "info", fields: { lanes: LANES, reserve: POOL - LANES, poolThreads: POOL, hosts: 2 }, text: "executor is ready" });
  });

  test("refuses a pool with more threads than asked for", async () => {
    await assert.rejects(boot({ lanes: LANES - 1, hosts: 1 }), (error) => isLockstepError(error, "executor") && error.message.includes("counted more"));
  });
});

describe("a call", () => {
  test("is answered, with the moment it was made on the clock all threads share (fault 94)", async () => {
    const socket = await bench.open();
    const beforeMs = systemClock.monotonicMs();
    const outcome = await ask(bench.rig.executor, socket, 1).outcome;
    assert.ok(outcome.kind === "answered");
    assert.deepEqual(outcome.message, { echo: 1 });
    assert.ok(outcome.callMadeAtMs >= beforeMs && outcome.callMadeAtMs <= systemClock.monotonicMs());
  });

  test("keeps its socket for the next one", async () => {
    const socket = await bench.open();
    for (const n of [1, 2, 3]) assert.equal((await ask(bench.rig.executor, socket, n).outcome).kind, "answered");
    assert.equal(bench.server.peers.length, 1);
  });

  test("reads an answer that comes in pieces", async () => {
    bench.onFrame = async (_message, peer) => {
      for (const byte of encodeFrame({ echo: "x".repeat(50) })) {
        peer.raw(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const outcome = await ask(bench.rig.executor, await bench.open(), 1).outcome;
    assert.deepEqual(outcome.kind === "answered" && outcome.message, { echo: "x".repeat(50) });
  });

  test("reads an answer longer than one read", async () => {
    bench.onFrame = (_message, peer) => peer.send({ echo: "x".repeat(100_000) });
    const outcome = await ask(bench.rig.executor, await bench.open(), 1).outcome;
    assert.deepEqual(outcome.kind === "answered" && outcome.message, { echo: "x".repeat(100_000) });
  });

  test("throws its socket away when more came than the answer", async () => {
    bench.onFrame = (_message, peer) => peer.raw(Buffer.concat([encodeFrame({ echo: 1 }), encodeFrame({ echo: 2 })]));
    const socket = await bench.open();
    assert.equal((await ask(bench.rig.executor, socket, 1).outcome).kind, "answered");
    assert.equal(socket.ended, true);
  });

  for (const [what, act] of [
    ["the connection is cut while it waits", (peer: Peer) => peer.cut()],
    ["the broker closes while it waits", (peer: Peer) => void peer.socket.end()],
    ["the broker answers with bytes that are no frame", (peer: Peer) => peer.raw(new Uint8Array(64).fill(255))],
    ["the broker answers with a frame that is no message", (peer: Peer) => peer.raw(Uint8Array.of(0, 0, 0, 1, 7))],
    ["the answer is cut in the middle", (peer: Peer) => void peer.socket.end(encodeFrame({ echo: 1 }).subarray(0, 6))],
  ] as const) {
    test(`is unknown when ${what}`, async () => {
      bench.onFrame = (_message, peer) => act(peer);
      const socket = await bench.open();
      const outcome = await ask(bench.rig.executor, socket, 1).outcome;
      assert.ok(outcome.kind === "unknown", JSON.stringify(outcome));
      assert.notEqual(outcome.callMadeAtMs, null);
      assert.equal(socket.ended, true);
    });
  }

  test("that hangs ends at its socket's time-out as unknown, and its socket is not used again", async () => {
    bench.answering = false;
    const socket = await bench.open();
    const outcome = await ask(bench.rig.executor, socket, 1, { timeoutMs: 40 }).outcome;
    assert.deepEqual(outcome.kind === "unknown" && outcome.detail, "no answer within 40 ms");
    await until("the broker sees the end", () => bench.server.peers[0]!.ended);
    assert.deepEqual(await ask(bench.rig.executor, socket, 2).outcome, { kind: "dropped", cause: "session_down", detail: "the socket was ended before the call" });
    assert.deepEqual(bench.asked(), [1]);
  });

  test("is not made on a connection that the broker closed before: a look finds it", async () => {
    const socket = await bench.open();
    assert.equal(socket.usable(), true);
    bench.server.peers[0]!.socket.end();
    await until("the end has arrived", () => !socket.usable());
  });

  test("is not made on a connection with a late answer in it: a look finds it", async () => {
    const socket = await bench.open();
    bench.server.peers[0]!.send({ echo: "late" });
    await until("the late answer has arrived", () => !socket.usable());
  });
});

describe("gate 2", () => {
  const refusals: readonly [string, string, () => void][] = [
    ["a trip", "closed", () => bench.rig.gate.trip()],
    ["a deadline that passed", "clock", () => openGate(bench.rig.gate, -1)],
    ["a slot that was zeroed", "epoch", () => bench.rig.gate.clearSlot(PERMIT.slot)],
    ["another epoch", "epoch", () => bench.rig.gate.setEpoch(PERMIT.slot, 6 as Epoch)],
  ];
  for (const [what, verdict, act] of refusals) {
    test(`is asked in the host: ${what} in shared memory stops the call, and nothing is written`, async () => {
      const socket = await bench.open();
      act();
      const outcome = await ask(bench.rig.executor, socket, 1).outcome;
      assert.deepEqual(outcome, { kind: "dropped", cause: "gate", detail: `gate 2: ${verdict}` });
      assert.equal((await ask(bench.rig.executor, socket, 2, { permit: null }).outcome).kind, "answered");
      assert.deepEqual(bench.asked(), [2]);
    });
  }

  test("a refusal by a host's clocks trips the fence for all threads", async () => {
    const socket = await bench.open();
    openGate(bench.rig.gate, -1);
    await ask(bench.rig.executor, socket, 1).outcome;
    assert.equal(bench.rig.gate.lifted, false);
  });

  test("a frame that does not fit waits outside without a lane, and passes gate 2 again", async () => {
    bench.server.reading = false;
    const socket = await bench.open();
    fill(socket);
    const call = ask(bench.rig.executor, socket, 1);
    await until("it waits outside", () => bench.rig.executor.counts().waiting === 1 && bench.rig.executor.counts().inFlight === 0);
    bench.rig.gate.clearSlot(PERMIT.slot);
    assert.deepEqual(await call.outcome, { kind: "dropped", cause: "gate", detail: "gate 2: epoch" });
  });

  test("a frame that did not fit is sent as soon as there is room, and the gate still open", async () => {
    const frame = encodeFrame({ n: 1, padding: new Uint8Array(0) });
    let tail = Buffer.alloc(0);
    const slow = createServer({ pauseOnConnect: true }, (peer) => {
      slowPeers.push(peer);
      peer.on("error", () => undefined);
      peer.on("data", (chunk: Buffer) => {
        tail = Buffer.concat([tail, chunk]).subarray(-frame.length);
        if (tail.equals(frame)) peer.write(encodeFrame({ echo: 1 }));
      });
    });
    const slowPeers: Socket[] = [];
    await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
    const socket = await connectTo(bench.rig.executor, (slow.address() as AddressInfo).port);
    bench.sockets.push(socket);
    fill(socket);
    const call = ask(bench.rig.executor, socket, 1);
    await until("it waits outside", () => bench.rig.executor.counts().waiting === 1 && bench.rig.executor.counts().inFlight === 0 && slowPeers.length === 1);
    slowPeers[0]!.resume();
    assert.equal((await call.outcome).kind, "answered");
    socket.end();
    await new Promise((resolve) => slow.close(resolve));
  });

  test("a connection that takes nothing for too long is given up: nothing was written", async () => {
    const impatient = await boot({ hosts: 1, maxWaitMs: 20 });
    try {
      bench.server.reading = false;
      const socket = await connectTo(impatient.executor, bench.server.port);
      fill(socket);
      const outcome = await ask(impatient.executor, socket, 1).outcome;
      assert.deepEqual(outcome, { kind: "dropped", cause: "session_down", detail: "the connection took nothing for 20 ms" });
      assert.equal(socket.ended, true);
    } finally {
      await impatient.executor.stop();
    }
  });

  test("a frame that does not fit is dropped by a trip like anything that waits", async () => {
    bench.server.reading = false;
    const socket = await bench.open();
    fill(socket);
    const call = ask(bench.rig.executor, socket, 1);
    await until("it waits outside", () => bench.rig.executor.counts().waiting === 1 && bench.rig.executor.counts().inFlight === 0);
    bench.rig.executor.dropWaiting();
    assert.equal(bench.rig.executor.counts().waiting, 0);
    assert.equal((await call.outcome).kind, "dropped");
  });

  test("a frame of which only a part fits is not delivered: its socket is shut down, so that the rest can never follow", async () => {
    bench.server.reading = false;
    const socket = await bench.open();
    const outcome = await ask(bench.rig.executor, socket, 1, { padding: 15_000_000 }).outcome;
    assert.ok(outcome.kind === "not_delivered", JSON.stringify(outcome));
    assert.match(outcome.detail, /^only \d+ of \d+ bytes were taken$/);
    bench.server.read();
    await until("the broker sees the end", () => bench.server.peers[0]!.ended);
    assert.deepEqual(bench.asked(), []);
  });
});
