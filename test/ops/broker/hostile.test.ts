// Owns the tests of what a hostile or broken client can do to the broker: nothing, to others.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pack } from "../../../protocol/codec.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import type { Ticket } from "../../../protocol/ids.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import { readRequest } from "../../../ops/broker/wireRequests.ts";
import { MT4_ACCOUNT, openOrder } from "./market.ts";
import { RawClient } from "./rawClient.ts";
import { entriesOf, running, type Running, untilLogged } from "./testServer.ts";

const LIMIT = { timeout: 20_000 };

/** The server lives, and serves others. */
async function stillServes({ session }: Running): Promise<void> {
  const client = await session();
  assert.equal((await client.order(openOrder())).code, 0);
}

function frame(body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + body.length);
  new DataView(bytes.buffer).setUint32(0, body.length);
  bytes.set(body, 4);
  return bytes;
}

describe("bytes that are no protocol", LIMIT, () => {
  const garbage: readonly (readonly [string, Uint8Array])[] = [
    ["a frame longer than allowed", Uint8Array.of(0xff, 0xff, 0xff, 0xff)],
    ["a frame that is no msgpack", frame(Uint8Array.of(0xc1, 0xc1))],
    ["a frame that is no map", frame(pack([1, 2, 3]))],
    ["a map without an id", frame(pack({ t: "ping" }))],
    ["msgpack nested thousands deep", frame(new Uint8Array(30_000).fill(0x91))],
    ["an HTTP request", new TextEncoder().encode("GET / HTTP/1.1\r\nHost: x\r\n\r\n")],
  ];
  for (const [what, bytes] of garbage) {
    test(`${what} is answered malformed and closed`, async (t) => {
      const up = await running(t);
      const client = await RawClient.connect(up.port);
      client.bytes(bytes);
      assert.equal((await client.hear("error")).code, "malformed");
      await client.closed();
      await stillServes(up);
    });
  }

  test("a frame that never ends is cut off long before its announced length", async (t) => {
    const up = await running(t);
    const client = await RawClient.connect(up.port);
    client.bytes(Uint8Array.of(0x00, 0xff, 0xff, 0xff));
    client.bytes(new Uint8Array(200_000));
    assert.equal((await client.hear("error")).code, "malformed");
    await client.closed();
    await stillServes(up);
  });

  test("any bytes at all leave the server serving", async (t) => {
    const up = await running(t);
    const requests = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 }).map(frame),
      fc.dictionary(fc.constantFrom("t", "id", "login", "channel", "order", "kind", "symbol"), fc.oneof(fc.jsonValue(), fc.constantFrom("login", "order", "snapshot"))).map(encodeFrame),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { maxLength: 5 }), async (chunks) => {
        const client = await RawClient.connect(up.port);
        for (const chunk of chunks) client.bytes(chunk);
        client.socket.end();
        await client.closed();
      }),
      { numRuns: 100 },
    );
    await stillServes(up);
  });

  test("a frame cut into single bytes is read, and several in one piece", async (t) => {
    const up = await running(t);
    const client = await up.session();
    const bytes = encodeFrame({ t: "ping", id: 77 });
    for (const byte of bytes) client.bytes(Uint8Array.of(byte));
    await client.hear("pong", ({ id }) => id === 77);
    client.bytes(Buffer.concat([encodeFrame({ t: "ping", id: 78 }), encodeFrame({ t: "ping", id: 79 })]));
    await client.hear("pong", ({ id }) => id === 79);
  });
});

describe("requests that are not in order", LIMIT, () => {
  test("a request, or a kind of order, that the server does not know is answered unsupported, and the connection stays", async (t) => {
    const { session } = await running(t);
    const client = await session();
    client.bytes(encodeFrame({ t: "withdraw", id: 50 }));
    client.bytes(encodeFrame({ t: "order", id: 51, order: { kind: "close_by" } }));
    await client.hear("error", ({ id, code }) => id === 50 && code === "unsupported");
    await client.hear("error", ({ id, code }) => id === 51 && code === "unsupported");
    await client.ping();
  });

  const good = { t: "order", id: 1, order: openOrder() };
  const bad = [
    ["a negative volume", { ...good, order: { ...good.order, volume: -1 } }],
    ["a volume that is no number", { ...good, order: { ...good.order, volume: "0.10" } }],
    ["a fractional price limit", { ...good, order: { ...good.order, priceLimit: 1.5 } }],
    ["a side of its own", { ...good, order: { ...good.order, side: "long" } }],
    ["no comment", { ...good, order: { ...good.order, comment: undefined } }],
    ["an order that is a list", { ...good, order: [] }],
    ["an id that is not whole", { ...good, id: 0.5 }],
    ["an epoch that is no number", { ...good, epoch: "7" }],
  ] as const;
  for (const [what, message] of bad) {
    test(`an order with ${what} is malformed`, () => {
      const read = readRequest(message);
      assert.equal(read.kind === "unreadable" && read.code, "malformed");
    });
  }

  test("whole numbers may come as 64-bit integers, unsafe ones are refused", () => {
    const read = readRequest({ ...good, id: 7n, order: { ...good.order, volume: 10_000_000n } });
    assert.deepEqual(read, { kind: "read", request: { ...good, id: 7 } });
    assert.equal(readRequest({ t: "snapshot", id: 1, historyFromMs: 2n ** 60n }).kind, "unreadable");
  });
});

describe("connections that do not behave", LIMIT, () => {
  test("nothing is taken from a connection after its error, not even what came in the same piece", async (t) => {
    const up = await running(t);
    const client = await up.session();
    client.bytes(Buffer.concat([encodeFrame({ t: "ping" }), encodeFrame({ t: "order", id: 9, order: openOrder() })]));
    await client.hear("error");
    await client.closed();
    assert.deepEqual(entriesOf(up.sink, "request"), []);
  });

  test("one that was told to leave and stays is dropped", async (t) => {
    const up = await running(t);
    const client = await RawClient.connect(up.port, true);
    client.send({ t: "ping", id: 1 });
    await client.hear("error");
    up.clock.pass(1000);
    // Bytes that nobody takes any more are what tells a half-open client.
    const writing = setInterval(() => client.bytes(Uint8Array.of(0)), 5);
    await client.closed().finally(() => clearInterval(writing));
  });

  test("more than the server takes are turned away, and those it has stay", async (t) => {
    const up = await running(t, { maxConnections: 1 });
    const client = await up.session();
    await (await RawClient.connect(up.port)).closed();
    await client.ping();
  });
});

test("a session that does not read is dropped, and nobody else waits for it", LIMIT, async (t) => {
  const up = await running(t, { maxBacklogBytes: 64 * 1024 });
  const trader = up.server.trader(MT4_ACCOUNT);
  for (let n = 0; n < 1000; n += 1) trader.close(trader.open(openOrder()).ticket as Ticket);
  const [slow, other] = [await up.session(), await up.call()];
  slow.socket.pause();
  // 100 histories of about 250 kB: more than any socket's buffers hold.
  for (let n = 0; n < 100; n += 1) slow.send({ t: "snapshot", id: slow.nextId(), historyFromMs: 0 as BrokerMs });
  await untilLogged(up.sink, "disconnect", other);
  assert.deepEqual(entriesOf(up.sink, "disconnect").map(({ connection, cause }) => [connection, cause]), [[1, "reads too slowly"]]);
  await stillServes(up);
});
