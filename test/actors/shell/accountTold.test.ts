// Owns the cases of what is told of an account: when its session comes and goes, and what its broker says of its money.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toldSession } from "../../../actors/shell/accountTold.ts";
import { Counter } from "../../../actors/shell/counter.ts";
import { Ownership } from "../../../actors/shell/ownership.ts";
import type { AccountStateEvent, OwnerEvent } from "../../../protocol/accountState.ts";
import { accountId, epoch } from "../../../protocol/ids.ts";
import type { BrokerSession, SessionEvent } from "../../../protocol/ports/broker.ts";
import type { AccountSnapshot, Funds } from "../../../protocol/trades.ts";
import type { BrokerMs, Cents } from "../../../protocol/units.ts";
import { elapsed } from "../../sim/cell.ts";
import { scenario } from "../../sim/scenario.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";

const ACCOUNT = accountId("f1");
const money = (balance: number): Funds => ({ balance: balance as Cents, equity: balance as Cents, currency: "USD" });
const snapshot = (funds: Funds | null, synced = true): AccountSnapshot => ({ account: ACCOUNT, takenAtMs: 0 as BrokerMs, synced, positions: [], pendings: [], closed: [], removed: [], ...(funds === null ? {} : { funds }) });

function telling() {
  const clock = new FakeScheduler(1);
  const ownership = new Ownership(ACCOUNT, { slot: 0, epoch: epoch(3) });
  const told: AccountStateEvent[] = [];
  const heard: SessionEvent["kind"][] = [];
  let answer = snapshot(null);
  let isFull = false;
  let onEvent: (event: SessionEvent) => void = () => undefined;
  const bare: Partial<BrokerSession> = { account: ACCOUNT, platform: "mt4", open: (listener) => void (onEvent = listener), snapshot: () => Promise.resolve(answer), close: () => Promise.resolve() };
  const publish = (event: OwnerEvent): boolean => {
    if (!isFull && event.kind === "account") told.push(event);
    return !isFull;
  };
  const session = toldSession(bare as BrokerSession, { ownership, events: { publish }, numbers: new Counter(), clock });
  session.open((event) => void heard.push(event.kind));
  return {
    clock, ownership, told, heard, session,
    say: (event: SessionEvent) => onEvent(event),
    full: (is: boolean) => void (isFull = is),
    async look(of: AccountSnapshot) {
      answer = of;
      assert.equal(await session.snapshot(0 as BrokerMs), of);
    },
    short: () => told.map(({ epoch: at, n, state }) => [at, n, state.connected, state.funds?.balance ?? null, state.lastError]),
  };
}

test("a session that comes and goes is told at once, with the broker's reason, and the actor hears everything too", () => {
  const run = telling();
  run.say({ kind: "connected", snapshot: snapshot(money(100)) });
  run.say({ kind: "disconnected", detail: "kicked" });
  run.ownership.raise(epoch(4));
  run.say({ kind: "connected", snapshot: snapshot(money(100)) });
  run.say({ kind: "refused", detail: "wrong password" });
  assert.deepEqual(run.short(), [[3, 1, true, 100, null], [3, 2, false, 100, "kicked"], [4, 3, true, 100, "kicked"], [4, 4, false, 100, "wrong password"]]);
  assert.deepEqual(run.heard, ["connected", "disconnected", "connected", "refused"]);
});

test("money is told as snapshots show it, at most every few seconds, and what a loading broker shows is not believed", async () => {
  const run = telling();
  run.say({ kind: "connected", snapshot: snapshot(money(100)) });
  await run.look(snapshot(money(200)));
  assert.equal(run.told.length, 1, "too soon");
  await run.clock.advance(5_000);
  await run.look(snapshot(money(0), false));
  await run.look(snapshot(null));
  assert.equal(run.told.length, 1);
  await run.look(snapshot(money(300)));
  await run.clock.advance(5_000);
  await run.look(snapshot(money(300)));
  assert.deepEqual(run.short().slice(1), [[3, 2, true, 300, null]]);
});

test("what has not changed is told again once in a while", async () => {
  const run = telling();
  run.say({ kind: "connected", snapshot: snapshot(money(100)) });
  await run.clock.advance(600_000);
  await run.look(snapshot(money(100)));
  await run.look(snapshot(money(100)));
  assert.equal(run.told.length, 2);
});

test("what found no room is told with the next change; the end of a session is the last word", async () => {
  const run = telling();
  run.full(true);
  run.say({ kind: "connected", snapshot: snapshot(money(100)) });
  run.full(false);
  await run.look(snapshot(money(100)));
  await run.session.close();
  assert.deepEqual(run.short().map(([, , connected]) => connected), [true, false]);
});

scenario("the overview shows how followers and masters stand; a node that gave its accounts back in order has said that it has no session any more", {}, async (scene) => {
  const { clock, node, outside } = scene;
  const states = async (): Promise<unknown> => (await elapsed(clock, outside.storage.overview.accounts({ limit: 10, after: null }))).map(({ role, state }) => [role, state?.connected]);
  await clock.advance(2_000);
  assert.deepEqual(await states(), [["follower", true], ["master", true]]);
  await elapsed(clock, node.keeper.drain());
  await clock.advance(2_000);
  assert.deepEqual(await states(), [["follower", false], ["master", false]]);
});
