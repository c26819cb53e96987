// Owns the tests of the man in the middle, on real sockets: what goes through, what is cut, what is swallowed,
// and what works again afterwards.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { Proxy } from "../../../ops/drill/proxy.ts";
import { until } from "../../support/until.ts";

/** A server that gives back what it gets, and how many connections it has had and has. */
async function echo(t: TestContext): Promise<{ readonly port: number; readonly had: () => number; readonly has: () => number }> {
  const sockets = new Set<Socket>();
  let had = 0;
  const server = createServer((socket) => {
    had += 1;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", (piece) => socket.write(piece));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, had: () => had, has: () => sockets.size };
}

class Client {
  readonly socket: Socket;
  heard = "";
  error: string | null = null;
  closed = false;

  constructor(t: TestContext, port: number) {
    this.socket = connect({ host: "127.0.0.1", port });
    this.socket.setEncoding("utf8").on("data", (text: string) => (this.heard += text));
    this.socket.on("error", (error: NodeJS.ErrnoException) => (this.error = error.code ?? "")).on("close", () => (this.closed = true));
    t.after(() => this.socket.destroy());
  }

  async says(text: string): Promise<void> {
    const before = this.heard;
    this.socket.write(text);
    await until(`the server gives back ${text}`, () => this.heard === before + text);
  }
}

async function setUp(t: TestContext): Promise<{ readonly proxy: Proxy; readonly server: Awaited<ReturnType<typeof echo>>; readonly client: () => Client }> {
  const server = await echo(t);
  const proxy = await Proxy.open({ host: "127.0.0.1", port: server.port });
  t.after(() => proxy.close());
  return { proxy, server, client: () => new Client(t, proxy.port) };
}

test("open: bytes go through both ways, and an end on either side is the other's", async (t) => {
  const { server, client } = await setUp(t);
  const one = client();
  await one.says("first ");
  await one.says("second");
  one.socket.end();
  await until("both sides are closed", () => one.closed && server.has() === 0);
  assert.equal(one.error, null);
});

test("cut: what is connected is reset on both sides, whoever comes is reset, and healed it is as before, at the same port", async (t) => {
  const { proxy, server, client } = await setUp(t);
  const one = client();
  await one.says("before");
  proxy.passage = "cut";
  await until("both sides are closed", () => one.closed && server.has() === 0);
  assert.equal(one.error, "ECONNRESET");
  const two = client();
  await until("it is closed", () => two.closed);
  assert.equal(two.error, "ECONNRESET");
  assert.equal(server.had(), 1, "nobody got through");
  proxy.passage = "open";
  await client().says("after");
});

test("swallow: connections stay, new ones are accepted, and nothing gets through either way", async (t) => {
  const { proxy, server, client } = await setUp(t);
  const one = client();
  await one.says("before");
  proxy.passage = "swallow";
  one.socket.write("lost");
  const two = client();
  await once(two.socket, "connect");
  two.socket.write("lost too");
  // What would have come by now: another connection of the same server answers.
  const beside = new Client(t, server.port);
  await beside.says("beside");
  await beside.says(" once more");
  assert.deepEqual([one.heard, two.heard, one.closed, two.closed, one.error, two.error], ["before", "", false, false, null, null]);
  assert.equal(server.had(), 2, "only the first and the one beside");
});

test("healed after swallowing: new connections work, those that lived through it stay deaf, and giving one up ends it at the server too", async (t) => {
  const { proxy, server, client } = await setUp(t);
  const [one, two] = [client(), client()];
  await one.says("before");
  proxy.passage = "swallow";
  proxy.passage = "open";
  const three = client();
  await three.says("after");
  one.socket.write("still lost");
  await three.says(" and after");
  assert.deepEqual([one.heard, one.closed], ["before", false]);
  const had = server.has();
  one.socket.destroy();
  two.socket.destroy();
  await until("the server lets them go", () => server.has() < had);
});
