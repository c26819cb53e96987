// Owns the tests of one connection of the wire protocol: replies, time-outs, half-open sockets, hostile bytes.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { systemClock } from "../../../ops/clock.ts";
import { WireConnection, type WireConnectionOptions } from "../../../actors/drivers/wireConnection.ts";
import { isLockstepError } from "../../../protocol/errors.ts";
import type { GateVerdict } from "../../../protocol/ports/gate.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import { FrameServer, type Peer } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { OPEN } from "./sessionFixture.ts";

const ORDER = { t: "order", order: OPEN } as const;
const open = (): GateVerdict => "open";

let server: FrameServer;
let onFrame: (message: Record<string, unknown>, peer: Peer) => void;
let ends: string[];
const connections: WireConnection[] = [];

beforeEach(async () => {
  ends = [];
  onFrame = (message, peer) => peer.send({ t: "pong", id: message["id"], brokerMs: 1 });
  server = await FrameServer.start((message, peer) => onFrame(message, peer));
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.end("test is over");
  await server.close();
});

async function connection(options: Partial<WireConnectionOptions> = {}): Promise<WireConnection> {
  const made = await WireConnection.open(
    { host: "localhost", port: server.port },
    { clock: systemClock, connectTimeoutMs: 5_000, maxInFlight: 8, pingEveryMs: 60_000, pingTimeoutMs: 60_000, onPush: () => undefined, onEnd: (detail) => ends.push(detail), ...options },
  );
  connections.push(made);
  await until("the server has accepted it", () => server.peers.length === connections.length);
  return made;
}

/** Makes the server deaf and fills the way to it, until node itself must keep bytes back. */
async function clog(made: WireConnection): Promise<void> {
  server.peers[0]!.socket.pause();
  for (let n = 0; n < 4; n++) void made.request({ t: "login", login: 1, password: "x".repeat(4_000_000), channel: "session" }, 60_000);
}

describe("requests", () => {
  test("get their own answers, in whatever order these come", async () => {
    const ids: unknown[] = [];
    onFrame = (message, peer) => {
      ids.push(message["id"]);
      if (ids.length === 2) for (const id of ids.reverse()) peer.send({ t: "pong", id, brokerMs: Number(id) * 10 });
    };
    const made = await connection();
    const replies = await Promise.all([made.request({ t: "ping" }, 5_000), made.request({ t: "ping" }, 5_000)]);
    assert.deepEqual(replies.map((reply) => reply.kind === "answered" && reply.response.t === "pong" && [reply.response.id, reply.response.brokerMs]), [[1, 10], [2, 20]]);
  });

  test("without an answer end at their time-out, and a late answer disturbs nobody", async () => {
    const late: (() => void)[] = [];
    onFrame = (message, peer) => late.push(() => peer.send({ t: "pong", id: message["id"], brokerMs: 1 }));
    const made = await connection();
    assert.equal((await made.request({ t: "ping" }, 20)).kind, "no_answer");
    onFrame = (message, peer) => {
      late.forEach((send) => send());
      peer.send({ t: "pong", id: message["id"], brokerMs: 2 });
    };
    const reply = await made.request({ t: "ping" }, 5_000);
    assert.equal(reply.kind === "answered" && reply.response.t === "pong" && reply.response.brokerMs, 2);
  });

  test("past the bound are answered full", async () => {
    onFrame = () => undefined;
    const made = await connection({ maxInFlight: 1 });
    void made.request({ t: "ping" }, 60_000);
    assert.deepEqual(await made.request({ t: "ping" }, 60_000), { kind: "full" });
    assert.deepEqual(await made.guardedRequest(ORDER, 60_000, open), { kind: "full" });
  });

  test("in flight at the connection's end have no answer; later ones are not written", async () => {
    onFrame = (_message, peer) => peer.cut();
    const made = await connection();
    assert.equal((await made.request({ t: "ping" }, 60_000)).kind, "no_answer");
    assert.equal((await made.request({ t: "ping" }, 60_000)).kind, "not_written");
    assert.equal((await made.guardedRequest(ORDER, 60_000, open)).kind, "not_written");
    assert.equal(ends.length, 1);
  });

  for (const [what, bytes] of [
    ["a frame that is no message", Uint8Array.of(0, 0, 0, 1, 7)],
    ["a message of no known kind", encodeFrame({ t: "hello" })],
    ["a frame that is too long", Uint8Array.of(255, 0, 0, 0)],
  ] as const) {
    test(`${what} ends the connection`, async () => {
      onFrame = (_message, peer) => peer.raw(bytes);
      const made = await connection();
      assert.equal((await made.request({ t: "ping" }, 60_000)).kind, "no_answer");
      assert.match(ends[0]!, /^bytes that are no wire message/);
    });
  }

  test("a broker that cannot be reached is said so", async () => {
    const gone = await FrameServer.start(() => undefined);
    const port = gone.port;
    await gone.close();
    const options = { clock: systemClock, connectTimeoutMs: 5_000, maxInFlight: 1, pingEveryMs: 1, pingTimeoutMs: 1, onPush: () => undefined, onEnd: () => undefined };
    await assert.rejects(WireConnection.open({ host: "localhost", port }, options), (error) => isLockstepError(error, "unreachable"));
  });
});

describe("a guarded frame", () => {
  test("is not written when its guard refuses", async () => {
    const made = await connection();
    assert.deepEqual(await made.guardedRequest(ORDER, 5_000, () => "epoch"), { kind: "refused", verdict: "epoch" });
    await made.request({ t: "ping" }, 5_000);
    assert.deepEqual(server.received.map((message) => message["t"]), ["ping"]);
  });

  test("is with the operating system, whole, in the turn of its guard", async () => {
    const made = await connection();
    let guarded = 0;
    const reply = made.guardedRequest(ORDER, 5_000, () => {
      guarded += 1;
      return "open";
    });
    assert.equal(made.inFlight, 1);
    assert.equal((await reply).kind, "answered");
    assert.equal(guarded, 1);
  });

  test("does not queue behind bytes that node keeps back: it waits, and its guard is asked only when the way is free", async () => {
    const made = await connection();
    await clog(made);
    let verdict: GateVerdict = "open";
    let askedGuard = 0;
    const reply = made.guardedRequest(ORDER, 60_000, () => {
      askedGuard += 1;
      return verdict;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(askedGuard, 0);
    verdict = "closed";
    server.peers[0]!.socket.resume();
    assert.deepEqual(await reply, { kind: "refused", verdict: "closed" });
    assert.equal(server.received.some((message) => message["t"] === "order"), false);
  });

  test("that waited is sent when the way is free and its guard agrees", async () => {
    const made = await connection();
    await clog(made);
    const reply = made.guardedRequest(ORDER, 60_000, open);
    await new Promise((resolve) => setImmediate(resolve));
    server.peers[0]!.socket.resume();
    assert.equal((await reply).kind, "answered");
  });

  test("that the way is never free for is not written", async () => {
    const made = await connection();
    await clog(made);
    assert.equal((await made.guardedRequest(ORDER, 20, open)).kind, "not_written");
  });

  test("of which only a part fits resets the connection: the rest can never follow", async () => {
    const made = await connection();
    server.peers[0]!.socket.pause();
    const huge = { t: "order", order: { ...OPEN, comment: "x".repeat(15_000_000) } } as const;
    assert.equal((await made.guardedRequest(huge, 5_000, open)).kind, "not_written");
    assert.equal(ends.length, 1);
    server.peers[0]!.socket.resume();
    await until("the broker sees the end", () => server.peers[0]!.ended);
    assert.deepEqual(server.received, []);
  });

  test("without an answer is what resets a connection at the lease's end; a ping is not", async () => {
    onFrame = () => undefined;
    const made = await connection();
    void made.request({ t: "ping" }, 60_000);
    made.resetUnanswered();
    assert.equal(ends.length, 0);
    const reply = made.guardedRequest(ORDER, 60_000, open);
    made.resetUnanswered();
    assert.equal((await reply).kind, "no_answer");
    assert.equal(ends.length, 1);
  });
});
