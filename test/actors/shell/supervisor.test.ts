// Owns the cases of actors that fail, and of accounts that come and go.

import assert from "node:assert/strict";
import { LockstepError } from "../../../protocol/errors.ts";
import type { OwnedAccount, PairRow } from "../../../protocol/ports/storage.ts";
import { MASTER } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

/** The follower's actor fails at whatever it does next, `times` times; each time it is made anew. */
function breaks(scene: Scene, times: number): void {
  let left = times;
  const breakSession = (session: Scene["session"]): void => {
    if (session.account !== scene.link.follower) return;
    const spec = session.spec.bind(session);
    session.spec = (symbol) => {
      if (left-- > 0) throw new Error("broken by script");
      return spec(symbol);
    };
  };
  breakSession(scene.session);
  scene.node.onSession = breakSession;
}

/** Of the follower: slots are given in the order of the accounts' ids. */
const SLOT = 0;

/** The follower's account, at a raised epoch that the gate knows. */
async function takenAgain({ node, link, outside }: Scene): Promise<OwnedAccount> {
  const held = node.keeper.accounts.find(({ account }) => account === link.follower) ?? assert.fail("it is not held");
  const terms = { settleMs: 30_000, timeoutMs: 1_000, expected: { clock: { nowMs: 0, timeline: null }, toleranceMs: Infinity } };
  const [taken] = await outside.storage.registry.take(node.me, [held], terms);
  if (taken === undefined) throw new Error("it was not taken");
  node.gate.setEpoch(SLOT, taken.epoch);
  return taken;
}

scenario("an actor that fails is made anew: it finds its copies again and loses nothing", { seeds: 30 }, async (scene) => {
  const first = scene.open(0.1);
  await scene.clock.until(() => scene.session.handed.length === 1);
  // It fails while an order is in flight.
  breaks(scene, 1);
  const second = scene.open(0.2);
  // What the one that failed may have sent has to settle first.
  await scene.clock.advance(45_000);
  await scene.rest();
  assert.equal(scene.node.metrics.of("actor_restarts"), 1);
  for (const { ticket } of [first, second]) assert.ok(scene.copyOf(ticket) !== null);
  scene.master.close(first.ticket, "manual");
  await scene.rest();
  assert.equal(scene.copyOf(first.ticket), null);
  assert.equal((await scene.row(first.ticket))?.status, "Closed", "rows of the new actor are newer than those of the one that failed");
});

scenario("an actor that keeps failing is given up, and the others go on", { followers: [{}, {}], seeds: 10 }, async (scene) => {
  breaks(scene, 1_000);
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.node.givenUp.length > 0, 120_000);
  assert.deepEqual(scene.node.givenUp, [scene.link.follower]);
  assert.equal(scene.node.metrics.of("actor_restarts"), 6);
  assert.equal(scene.outside.followers[1]?.standing(`mc${trade.ticket}`).length, 1);
});

scenario("failures that are far apart are not failures in a row", { seeds: 3 }, async (scene) => {
  for (let count = 0; count < 10; count++) {
    breaks(scene, 1);
    scene.open(0.1);
    await scene.clock.advance(120_000);
  }
  assert.deepEqual(scene.node.givenUp, []);
  assert.equal(scene.node.metrics.of("actor_restarts"), 10);
});

scenario("a master's actor that is made anew counts its ticks on: the readers go on hearing it", { seeds: 20 }, async (scene) => {
  scene.open(0.1);
  scene.open(0.1);
  await scene.rest();
  const { masterSession } = scene;
  masterSession.brokerNowMs = () => {
    throw new Error("broken by script");
  };
  const trade = scene.open(0.2);
  await scene.clock.until(() => scene.masterSession !== masterSession);
  await scene.clock.advance(2_000);
  await scene.rest();
  assert.ok(scene.copyOf(trade.ticket) !== null);
  const later = scene.open(0.3);
  await scene.clock.until(() => scene.copyOf(later.ticket) !== null, 1_000);
});

{
  const database = { down: false };
  const wrapPairs = (pairs: Scene["outside"]["storage"]["pairs"]) => ({
    ...pairs,
    rowsOf: (follower: Parameters<typeof pairs.rowsOf>[0]): Promise<readonly PairRow[]> => (database.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : pairs.rowsOf(follower)),
  });
  scenario("a database that is down when an actor is made is waited for, and is no failure of the actor", { wrapPairs, seeds: 5 }, async (scene) => {
    database.down = false;
    breaks(scene, 1);
    scene.open(0.1);
    database.down = true;
    await scene.clock.advance(55_000);
    assert.deepEqual([scene.node.givenUp, scene.node.metrics.of("actor_restarts")], [[], 1]);
    database.down = false;
    await scene.clock.advance(5_000);
    await scene.rest();
  });
}

scenario("row 41: an account that is lost is traded no more, and its actor ends; taken again, it goes on", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  const { supervisor } = scene.node;
  await Promise.all([supervisor.lose(scene.link.follower), scene.clock.advance(100)]);
  const handed = scene.session.handed.length;
  scene.master.close(trade.ticket, "manual");
  await scene.clock.advance(5_000);
  assert.deepEqual([supervisor.followers.length, scene.session.handed.length], [0, handed]);
  await Promise.all([supervisor.acquire(await takenAgain(scene), SLOT), scene.clock.advance(100)]);
  await scene.rest();
  assert.equal(scene.copyOf(trade.ticket), null);
});

scenario("an account lost while its actor is still being made makes none", { seeds: 5 }, async (scene) => {
  const { supervisor } = scene.node;
  await Promise.all([supervisor.lose(MASTER), scene.clock.advance(100)]);
  const sessions = scene.node.allSessions.length;
  const held = scene.node.keeper.accounts.find(({ account }) => account === scene.link.follower);
  assert.ok(held !== undefined);
  await Promise.all([supervisor.lose(scene.link.follower), scene.clock.advance(100)]);
  void supervisor.acquire({ ...held, settleLeftMs: 30_000 }, 0);
  await Promise.all([supervisor.lose(scene.link.follower), scene.clock.advance(5_000)]);
  assert.equal(supervisor.followers.length, 0);
  assert.ok(scene.node.allSessions.slice(sessions).every((session) => !session.connected));
});

scenario("an account that is lost and comes back while an order of it is under way gets its session when the one before has ended", { seeds: 10 }, async (scene) => {
  const { supervisor, allSessions } = scene.node;
  const first = scene.session;
  first.faultOf = () => ({ kind: "unknown", executeAfterMs: null });
  const trade = scene.open(0.1);
  await scene.clock.until(() => first.inFlight === 1);
  const made = allSessions.length;
  const ended = supervisor.lose(scene.link.follower); // its order keeps it
  void supervisor.acquire({ ...(await takenAgain(scene)), settleLeftMs: 30_000 }, SLOT);
  await scene.clock.until(() => {
    if (first.connected) assert.equal(allSessions.length, made, "a second session of the account");
    return allSessions.length > made;
  });
  await ended;
  scene.session.faultOf = () => null;
  await scene.clock.advance(45_000); // what the first may have sent settles
  await scene.rest();
  assert.equal(allSessions.length - made, 1);
  assert.ok(scene.copyOf(trade.ticket) !== null);
});
