// Owns the cases in which an account is confirmed after a fence: its actor goes on at a new epoch, and what
// happened before keeps the old one.

import assert from "node:assert/strict";
import { BOOK, decode, decodeOwnerEvent } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import type { Epoch } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { AppendResult, OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import type { Directory, Identity, Registry } from "../../../protocol/ports/storage.ts";
import { topicName, type Topic } from "../../../protocol/topics.ts";
import { CELL, MASTER } from "../../sim/cell.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

/** Past the deadline of any lease: whoever asks the gate next trips it. */
const A_JUMP_MS = 120_000;
const LONG_MS = 600_000;

const epochOf = (scene: Scene): number => scene.node.follower(scene.link.follower).epoch;

/** Values of the log, oldest first. */
function said(scene: Scene, topic: Topic): Uint8Array[] {
  const partitions = scene.outside.log.store.partitionsOf(topicName(CELL, topic));
  return partitions.flatMap((partition) => partition.read(partition.start, Infinity, Infinity)).flatMap(({ value }) => value ?? []);
}

const factsOf = (scene: Scene): PairEvent[] => said(scene, "pair-events").map(decodeOwnerEvent).filter((event) => event.kind !== "account");

/** `pair 1/3 Open`, `adopted 2/5`. */
const shown = (event: PairEvent): string => `${event.kind} ${event.epoch}/${event.n}${event.kind === "pair" ? ` ${event.pair.status}` : ""}`;

/** Until the gate is open again; who asks it first after the jump trips it. */
async function lifted(scene: Scene): Promise<void> {
  scene.node.gate.check({ slot: 0, epoch: epochOf(scene) as Epoch });
  assert.equal(scene.node.gate.lifted, false);
  await scene.clock.until(() => scene.node.gate.lifted, LONG_MS);
}

scenario("the wall clock steps and a close is dropped at the gate: after the lift it is closed, at the new epoch, on the session that is there", {}, async (scene) => {
  const trade = scene.open(0.1);
  await scene.rest();
  const [before, sessions] = [epochOf(scene), scene.node.allSessions.length];
  scene.master.close(trade.ticket, "manual");
  await scene.clock.until(() => scene.node.journal.of("said").some(({ kind }) => kind === "closed"));
  scene.node.clock.wallOffsetMs += A_JUMP_MS;
  await scene.clock.until(() => !scene.node.gate.lifted);
  await lifted(scene);
  await scene.rest();
  assert.deepEqual([scene.node.metrics.of("orders_dropped"), scene.node.journal.of("dropped").length], [1, 1], "one counter, one line");
  assert.equal(scene.copyOf(trade.ticket), null);
  assert.equal((await scene.row(trade.ticket))?.reason, "master_closed");
  assert.ok(epochOf(scene) > before);
  assert.equal(scene.node.allSessions.length, sessions);
  assert.deepEqual(scene.follower.callEpochs, [before, epochOf(scene)]);
});

scenario("every account reconciles after a lift, and a trade that the master made meanwhile is copied late", {}, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  scene.node.clock.wallOffsetMs += A_JUMP_MS;
  const during = scene.open(0.2);
  await lifted(scene);
  await scene.rest();
  assert.ok(scene.copyOf(during.ticket) !== null);
  assert.ok(scene.node.journal.of("plan").some(({ cause }) => cause === "lease_restored"));
  assert.ok(scene.node.metrics.of("ticks_fenced") > 0, "the master's own tick was not said while nothing was proven");
});

scenario("facts of before a lift keep their epoch and are in the log before the marker of the new one; what is told later has the new one", {}, async (scene) => {
  const first = scene.open(0.1);
  await scene.rest();
  const before = epochOf(scene);
  scene.node.clock.wallOffsetMs += A_JUMP_MS;
  await lifted(scene);
  scene.master.close(first.ticket, "manual");
  await scene.rest();
  const facts = factsOf(scene);
  const marker = facts.findIndex(({ kind, epoch }) => kind === "adopted" && epoch === epochOf(scene));
  assert.ok(marker > 0);
  assert.ok(facts.every(({ epoch }, index) => (index < marker ? epoch === before : epoch === epochOf(scene))), facts.map(shown).join(", "));
  assert.deepEqual(scene.node.journal.of("marker").map(({ first: isFirst }) => isFirst), [true, false]);
});

{
  const log = { down: false, taken: [] as PairEvent[] };
  const wrapProducer = (producer: Producer): Producer => ({
    append(record: OutgoingRecord, onSettled): AppendResult {
      const fact = record.topic.endsWith("pair-events") && record.value !== null ? decodeOwnerEvent(record.value) : null;
      if (fact?.kind === "pair" && log.down) {
        onSettled?.(new LockstepError("unreachable", "lost on the way"));
        return "accepted";
      }
      if (fact !== null && fact.kind !== "account") log.taken.push(fact);
      return producer.append(record, onSettled);
    },
    flush: () => producer.flush(),
    close: () => producer.close(),
  });
  scenario("facts outlive a fence while the log loses them: they come before the marker of the next epoch, and become rows", { wrapProducer, seeds: 30 }, async (scene) => {
    Object.assign(log, { down: false, taken: [] });
    await scene.rest();
    const before = epochOf(scene);
    log.down = true;
    const trades = [scene.open(0.1), scene.open(0.2)];
    await scene.clock.advance(scene.clock.random.next() * 60);
    scene.node.clock.wallOffsetMs += A_JUMP_MS;
    await lifted(scene);
    await scene.clock.advance(5_000);
    assert.ok(epochOf(scene) > before);
    log.down = false;
    await scene.rest();
    const marker = log.taken.findIndex(({ kind, epoch }) => kind === "adopted" && epoch > before);
    assert.ok(marker >= 0);
    assert.ok(log.taken.slice(marker).every(({ epoch }) => epoch > before), log.taken.map(shown).join(", "));
    for (const { ticket } of trades) assert.equal((await scene.row(ticket))?.status, "Open");
  });
}

scenario("row 48: an answer that comes after the lift to an order of before is told under the epoch in force then", {}, async (scene) => {
  scene.session.mute = true;
  scene.session.faultOf = () => ({ kind: "unknown", executeAfterMs: 10 });
  const trade = scene.open(0.1);
  await scene.clock.until(() => scene.session.inFlight === 1);
  const before = epochOf(scene);
  scene.session.faultOf = () => null;
  scene.node.clock.wallOffsetMs += A_JUMP_MS;
  await lifted(scene);
  await scene.clock.until(() => epochOf(scene) > before);
  assert.equal(scene.session.inFlight, 1, "its answer is still awaited");
  await scene.rest();
  assert.deepEqual(scene.asked("open").length, 1, "it is not sent again");
  const pairs = factsOf(scene).flatMap((event) => (event.kind === "pair" && event.pair.masterTicket === trade.ticket ? [[event.pair.status, event.epoch]] : []));
  assert.deepEqual(pairs, [["Sending", before], ["Open", epochOf(scene)]]);
});

scenario("a master goes on at its new epoch with a book, and the books of its own lower epochs are taken away", {}, async (scene) => {
  scene.open(0.1);
  await scene.rest();
  for (let round = 0; round < 3; round++) {
    scene.node.clock.wallOffsetMs += A_JUMP_MS;
    scene.open(0.1);
    await lifted(scene);
    await scene.rest();
  }
  const epochs = said(scene, "master-books").map((value) => decode(BOOK, value)).map(({ epoch }) => epoch);
  const newest = Math.max(...epochs);
  assert.ok(newest > 3);
  assert.equal(scene.follower.positions.size, scene.master.positions.size, "every follower follows the new epoch");
  const keys = new Map(scene.outside.log.store.partitionsOf(topicName(CELL, "master-books")).flatMap((partition) => partition.read(partition.start, Infinity, Infinity)).map(({ key, value }) => [key, value]));
  assert.deepEqual([...keys].filter(([, value]) => value !== null).map(([key]) => key), [`${MASTER}/${newest}`]);
});

{
  const cut = new Set<string>();
  const wrapRegistry = (registry: Registry): Registry => {
    const reached = <T>(me: Identity, ask: () => Promise<T>): Promise<T> => (cut.has(me.node) ? Promise.reject(new LockstepError("database_busy", "cut off")) : ask());
    return {
      ...registry,
      renew: (me, terms) => reached(me, () => registry.renew(me, terms)),
      claim: (me, terms) => reached(me, () => registry.claim(me, terms)),
      take: (me, accounts, terms) => reached(me, () => registry.take(me, accounts, terms)),
    };
  };
  scenario("row 41: an idle account that another took meanwhile is noticed at the lift: its actor ends, is not made again, and sends nothing", { wrapRegistry, seeds: 5 }, async (scene) => {
    cut.clear();
    const trade = scene.open(0.1);
    await scene.rest();
    const { node: first, link } = scene;
    const session = first.session(link.follower);
    cut.add("node1");
    const second = await scene.join("node2");
    await scene.clock.until(() => second.supervisor.followers.some(({ connected }) => connected), LONG_MS);
    assert.equal(first.supervisor.followers.length, 1, "it does not know yet");
    const its = () => first.allSessions.filter(({ account }) => account === link.follower);
    // Its actor fails while it is fenced: it may be made anew, but not after the account is known to be lost.
    session.spec = () => {
      throw new Error("broken by script");
    };
    scene.master.modify(trade.ticket, 109_000 as never, null);
    cut.clear();
    await scene.clock.until(() => first.supervisor.followers.length === 0 && first.gate.lifted, LONG_MS);
    const [made, calls] = [its().length, its().flatMap(({ handed }) => handed).length];
    scene.master.modify(trade.ticket, 108_000 as never, null);
    await scene.clock.advance(120_000);
    assert.equal(first.supervisor.followers.length, 0);
    assert.deepEqual([its().length, its().flatMap(({ handed }) => handed).length, its().some(({ connected }) => connected)], [made, calls, false]);
    assert.equal(scene.copyOf(trade.ticket)?.stopLoss, 108_000, "the new owner goes on");
  });
  scenario("row 44: accounts for which nothing was ever traded or sent, and nothing is: those that another took meanwhile are noticed at the lift, by the lists alone", { wrapRegistry, followers: [{}, {}], seeds: 5 }, async (scene) => {
    cut.clear();
    await scene.rest();
    const { node: first } = scene;
    cut.add("node1");
    const second = await scene.join("node2");
    await scene.clock.until(() => second.supervisor.followers.filter(({ connected }) => connected).length === 2, LONG_MS);
    assert.equal(first.supervisor.followers.length, 2, "it does not know yet");
    const former = [...first.allSessions];
    cut.clear();
    await scene.clock.until(() => first.gate.lifted && first.supervisor.followers.length === 0, LONG_MS);
    await scene.clock.until(() => !former.some(({ connected }) => connected), LONG_MS);
    assert.deepEqual(scene.outside.followers.map(({ asked }) => asked.length), [0, 0], "nobody sent an order");
  });
}

{
  const parks: number[] = [];
  const wrapDirectory = (directory: Directory): Directory => ({
    ...directory,
    park: (account, epoch, reason) => {
      parks.push(epoch);
      return directory.park(account, epoch, reason);
    },
  });
  scenario("what an owner concludes of its account counts only at the epoch in force: the one before a lift parks nothing", { wrapDirectory, seeds: 3 }, async (scene) => {
    parks.length = 0;
    await scene.rest();
    const before = epochOf(scene);
    scene.node.clock.wallOffsetMs += A_JUMP_MS;
    await lifted(scene);
    await scene.clock.until(() => epochOf(scene) > before);
    const after = epochOf(scene);
    const account = scene.outside.accounts.get(scene.link.follower) ?? assert.fail("no such account");
    const old = scene.outside.storage.directory.park(account, before as Epoch, "too late");
    scene.follower.refusesLogins = "wrong password";
    scene.session.disconnect();
    await scene.clock.until(() => scene.node.supervisor.followers.length === 0, 30_000);
    assert.deepEqual([await old, parks], [false, [after]]);
    scene.follower.refusesLogins = null;
  });
}
