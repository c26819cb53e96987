// Owns the long seeded run: a random history of the master and random faults; then the faults stop, and
// everything must converge. A failure is a seed.

import assert from "node:assert/strict";
import type { Ticket } from "../../../protocol/ids.ts";
import type { OutgoingRecord, Producer } from "../../../protocol/ports/log.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import { masterTicketOfComment, tagComment } from "../../../protocol/tags.ts";
import { MasterHand } from "../../sim/masterHand.ts";
import type { ModelBroker } from "../../sim/modelBroker.ts";
import type { Fault, ModelSession } from "../../sim/modelSession.ts";
import { scenario, type Scene } from "../../sim/scenario.ts";

const STEPS = 40;
/** Of the two followers. */
const FACTORS = [1, 2] as const;

const world = { faults: false, random: () => 1 };

/** Loses some records: a tick or its book, sometimes an event. */
const leaky = (producer: Producer): Producer => ({
  append(record: OutgoingRecord, onSettled) {
    if (!world.faults || world.random() > 0.04) return producer.append(record, onSettled);
    onSettled?.(new LockstepError("unreachable", "lost on the way"));
    return "accepted";
  },
  flush: () => producer.flush(),
  close: () => producer.close(),
});

function faultOf(random: () => number): Fault | null {
  const dice = world.faults ? random() : 1;
  if (dice < 0.04) return { kind: "refuse", refusal: "fresh_price" };
  if (dice < 0.06) return { kind: "refuse", refusal: "wait" };
  if (dice < 0.08) return { kind: "refuse", refusal: "adjust" };
  if (dice < 0.1) return { kind: "unknown", executeAfterMs: 5 };
  if (dice < 0.12) return { kind: "unknown", executeAfterMs: random() * 10_000 };
  if (dice < 0.14) return { kind: "unknown", executeAfterMs: null };
  if (dice < 0.16) return { kind: "not_delivered" };
  if (dice < 0.18) return { kind: "drop", cause: dice < 0.17 ? "gate" : "queue_full" };
  return null;
}

for (const masterPlatform of ["mt4", "mt5"] as const) {
  const followers = FACTORS.map((factor, index) => ({ platform: index === 0 ? ("mt4" as const) : ("mt5" as const), settings: { sizing: { mode: "multiplier" as const, factorMillionths: factor * 1_000_000 } } }));
  scenario(`whatever happens to orders, sessions, the log and the node, a ${masterPlatform} master's trades end up copied once, or skipped with a reason`, { masterPlatform, followers, seeds: 20, wrapProducer: leaky }, async (scene) => {
    const { clock } = scene;
    const random = (): number => clock.random.next();
    const hand = new MasterHand(scene.master, clock.random);
    const byHand = new Map<ModelBroker, Set<Ticket>>(scene.outside.followers.map((broker) => [broker, new Set()]));
    Object.assign(world, { faults: true, random });
    scene.outside.links.forEach(({ follower }) => (scene.node.session(follower).faultOf = () => faultOf(random)));
    for (let step = 0; step < STEPS; step++) {
      hand.act();
      await disturb(scene, hand, random, byHand);
      await clock.advance(random() < 0.5 ? random() * 60 : random() * 3_000);
    }
    world.faults = false;
    await clock.advance(60_000);
    // A pending that the master's quotes filled is filled by the follower's in the end.
    for (const broker of scene.outside.followers) {
      for (const pending of [...broker.pendings.values()]) {
        const masterTicket = masterTicketOfComment(broker.bornAs.get(pending.ticket) ?? "");
        if (masterTicket !== null && scene.master.positions.has(hand.standing().get(masterTicket)?.ticket ?? masterTicket)) broker.fill(pending.ticket);
      }
    }
    await clock.advance(150_000);
    await scene.rest();
    for (const [index, broker] of scene.outside.followers.entries()) {
      const rows = await scene.outside.storage.pairs.rowsOf(broker.options.account);
      assertConverged(hand, broker, rows.map(({ pair }) => pair), FACTORS[index] ?? 1, byHand.get(broker) ?? new Set());
    }
  });
}

async function disturb(scene: Scene, hand: MasterHand, random: () => number, byHand: ReadonlyMap<ModelBroker, Set<Ticket>>): Promise<void> {
  const broker = scene.outside.followers[random() < 0.5 ? 0 : 1];
  if (broker === undefined) return;
  const session: ModelSession = scene.node.session(broker.options.account);
  const dice = random();
  if (dice < 0.05) {
    session.unsyncedSnapshots = Math.floor(random() * 3);
    session.disconnect();
  } else if (dice < 0.08) {
    scene.masterSession.unsyncedSnapshots = Math.floor(random() * 3);
    scene.masterSession.disconnect();
  } else if (dice < 0.11) scene.node.gate.trip();
  else if (dice < 0.13) session.mute = !session.mute;
  else if (dice < 0.15) session.failSnapshots = 2;
  else if (dice < 0.18) {
    const position = [...broker.positions.values()][0];
    if (position === undefined) return;
    const masterTicket = masterTicketOfComment(broker.bornAs.get(position.ticket) ?? "");
    if (masterTicket !== null) byHand.get(broker)?.add(masterTicket);
    broker.close(position.ticket, dice < 0.165 ? "manual" : "stop_loss");
  } else if (dice < 0.2) {
    const pending = [...broker.pendings.values()][0];
    if (pending !== undefined) broker.fill(pending.ticket);
  } else if (dice < 0.22 && scene.nodes.length < 3) {
    // Rows lost with a process before its last step, and orders executed after its successor looked, are not in this run.
    await scene.clock.until(() => scene.node.settled, 300_000);
    await scene.clock.advance(1_000);
    hand.act();
    await scene.clock.advance(random() * 60);
    await scene.node.kill();
    await scene.clock.advance(11_000);
    await scene.boot();
    for (const { follower } of scene.outside.links) scene.node.session(follower).faultOf = () => faultOf(random);
  }
}

function assertConverged(hand: MasterHand, broker: ModelBroker, rows: readonly Pair[], factor: number, byHand: ReadonlySet<Ticket>): void {
  const standing = hand.standing();
  const rowOf = new Map(rows.map((row) => [row.masterTicket, row]));
  assert.equal(rowOf.size, rows.length, "one row for each trade");
  const account = broker.options.account;
  for (const [masterTicket, trade] of standing) {
    const [copy, ...others] = broker.standing(tagComment(masterTicket));
    const row = rowOf.get(masterTicket);
    assert.deepEqual(others, []);
    assert.ok(row !== undefined, `${account}: no row of ${masterTicket}`);
    if (copy === undefined) {
      assert.ok(row.status === "Skipped" || byHand.has(masterTicket), `${account}: ${masterTicket} has no copy and is ${row.status} for ${row.reason}`);
      assert.ok(row.reason !== null && row.reason !== "gone_before_copy" && row.reason !== "master_closed", `${account}: ${masterTicket} has no copy for ${row.reason}`);
      continue;
    }
    assert.deepEqual([row.status, row.followerTicket], ["Open", copy.ticket], `${account}: row of ${masterTicket}`);
    assert.equal(copy.volume, factor * trade.volume, `${account}: volume of ${masterTicket}`);
    if ("kind" in copy !== "kind" in trade) continue; // only one of the two was filled
    assert.deepEqual([copy.stopLoss, copy.takeProfit], [trade.stopLoss, trade.takeProfit], `${account}: stops of ${masterTicket}`);
    if ("kind" in copy && "kind" in trade) assert.equal(copy.price, trade.price);
  }
  const strays = [...broker.positions.values(), ...broker.pendings.values()].filter(({ ticket }) => !standing.has(masterTicketOfComment(broker.bornAs.get(ticket) ?? "") ?? (0 as Ticket)));
  assert.deepEqual(strays, [], `${account}: copies of nothing`);
  for (const row of rows) if (!standing.has(row.masterTicket)) assert.ok(row.status !== "Open" && row.status !== "Sending", `${account}: ${row.masterTicket} is ${row.status} after its end`);
}
