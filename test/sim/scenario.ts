// Owns how a scenario of the shell is run: once for each of some seeds, and checked for safety
// afterwards, whatever it was about.
//
// 1. The model broker's own log is the judge: never two live copies of one trade, and no order was
//    handed over while the gate was closed.
// 2. A node that was stopped leaves no timer behind.
// 3. No broker is called under a lower epoch of an account after a higher one.
// 4. No number is given twice within an epoch: neither of a tick nor of a fact.

import { test } from "node:test";
import assert from "node:assert/strict";
import type { Link } from "../../protocol/accounts.ts";
import { decode, decodeOwnerEvent, TICK } from "../../protocol/codec.ts";
import type { Ticket } from "../../protocol/ids.ts";
import type { Order } from "../../protocol/orders.ts";
import type { Pair } from "../../protocol/pairs.ts";
import { tagComment } from "../../protocol/tags.ts";
import { topicName, type Topic } from "../../protocol/topics.ts";
import type { PendingOrder, Position } from "../../protocol/trades.ts";
import { CELL, EURUSD, lots, MASTER, Node, outside, type CellOptions, type Outside } from "./cell.ts";
import type { Asked, ModelBroker } from "./modelBroker.ts";
import type { ModelSession } from "./modelSession.ts";
import type { FakeScheduler } from "./scheduler.ts";
import { traceOf } from "./trace.ts";

export interface ScenarioOptions extends Omit<CellOptions, "seed"> {
  /** How many seeds; 20 unless said. */
  readonly seeds?: number;
  /** To run one seed again. */
  readonly firstSeed?: number;
  /** The broker carries out what we had given up: two copies may stand for a moment. */
  readonly doublesHappen?: boolean;
}

/** One run: a started node with its first follower at hand. */
export class Scene {
  readonly seed: number;
  readonly options: CellOptions;
  readonly outside: Outside;
  readonly nodes: Node[] = [];
  readonly clock: FakeScheduler;
  readonly master: ModelBroker;
  readonly follower: ModelBroker;
  readonly link: Link;

  constructor(world: Outside, options: CellOptions) {
    const [follower] = world.followers;
    const [link] = world.links;
    if (follower === undefined || link === undefined) throw new Error("a scenario has a follower");
    this.seed = options.seed;
    this.options = options;
    this.outside = world;
    this.clock = world.clock;
    this.master = world.master;
    this.follower = follower;
    this.link = link;
  }

  get node(): Node {
    const node = this.nodes.at(-1);
    if (node === undefined) throw new Error("no node was booted");
    return node;
  }

  /** The follower's session. */
  get session(): ModelSession {
    return this.node.session(this.link.follower);
  }

  get masterSession(): ModelSession {
    return this.node.session(MASTER);
  }

  /** A new boot of the node; the one before must have ended. */
  async boot(): Promise<Node> {
    const node = new Node(this.outside, this.options, `boot${this.nodes.length + 1}`);
    this.nodes.push(node);
    await node.start();
    return node;
  }

  /** Another node beside those that live. */
  async join(name: string): Promise<Node> {
    const node = new Node(this.outside, this.options, `boot${this.nodes.length + 1}`, name);
    this.nodes.push(node);
    await node.start(false);
    return node;
  }

  /** A master's market buy of `volume` lots, unless said otherwise. */
  open(volume = 1, more: Partial<Parameters<ModelBroker["open"]>[0]> = {}): Position {
    return this.master.open({ symbol: EURUSD, side: "buy", volume: lots(volume), ...more });
  }

  /** The one copy of a master's trade that stands at the follower's broker, through all tickets; null when there is none. */
  copyOf(masterTicket: Ticket): Position | PendingOrder | null {
    return this.follower.standing(tagComment(masterTicket))[0] ?? null;
  }

  /** What was asked of the follower's broker, by kind. */
  asked<K extends Order["kind"]>(kind: K): readonly (Asked & { readonly order: Extract<Order, { kind: K }> })[] {
    return this.follower.asked.filter((asked): asked is Asked & { readonly order: Extract<Order, { kind: K }> } => asked.order.kind === kind);
  }

  /** Until nothing is under way, and some time more for what should not happen. */
  async rest(limitMs = 120_000): Promise<void> {
    await this.clock.advance(1_000);
    await this.clock.until(() => this.node.settled, limitMs);
    await this.clock.advance(3_000);
  }

  /** The row of a trade as the database has it. */
  async row(masterTicket: Ticket): Promise<Pair | null> {
    const rows = await this.outside.storage.pairs.rowsOf(this.link.follower);
    return rows.find(({ pair }) => pair.masterTicket === masterTicket)?.pair ?? null;
  }
}

export function scenario(name: string, options: ScenarioOptions, body: (scene: Scene) => Promise<void>): void {
  test(name, async () => {
    const firstSeed = options.firstSeed ?? 1;
    for (let seed = firstSeed; seed < firstSeed + (options.seeds ?? 20); seed++) {
      let nodes: readonly Node[] = [];
      const traced = (scene: Scene): Promise<void> => {
        nodes = scene.nodes;
        return body(scene);
      };
      try {
        await run({ ...options, seed }, traced, options.doublesHappen ?? false);
      } catch (error) {
        const text = `seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${traceOf(nodes)}`;
        if (error instanceof assert.AssertionError) assert.fail(text);
        throw new Error(text, { cause: error });
      }
    }
  });
}

async function run(options: CellOptions, body: (scene: Scene) => Promise<void>, doublesHappen: boolean): Promise<void> {
  const scene = new Scene(await outside(options), options);
  await scene.boot();
  await body(scene);
  for (const node of scene.nodes) if (!node.ended) await node.stop();
  await scene.clock.advance(360_000); // a process that died has timers that no longer do anything
  assert.equal(scene.clock.pending, 0, "timers are left behind"); // 2
  for (const node of scene.nodes) {
    assert.deepEqual(node.crashes, []);
    for (const { handed } of node.allSessions) assert.deepEqual(handed.filter(({ verdict }) => verdict !== "open"), []); // 1
  }
  for (const { callEpochs } of scene.outside.followers) assert.deepEqual(callEpochs, [...callEpochs].sort((a, b) => a - b), "called out of order"); // 3
  assert.deepEqual(repeatedNumbers(scene.outside), []); // 4
  if (!doublesHappen) for (const follower of scene.outside.followers) assert.deepEqual(follower.doubles, []); // 1
}

/** Every version that stands twice in the log, as `account epoch/number`. */
function repeatedNumbers({ log }: Outside): string[] {
  const records = (topic: Topic) => log.store.partitionsOf(topicName(CELL, topic)).flatMap((partition) => partition.read(partition.start, Infinity, Infinity));
  const ticks = records("master-ticks").flatMap(({ value }) => (value === null ? [] : [decode(TICK, value)])).filter(({ body }) => body.kind !== "alive");
  const facts = records("pair-events").flatMap(({ value }) => (value === null ? [] : [decodeOwnerEvent(value)].filter((event) => event.kind !== "account")));
  const versions = [...ticks.map(({ master, epoch, seq }) => `${master} ${epoch}/${seq}`), ...facts.map(({ follower, epoch, n }) => `${follower} ${epoch}/${n}`)];
  const seen = new Set<string>();
  return versions.filter((version) => seen.size === seen.add(version).size);
}
