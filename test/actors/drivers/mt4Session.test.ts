// Owns the tests of the MT4-like session: blocking calls, lost answers, the look for a part-close's rest.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { Ticket } from "../../../protocol/ids.ts";
import type { Execution } from "../../../protocol/orders.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import { ScriptedBroker, type AskedOrder } from "../../support/scriptedBroker.ts";
import { until } from "../../support/until.ts";
import { boot, LANES, openGate, PERMIT, type Rig } from "../executor/executorFixture.ts";
import { OPEN, PART_CLOSE, position, startSession, upSession, type SessionChoice, type SessionRig } from "./sessionFixture.ts";

let rig: Rig;
let broker: ScriptedBroker;
const made: SessionRig[] = [];

before(async () => {
  rig = await boot();
});
after(() => rig.executor.stop());
beforeEach(async () => {
  broker = await ScriptedBroker.start("mt4");
  openGate(rig.gate);
  rig.gate.setEpoch(PERMIT.slot, PERMIT.epoch);
});
afterEach(async () => {
  for (const { session } of made.splice(0)) await session.close();
  await broker.close();
});

const up = async (choice?: SessionChoice): Promise<SessionRig["session"]> => {
  const session = await upSession(broker, rig, choice);
  made.push(session);
  return session.session;
};
const done = (execution: Execution) => (execution.kind === "answered" && execution.answer.kind === "done" ? execution.answer : assert.fail(JSON.stringify(execution)));
const cause = (execution: Execution): string => (execution.kind === "dropped" ? execution.cause : assert.fail(JSON.stringify(execution)));

describe("call channels", () => {
  test("one is warmed at connect, and serves one order after the other", async () => {
    const session = await up();
    for (let n = 0; n < 3; n++) done(await session.execute(OPEN, PERMIT));
    assert.equal(broker.peers.filter((peer) => peer.channel === "call").length, 1);
  });

  test("one that is warmed waits for its turn at the broker; an order that comes first opens one at once", async () => {
    const turns = [0, 3_600_000];
    const paced = startSession(broker, rig, { pacer: { reserve: () => turns.shift() ?? null } });
    made.push(paced);
    await until("it is connected", () => paced.kinds().length === 1);
    assert.deepEqual([turns, broker.on("call")], [[], []]);
    done(await paced.session.execute(OPEN, PERMIT));
    assert.equal(broker.on("call").length, 1);
  });

  test("none is warmed when too many logins wait at the broker, and that is said", async () => {
    const turns = [0];
    const paced = startSession(broker, rig, { pacer: { reserve: () => turns.shift() ?? null } });
    made.push(paced);
    await until("it is said", () => paced.log.lines.some(({ text, fields }) => text === "no call channel ahead of the first order" && JSON.stringify(fields).includes("too many logins wait")));
    done(await paced.session.execute(OPEN, PERMIT));
  });

  test("one whose turn comes while an order opened its own is not opened", async () => {
    const turns = [0, 50];
    broker.onOrder = () => undefined;
    const paced = startSession(broker, rig, { limits: { brokerTimeoutMs: 150 }, pacer: { reserve: () => turns.shift() ?? null } });
    made.push(paced);
    await until("it is connected", () => paced.kinds().length === 1);
    await paced.session.execute(OPEN, PERMIT);
    assert.equal(broker.peers.filter((peer) => peer.channel === "call").length, 1);
  });

  test("an account that is only listened to opens none, and takes no order", async () => {
    const listener = startSession(broker, rig, { parallelism: 0 });
    made.push(listener);
    await until("it is connected", () => listener.kinds().length === 1);
    assert.equal(cause(await listener.session.execute(OPEN, PERMIT)), "queue_full");
    assert.deepEqual(broker.on("call"), []);
    assert.deepEqual(listener.log.lines, []);
  });

  test("are opened on demand up to the parallelism, and kept; one call more is answered queue_full", async () => {
    const asked: AskedOrder[] = [];
    broker.onOrder = (order) => asked.push(order);
    const session = await up({ parallelism: 2 });
    const calls = [session.execute(OPEN, PERMIT), session.execute(OPEN, PERMIT)];
    await until("both are made", () => asked.length === 2);
    assert.equal(cause(await session.execute(OPEN, PERMIT)), "queue_full");
    asked.forEach((order) => broker.done(order));
    (await Promise.all(calls)).forEach(done);
    broker.onOrder = (order) => broker.done(order);
    done(await session.execute(OPEN, PERMIT));
    assert.equal(broker.on("call").length, 2);
  });

  test("one that the broker closed while it was idle is not written to", async () => {
    const session = await up();
    broker.on("call")[0]!.cut();
    await until("it is gone", () => broker.on("call").length === 0);
    done(await session.execute(OPEN, PERMIT));
    assert.equal(broker.orders.length, 1);
  });

  test("a login that is refused on the call channel means not delivered", async () => {
    const session = await up();
    broker.on("call")[0]!.cut();
    await until("it is gone", () => broker.on("call").length === 0);
    broker.password = "changed";
    const execution = await session.execute(OPEN, PERMIT);
    assert.equal(execution.kind === "answered" && execution.answer.kind, "not_delivered");
    assert.deepEqual(made.at(-1)?.kinds(), ["connected", "disconnected", "refused"], "it is not tried again on any channel");
  });

  test("a call that was made outlives its session, since its answer is a fact; its socket is not kept", async () => {
    const asked: AskedOrder[] = [];
    broker.onOrder = (order) => asked.push(order);
    const session = await up();
    const call = session.execute(OPEN, PERMIT);
    await until("it is made", () => asked.length === 1);
    broker.on("session")[0]!.cut();
    await until("the session is down", () => made[0]!.kinds().includes("disconnected"));
    broker.done(asked[0]!);
    done(await call);
    await until("its socket is closed", () => asked[0]!.peer.ended);
  });

  test("a call that waits for a lane is dropped at once when the session closes", async () => {
    const asked: AskedOrder[] = [];
    broker.onOrder = (order) => asked.push(order);
    const session = await up({ parallelism: LANES + 1 });
    const calls = Array.from({ length: LANES }, () => session.execute(OPEN, PERMIT));
    await until("all lanes are taken", () => asked.length === LANES);
    const waiting = session.execute(OPEN, PERMIT);
    await until("one waits", () => rig.executor.counts().waiting === 1);
    await session.close();
    assert.equal(cause(await waiting), "stopped");
    assert.ok((await Promise.all(calls)).every((execution) => execution.kind === "answered" && execution.answer.kind === "unknown"));
  });
});

describe("after a part-close, which names no new ticket", () => {
  const rest = position(61, "from #50");

  test("the rest is found in the changes, when they come before the answer", async () => {
    broker.onOrder = (order) => {
      broker.push({ t: "change", change: { kind: "position_opened", brokerMs: broker.nowMs, position: rest } });
      setTimeout(() => broker.result(order, { volume: 1 as VolumeUnits }), 20);
    };
    assert.equal(done(await (await up()).execute(PART_CLOSE, PERMIT)).ticket, 61);
  });

  test("the rest is found in a snapshot, when no change came", async () => {
    const session = await up();
    broker.snapshot = { ...broker.snapshot, positions: [position(60, "from #5"), rest, position(62, "from #501")] };
    broker.onOrder = (order) => broker.result(order, {});
    assert.equal(done(await session.execute(PART_CLOSE, PERMIT)).ticket, 61);
  });

  test("the ticket is null when the rest is found nowhere, and when nobody can be asked", async () => {
    const session = await up({ limits: { requestTimeoutMs: 1_000 } });
    broker.onOrder = (order) => broker.result(order, { ticket: 50 as Ticket });
    assert.equal(done(await session.execute(PART_CLOSE, PERMIT)).ticket, null);
    broker.onSnapshot = (_id, peer) => peer.cut();
    assert.equal(done(await session.execute(PART_CLOSE, PERMIT)).ticket, null);
  });

  test("nobody looks again when it was refused", async () => {
    const session = await up();
    let snapshots = 0;
    broker.onSnapshot = () => snapshots++;
    broker.onOrder = (order) => broker.result(order, { code: 138 });
    await session.execute(PART_CLOSE, PERMIT);
    assert.equal(snapshots, 0);
  });
});

test("with every lane hung on MT4-like accounts, an MT5-like one trades on: it needs no lane", async () => {
  const asked: AskedOrder[] = [];
  broker.onOrder = (order) => asked.push(order);
  const session = await up();
  const calls = Array.from({ length: LANES }, () => session.execute(OPEN, PERMIT));
  await until("all lanes are taken", () => asked.length === LANES);
  const other = await ScriptedBroker.start("mt5");
  const mt5 = await upSession(other, rig);
  done(await mt5.session.execute(OPEN, PERMIT));
  assert.equal(rig.executor.counts().inFlight, LANES);
  await mt5.session.close();
  await other.close();
  asked.forEach((order) => broker.done(order));
  await Promise.all(calls);
});
