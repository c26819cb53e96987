// Owns the cases of call channels whose executor fails by itself, which it never should: nothing waits for ever, and nothing stays busy.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CallChannels, type CallMaker } from "../../../actors/drivers/callChannels.ts";
import { DEFAULT_SESSION_LIMITS } from "../../../actors/drivers/sessionLimits.ts";
import type { CallOutcome, OpenOutcome } from "../../../actors/executor/callOutcome.ts";
import { CallSocket } from "../../../actors/executor/callSocket.ts";
import type { Handed } from "../../../actors/executor/executor.ts";
import type { Account } from "../../../protocol/accounts.ts";
import { accountId } from "../../../protocol/ids.ts";

const ACCOUNT: Account = { id: accountId("a"), role: "follower", platform: "mt4", broker: "127.0.0.1:1", login: 1, credentialsRef: "env:NONE", enabled: true };
const PARALLELISM = 2;

const failing = <T>(): Handed<T> => ({ outcome: Promise.reject<T>(new Error("by script")), cancel: () => undefined });
const settled = <T>(outcome: T): Handed<T> => ({ outcome: Promise.resolve(outcome), cancel: () => undefined });

/** Logins of `call` are answered, each by the id that it was asked with: the first is 1. */
function channels(t: { after(fn: () => void): void }, executor: Partial<CallMaker>): CallChannels {
  const made: CallSocket[] = [];
  t.after(() => made.forEach((socket) => socket.end()));
  let id = 0;
  const maker: CallMaker = {
    open: () => {
      const socket = new CallSocket("IPv4", 1_000);
      made.push(socket);
      return settled<OpenOutcome>({ kind: "open", socket });
    },
    call: () => settled<CallOutcome>({ kind: "answered", message: { t: "welcome", id: ++id, account: ACCOUNT.id, platform: "mt4", brokerMs: 1, symbols: [], quotes: [] }, callMadeAtMs: 1 }),
    ...executor,
  };
  const one = new CallChannels({ account: ACCOUNT, password: "", executor: maker, limits: DEFAULT_SESSION_LIMITS, parallelism: PARALLELISM, onLoginRefused: assert.fail });
  one.start({ ip: "127.0.0.1", family: "IPv4", port: 1 });
  return one;
}

describe("an executor that fails by itself", () => {
  for (const [what, open] of [
    ["rejects", () => failing<OpenOutcome>()],
    ["throws", () => { throw new Error("by script"); }],
  ] as const) {
    test(`that ${what} while a channel is opened: none was acquired, and the next may be`, async (t) => {
      const one = channels(t, { open });
      for (let n = 0; n <= PARALLELISM; n++) assert.deepEqual(await one.acquire(), { kind: "failed", detail: "no call channel: by script" });
    });
  }

  test("at the login of a channel: none was acquired, and its socket is ended", async (t) => {
    const sockets: CallSocket[] = [];
    const open = (): Handed<OpenOutcome> => {
      const socket = new CallSocket("IPv4", 1_000);
      sockets.push(socket);
      return settled<OpenOutcome>({ kind: "open", socket });
    };
    const one = channels(t, { open, call: () => failing<CallOutcome>() });
    for (let n = 0; n <= PARALLELISM; n++) assert.equal((await one.acquire()).kind, "failed");
    assert.ok(sockets.length > PARALLELISM && sockets.every(({ ended }) => ended));
  });

  test("at an order: what became of it is unknown, and its channel is not used again", async (t) => {
    let isLoggedIn = false;
    const one = channels(t, {
      call: () => {
        if (isLoggedIn) return failing<CallOutcome>();
        isLoggedIn = true;
        return settled<CallOutcome>({ kind: "answered", message: { t: "welcome", id: 1, account: ACCOUNT.id, platform: "mt4", brokerMs: 1, symbols: [], quotes: [] }, callMadeAtMs: 1 });
      },
    });
    const acquired = await one.acquire();
    assert.ok(acquired.kind === "acquired");
    assert.deepEqual(await one.call(acquired.channel, { t: "ping" }, null, 1_000), { kind: "unknown", detail: "a call that failed by itself: by script", callMadeAtMs: null });
    assert.ok(acquired.channel.socket.ended);
  });
});
