// Owns the tests of what is asked of one follower over HTTP: closes and event streams, on a whole node with a real broker server.

import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { test, type TestContext } from "node:test";
import { FAST } from "../../../actors/core/leaseProfile.ts";
import { FollowerFeed } from "../../../actors/shell/followerFeed.ts";
import { systemClock } from "../../../ops/clock.ts";
import { startHttp } from "../../../ops/http/server.ts";
import { tokenOf } from "../../../ops/http/token.ts";
import { DEFAULT_NODE_LIMITS } from "../../../ops/nodeLimits.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { bootId, nodeId, type Epoch, type Magic, type Ticket } from "../../../protocol/ids.ts";
import type { Order } from "../../../protocol/orders.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import { until } from "../../support/until.ts";
import { MT4_ACCOUNT, MT5_ACCOUNT, openOrder, SUFFIXED } from "../broker/market.ts";
import { wholeNode } from "../wholeNode.ts";
import { asked, doorThat, followers, TOKEN } from "./httpFixture.ts";

const authorization = `Bearer ${TOKEN}`;
/** Fenced two seconds after the database was cut off. */
const LEASE = { ...FAST, ttlMs: 3_000, marginMs: 1_000, renewMs: 200, retryMs: 100, queryTimeoutMs: 400, claimPollMs: 100 };

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly retryAfter: string | undefined;
  /** Of the client's socket. */
  readonly port: number | undefined;
}

/** Over one connection that is kept alive. */
function keptAlive(t: TestContext, address: string): (method: string, path: string) => Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  return (method, path) =>
    new Promise((resolve, reject) => {
      const asking = request(`http://${address}${path}`, { method, agent, headers: { authorization } }, (response) => {
        let text = "";
        const port = response.socket.localPort;
        response.setEncoding("utf8").on("data", (more: string) => (text += more));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown>, retryAfter: response.headers["retry-after"], port }));
      });
      asking.on("error", reject).end();
    });
}

interface Stream {
  /** The names of its events, in order. */
  readonly events: string[];
  readonly text: () => string;
  readonly isOver: () => boolean;
}

async function streamOf(t: TestContext, address: string, follower: string): Promise<Stream> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const response = await fetch(`http://${address}/followers/${follower}/events`, { headers: { authorization }, signal: stop.signal });
  assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
  assert.ok(response.body !== null);
  let text = "";
  let isOver = false;
  const events: string[] = [];
  const reading = response.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    for (;;) {
      const { done, value } = await reading.next();
      if (done === true) break;
      text += value;
      events.splice(0, events.length, ...[...text.matchAll(/^event: (.+)$/gm)].map(([, name]) => name ?? ""));
    }
    isOver = true;
  };
  void read().catch(() => (isOver = true));
  return { events, text: () => text, isOver: () => isOver };
}

/** A whole node with HTTP, its database and its follower's broker in the hands of the test. */
async function served(t: TestContext, name: string) {
  const hand = { isCut: false, hold: null as Promise<void> | null, sent: [] as Order[] };
  const whole = await wholeNode(t, name, (storage) => ({
    limits: { ...DEFAULT_NODE_LIMITS, lease: LEASE, session: { ...DEFAULT_NODE_LIMITS.session, brokerTimeoutMs: 900, reconnectMinMs: 20, reconnectMaxMs: 100 } },
    registry: { ...storage.registry, renew: (who, terms) => (hand.isCut ? Promise.reject(new LockstepError("database_busy", "cut off")) : storage.registry.renew(who, terms)) },
    wrapSession: (session) => {
      const execute = session.execute.bind(session);
      session.execute = async (order, permit) => {
        if (order.kind !== "close") return execute(order, permit);
        hand.sent.push(order);
        await hand.hold;
        return execute(order, permit);
      };
      return session;
    },
  }));
  const { storage, node, logger } = whole;
  const http = await startHttp({
    host: "127.0.0.1", port: 0, token: tokenOf(TOKEN, "test"), me: { node: nodeId("n1"), boot: bootId("b1") }, state: () => node.state(), isDraining: () => false, door: () => node.door, overview: storage.overview,
    uptime: storage.uptime, askDatabase: () => storage.directory.version(), page: async () => ({ contentType: "text/plain", text: "" }), clock: systemClock, logger,
  });
  t.after(() => http.close());
  await until("both are served", () => [MT4_ACCOUNT, MT5_ACCOUNT].every((id) => whole.stateOf(id) === "settled"));
  return { ...whole, hand, address: http.address, ask: keptAlive(t, http.address) };
}

type Served = Awaited<ReturnType<typeof served>>;

/** The rows, read again and again until one is so. */
async function rowThat(storage: Served["storage"], text: string, isSo: (pair: Pair) => boolean): Promise<Pair> {
  let found: Pair | undefined;
  let isAsked = false;
  await until(text, () => {
    if (!isAsked) {
      isAsked = true;
      void storage.pairs.rowsOf(MT4_ACCOUNT).then((rows) => {
        found = rows.find(({ pair }) => isSo(pair))?.pair;
        isAsked = false;
      });
    }
    return found !== undefined;
  });
  assert.ok(found !== undefined);
  return found;
}

async function copied({ broker, storage }: Served): Promise<Ticket> {
  broker.server.trader(MT5_ACCOUNT).open(openOrder({ symbol: SUFFIXED, magic: 0 as Magic, comment: "" }));
  const { followerTicket } = await rowThat(storage, "the copy is open", (pair) => pair.status === "Open" && pair.followerTicket !== null);
  assert.ok(followerTicket !== null);
  return followerTicket;
}

const closing = (ticket: number): string => `/followers/${MT4_ACCOUNT}/positions/${ticket}/close`;

test("a copy is closed, the row says on whose word, and a repeat finds it closed", async (t) => {
  const node = await served(t, "close");
  const stream = await streamOf(t, node.address, MT4_ACCOUNT);
  const ticket = await copied(node);
  const both = await Promise.all([fetch(`http://${node.address}${closing(ticket)}`, { method: "POST", headers: { authorization } }).then((answer) => answer.json() as Promise<{ outcome: string }>), node.ask("POST", closing(ticket))]);
  assert.deepEqual([both[0].outcome, both[1].status, both[1].body["outcome"], both[1].body["ticket"]], ["done", 200, "done", ticket]);
  assert.equal((await rowThat(node.storage, "the row has ended", (pair) => pair.status === "Closed")).reason, "closed_on_request");
  const again = await node.ask("POST", closing(ticket));
  assert.deepEqual([again.status, again.body["outcome"], again.body["reason"]], [200, "already_closed", "closed_on_request"]);
  assert.equal(node.hand.sent.length, 1);
  await until("the stream has told it", () => stream.events.includes("asked") && stream.text().includes("closed_on_request"));
  assert.equal(stream.events[0], "open");
});

test("what is no copy is 404 and says why; what is no ticket 400", async (t) => {
  const { ask, address } = await served(t, "strangers");
  const unknown = await ask("POST", closing(99_999));
  assert.deepEqual([unknown.status, unknown.body["error"]], [404, "no copy of ours has this ticket"]);
  for (const path of [closing(-1), closing(1.5), closing(1e17), `${closing(1)}?x=1`]) assert.equal((await ask("POST", path)).status, 400, path);
  assert.equal((await ask("POST", "/followers/nobody/positions/1/close")).status, 404);
  assert.equal((await fetch(`http://${address}/followers/nobody/events`, { headers: { authorization } })).status, 404);
});

test("a client that leaves neither cancels nor hides the outcome", async (t) => {
  const node = await served(t, "leaver");
  const ticket = await copied(node);
  let release = (): void => undefined;
  node.hand.hold = new Promise((resolve) => (release = resolve));
  const gone = new AbortController();
  const asking = fetch(`http://${node.address}${closing(ticket)}`, { method: "POST", headers: { authorization }, signal: gone.signal });
  await until("the order is handed over", () => node.hand.sent.length === 1);
  gone.abort();
  await assert.rejects(asking);
  release();
  assert.equal((await rowThat(node.storage, "the row has ended", (pair) => pair.status === "Closed")).reason, "closed_on_request");
  const told = (): unknown[] => node.logger.lines.filter(({ fields }) => JSON.stringify(fields).includes(`"event":"asked"`));
  await until("its outcome is logged", () => told().length === 1);
  assert.match(JSON.stringify(told()), /"outcome":"done"/);
});

test("row 45: at a trip streams end at once, also those that have heard of no trade; each request is gated again; after the lift all works", async (t) => {
  const node = await served(t, "fence");
  const { ask, hand, address, stateOf } = node;
  const before = await ask("GET", `/owner/${MT4_ACCOUNT}`);
  assert.equal(before.status, 200);
  const stream = await streamOf(t, address, MT4_ACCOUNT);
  hand.isCut = true;
  await until("the node is fenced", () => node.node.state().fenced);
  await until("the stream has ended", () => stream.isOver());
  assert.deepEqual(stream.events, ["open", "end"]);
  assert.match(stream.text(), /"why":"lease lost; retry"/);
  const lines = node.logger.lines.map((line) => JSON.stringify(line));
  const since = lines.slice(lines.findIndex((line) => line.includes('"event":"fenced"')));
  const between = since.slice(0, since.findIndex((line) => line.includes("event stream ended")));
  assert.equal(between.some((line) => line.includes('"event":"renew_failed"')), false, "in the turn of the trip, not at a later look");

  const close = await ask("POST", closing(1));
  assert.deepEqual([close.status, close.body["error"], close.retryAfter], [503, "lease lost; retry", "1"]);
  const owner = await ask("GET", `/owner/${MT4_ACCOUNT}`);
  assert.equal(owner.status, 404);
  const refused = await ask("GET", `/followers/${MT4_ACCOUNT}/events`);
  assert.deepEqual([refused.status, refused.body["error"], refused.retryAfter], [503, "lease lost; retry", "1"]);
  assert.deepEqual(new Set([before, close, owner, refused].map(({ port }) => port)).size, 1, "one connection, kept alive");

  hand.isCut = false;
  await until("it is served again", () => !node.node.state().fenced && stateOf(MT4_ACCOUNT) === "settled");
  const second = await streamOf(t, address, MT4_ACCOUNT);
  const ticket = await copied(node);
  await until("the stream tells of the trade", () => second.events.includes("pair"));
  assert.deepEqual([(await ask("GET", `/owner/${MT4_ACCOUNT}`)).status, (await ask("POST", closing(ticket))).body["outcome"]], [200, "done"]);
});

test("a stream ends with the follower's stay, and says so", async (t) => {
  const node = await served(t, "stay");
  const stream = await streamOf(t, node.address, MT4_ACCOUNT);
  await node.storage.directory.apply({ ...node.wanted, accounts: node.wanted.accounts.map((account) => (account.id === MT4_ACCOUNT ? { ...account, enabled: false } : account)) }, { dryRun: false });
  await until("the stream has ended", () => stream.isOver());
  assert.match(stream.text(), /event: end\ndata: \{"why":"the follower has left this node"\}/);
  assert.equal((await node.ask("POST", closing(1))).status, 404);
});

test("a follower of another node is named with it, also by a fenced one that never had it", async (t) => {
  const other = { node: nodeId("node-2"), boot: bootId("boot-2") };
  const { get } = await asked(t, { me: other, door: () => doorThat("elsewhere") });
  for (const [path, method] of [["/followers/f0/positions/1/close", "POST"], ["/followers/f0/events", "GET"]] as const) {
    const { status, body } = await get(path, undefined, method);
    assert.deepEqual([status, body["error"], body["node"], body["address"]], [404, "the follower is at another node", "node-1", "127.0.0.1:9520"], path);
  }
});

test("a client that does not read is dropped with a reason and keeps nobody", async (t) => {
  const feed = new FollowerFeed({ note: () => undefined }, systemClock);
  const [follower] = followers(1);
  assert.ok(follower !== undefined);
  const door = { ...doorThat("open"), listen: feed.listen.bind(feed), leave: feed.leave.bind(feed) };
  const { address, logger } = await asked(t, { door: () => door });
  const [host = "", port = ""] = address.split(":");
  const deaf = connect(Number(port), host).on("error", () => undefined);
  t.after(() => deaf.destroy());
  deaf.pause().write(`GET /followers/${follower.id}/events HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  await until("it listens", () => feed.listening === 1);
  const prompt = await streamOf(t, address, follower.id);
  const subject = { account: follower.id, epoch: 1 as Epoch };
  let told = 0;
  await until("it is dropped", () => {
    for (let index = 0; index < 20; index++, told++) feed.note(subject, "pair", { told, text: "x".repeat(10_000) });
    return feed.listening < 2;
  });
  assert.match(JSON.stringify(logger.lines), /too slow: this client does not read/);
  await until("the other has heard all", () => prompt.text().includes(`"told":${told - 1}`));
  assert.equal(feed.listening, 1);
});

test("how a node did is read from the database, in spans", async (t) => {
  const { get, storage } = await asked(t);
  const nowMs = await storage.uptime.record(nodeId("node-1"), []);
  const minute = (ago: number): number => Math.floor(nowMs / 60_000) * 60_000 - ago * 60_000;
  const states = [[1, "ok"], [2, "ok"], [3, "degraded: no account lease"], [7, "ok"]] as const;
  await storage.uptime.record(nodeId("node-1"), states.map(([ago, state]) => ({ minuteMs: minute(ago), state })));
  const { body } = await get("/uptime?hours=1");
  const span = (state: string, from: number, until: number): object => ({ state, from: new Date(minute(from)).toISOString(), until: new Date(minute(until)).toISOString(), minutes: from - until });
  assert.deepEqual(body, { node: "node-1", hours: 1, minutes: { ok: 3, degraded: 1 }, items: [span("ok", 2, 0), span("degraded: no account lease", 3, 2), span("ok", 7, 6)] });
  assert.deepEqual((await get("/uptime?node=other")).body["items"], []);
});
