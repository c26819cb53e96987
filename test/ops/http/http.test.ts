// Owns the tests of a node's HTTP: who may ask, what is answered, and what becomes of nonsense.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tokenOf } from "../../../ops/http/token.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { Overview } from "../../../protocol/ports/overview.ts";
import { asked, doorThat, followers, ME, pairOf, rawAnswer, READY, TOKEN } from "./httpFixture.ts";

const OPEN = ["/healthz", "/readyz", "/metrics"];
const CLOSED = ["/owner/f0", "/uptime", "/followers/f0/events", "/followers/f0/positions/1/close", "/accounts", "/links", "/nodes", "/held", "/pairs", "/nothing", "/", "/healthz/x", "//healthz"];

describe("the token", () => {
  test("health, readiness and metrics need none, all else does, also what does not exist", async (t) => {
    const { get } = await asked(t);
    for (const path of OPEN) assert.equal((await get(path, {})).status, 200, path);
    for (const path of CLOSED) {
      const { status, body, headers } = await get(path, {});
      assert.deepEqual([status, body, headers.get("www-authenticate")], [401, { error: "unauthorized", expected: "Authorization: Bearer TOKEN" }, "Bearer"], path);
    }
  });

  test("one that is not it is refused on every route, whatever it looks like", async (t) => {
    const { get } = await asked(t);
    const wrong = ["", "Bearer", "Bearer ", `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Bearer ${TOKEN.toUpperCase()}`, `Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN} ${TOKEN}`, `Bearer ${"x".repeat(2_000)}`];
    for (const authorization of wrong) for (const path of CLOSED) assert.equal((await get(path, { authorization })).status, 401, `${path} ${authorization.slice(0, 40)}`);
    for (const path of CLOSED) if (!path.endsWith("/close")) assert.equal((await get(path, { authorization: `Bearer ${TOKEN}` }, "POST")).status, 404, path);
    for (const path of CLOSED) assert.equal((await get(path, {}, "POST")).status, 401, path);
  });

  test("the comparison knows it from anything of any length", () => {
    const token = tokenOf(TOKEN, "test");
    assert.equal(token.matches(TOKEN), true);
    for (const other of ["", "x", `${TOKEN} `, TOKEN.slice(0, -1), "ä".repeat(1_000)]) assert.equal(token.matches(other), false);
  });
});

describe("readiness", () => {
  const cases = [
    ["while it starts", { state: () => null }, ["starting"]],
    ["while fenced", { state: () => ({ ...READY, fenced: true, leaseLeftMs: 0 }) }, ["fenced: this node cannot prove its lease"]],
    ["when the log is silent", { state: () => ({ ...READY, logOk: false, logSilentMs: 31_200 }) }, ["log: silent for 31 s"]],
    ["when the log was never heard", { state: () => ({ ...READY, logOk: false, logSilentMs: null }) }, ["log: silent for ever"]],
    ["when rows wait for the database", { state: () => ({ ...READY, rowsWaitingMs: 16_000 }) }, ["writer: rows have been waiting for 16 s"]],
    ["when events of a newer release wait", { state: () => ({ ...READY, blockedPartitions: [2, 5] }) }, ["writer: partitions 2, 5 hold events of a newer release"]],
    ["when the database does not answer", { askDatabase: () => Promise.reject(new Error("gone")) }, ["database: it does not answer"]],
    ["while it drains", { isDraining: () => true }, ["draining: it was told to stop"]],
  ] as const;
  for (const [name, change, reasons] of cases) {
    test(`503 ${name}; the process lives all the same`, async (t) => {
      const { get } = await asked(t, change);
      const { status, body } = await get("/readyz", {});
      assert.deepEqual([status, body], [503, { ready: false, reasons }]);
      assert.deepEqual((await get("/healthz", {})).body, { status: "ok", ...ME });
    });
  }

  test("however often it is asked, the database is asked once a second", async (t) => {
    let asks = 0;
    const { get } = await asked(t, { askDatabase: async () => ++asks, clock: { wallMs: () => 0, monotonicMs: () => 5, after: () => ({ cancel: () => undefined }), soon: () => undefined } });
    await Promise.all(Array.from({ length: 20 }, () => get("/readyz", {})));
    assert.equal(asks, 1);
  });
});

describe("who owns what", () => {
  test("an account's owner, while its lease lives", async (t) => {
    const { get, storage } = await asked(t);
    assert.deepEqual((await get("/owner/f0")).body, { account: "f0", ...ME, epoch: 1, address: "127.0.0.1:9520" });
    assert.deepEqual([(await get("/owner/nobody")).status, (await get("/owner/..%2f..")).status], [404, 400]);
    await storage.registry.leave(ME);
    assert.equal((await get("/owner/f0")).status, 404);
  });

  test("row 45: of this node's own accounts none while the gate is closed for them, though its row still lives, or nobody can read it", async (t) => {
    const { get } = await asked(t, { door: () => doorThat("fenced") });
    assert.equal((await get("/owner/f0")).status, 404);
    const items = (await get("/accounts")).body["items"] as { owner: { live: boolean } }[];
    assert.deepEqual(items.map(({ owner }) => owner.live), [false, false, false]);
    const owner = (): Promise<never> => Promise.reject(new LockstepError("database_busy", "gone"));
    const cut = await asked(t, { door: () => doorThat("fenced"), overview: { owner } as Partial<Overview> as Overview });
    assert.equal((await cut.get("/owner/f0")).status, 404);
    const starting = await asked(t, { door: () => null });
    assert.equal((await starting.get("/owner/f0")).status, 404);
  });

  test("what a process holds by its own word, whatever the rows say", async (t) => {
    const held = { account: accountId("f9"), role: "follower", epoch: 7 as Epoch, actor: "settled" } as const;
    const { get } = await asked(t, { state: () => ({ ...READY, accounts: [held] }) });
    assert.deepEqual((await get("/held")).body, { ...ME, fenced: false, items: [held] });
    const starting = await asked(t, { state: () => null });
    assert.deepEqual((await starting.get("/held")).body, { ...ME, fenced: true, items: [] });
  });

  test("accounts show the reference of their credentials and nothing behind it", async (t) => {
    const { get } = await asked(t, {}, 1);
    const { body } = await get("/accounts");
    assert.deepEqual(body["items"], [
      { ...followers(1)[0], epoch: 1, projectedEpoch: 0, parked: null, state: null, owner: { ...ME, live: true, address: "127.0.0.1:9520" } },
      { id: "m", role: "master", platform: "mt4", broker: "127.0.0.1:1", login: 1, credentialsRef: "env:LOCKSTEP_SECRET_M", enabled: true, epoch: 1, projectedEpoch: 0, parked: null, state: null, owner: { ...ME, live: true, address: "127.0.0.1:9520" } },
    ]);
  });

  test("pages are bounded and lead from one to the next", async (t) => {
    const { get } = await asked(t, {}, 230);
    const seen: unknown[] = [];
    let path = "/links";
    for (;;) {
      const { body } = await get(path);
      const { items, next } = body as { items: { id: string }[]; next: string | null };
      assert.ok(items.length <= 100);
      seen.push(...items.map(({ id }) => id));
      if (next === null) break;
      path = `/links?after=${encodeURIComponent(next)}`;
    }
    assert.deepEqual(seen, followers(230).map(({ id }) => `m-${id}`).sort());
    assert.equal(((await get("/links?limit=1000")).body["items"] as unknown[]).length, 230);
  });

  test("pairs by follower, link and status; the skipped ones with their reason", async (t) => {
    const { get, storage } = await asked(t);
    await storage.pairs.write([pairOf("f0", 1, "Open", 1), pairOf("f0", 2, "Skipped", 2), pairOf("f1", 1, "Open", 1)]);
    const keys = async (query: string): Promise<string[]> => ((await get(`/pairs${query}`)).body["items"] as { pair: { link: string; masterTicket: number } }[]).map(({ pair }) => `${pair.link}/${pair.masterTicket}`);
    assert.deepEqual(await keys(""), ["m-f0/1", "m-f0/2", "m-f1/1"]);
    assert.deepEqual(await keys("?follower=f0&status=Skipped"), ["m-f0/2"]);
    assert.deepEqual(await keys("?link=m-f1"), ["m-f1/1"]);
    const { body } = await get("/pairs?limit=2");
    assert.equal(body["next"], "m-f0/2/1");
    assert.deepEqual(await keys("?limit=2&after=m-f0/2/1"), ["m-f1/1"]);
  });
});

describe("nonsense", () => {
  const bad: readonly string[] = [
    "/accounts?limit=0", "/accounts?limit=1001", "/accounts?limit=-1", "/accounts?limit=1e2", "/accounts?limit=", "/accounts?limit=1&limit=2", "/accounts?after=", "/accounts?after='%20OR%201=1",
    "/accounts?limt=3", "/uptime?hours=0", "/uptime?hours=169", "/uptime?hours=1.5", "/uptime?node=..", "/uptime?days=1", "/followers/f0/events?x=1", "/followers/..%2f/events", "/nodes?x=1", "/held?x=1", "/owner/f0?x=1", "/links?after=%00", "/pairs?status=open", "/pairs?follower=..", "/pairs?link=a/b", "/pairs?after=x", "/pairs?after=a/1/2/3",
    "/pairs?after=a/99999999999999999/1", "/pairs?after=a/1/9999999999", "/pairs?after=a/-1/1", "/pairs?__proto__=1", "/pairs?constructor=1",
  ];
  test("a parameter that cannot be is refused and says what was expected", async (t) => {
    const { get } = await asked(t);
    for (const path of bad) {
      const { status, body } = await get(path);
      assert.equal(status, 400, `${path} ${JSON.stringify(body)}`);
      assert.deepEqual(Object.keys(body), ["error", "expected"]);
    }
  });

  test("what is no request is answered or dropped, and the server lives", async (t) => {
    const { get, address } = await asked(t);
    const raw = ["GARBAGE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(20_000)}\r\n\r\n`, "GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n", `GET /${"a".repeat(7_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, "POST /accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", "\0\0\0\0"];
    for (const bytes of raw) assert.doesNotMatch(await rawAnswer(address, bytes), /^HTTP\/1\.1 (?:2|5)/, bytes.slice(0, 30));
    assert.equal((await get("/healthz", {})).status, 200);
  });

  test("a database that does not answer is 503, a fault of ours 500 that tells nothing", async (t) => {
    const failing = (error: Error): Partial<Overview> => ({ nodes: () => Promise.reject(error), accounts: () => Promise.reject(error) });
    const busy = await asked(t, { overview: failing(new LockstepError("database_busy", "connection refused by db.internal")) as Overview });
    const { status, body, headers } = await busy.get("/nodes");
    assert.deepEqual([status, body["error"], headers.get("retry-after")], [503, "the database does not answer", "1"]);
    const broken = await asked(t, { overview: failing(new TypeError("secret inside")) as Overview });
    const answer = await broken.get("/accounts");
    assert.deepEqual([answer.status, answer.body["error"]], [500, "internal error"]);
    assert.doesNotMatch(JSON.stringify(answer.body), /secret/);
    assert.match(JSON.stringify(broken.logger.lines), /secret inside/);
  });

  test("an address that is taken is a configuration fault", async (t) => {
    const { address } = await asked(t);
    const port = Number(address.split(":")[1]);
    await assert.rejects(asked(t, { port }), (error: unknown) => error instanceof LockstepError && error.code === "configuration" && error.message.includes(`HTTP cannot listen on 127.0.0.1:${port}`));
  });
});
