// Owns which drills there are: what is struck, when it is healed, who comes back, and what must hold. The engine
// is one for all of them.
//
// 1. What a drill promises is in its row; nothing else knows its name.

import type { Expectations } from "./record.ts";

/** What is done. */
export type Strike =
  /** The parent is told to end, and does in order. */
  | "stop"
  /** The node's own process is killed; its parent reaps it. */
  | "kill_child"
  /** Parent and child at once, as with their machine. */
  | "kill_host"
  /** Parent and child get the stop signal. */
  | "freeze"
  /** The node's main thread is busy with something else; its executor, its parent and the kernel go on. */
  | "busy_loop"
  /** Parent and child stand still again and again, ever longer, with a breath between. */
  | "starve"
  | "cut_database"
  /** Bytes are swallowed, nothing is reset. */
  | "mute_database"
  | "cut_kafka"
  | "restart_brokers"
  | "restart_kafka"
  /** Followers are switched off and on again, so that all nodes claim them at once. */
  | "contend";

export type Whom =
  /** Whoever has most followers; another one each round. */
  | "one"
  | "all"
  /** Whoever has the first master. */
  | "owner_of_master"
  /** What is struck is no node. */
  | "none";

export type Heal =
  | "never"
  /** Some seconds after others have taken everything over. */
  | "adopted"
  /** So long after the fault. */
  | { readonly afterMs: number }
  /** The lease's ttl and so long after it. */
  | { readonly leaseAndMs: number };

/** When a node of the same name is started again; null: never. */
export type ComesBack = "before_adoption" | "after_adoption" | null;

export interface Round {
  readonly strike: Strike;
  readonly whom: Whom;
  readonly heal: Heal;
  readonly comesBack: ComesBack;
  readonly expects: Expectations;
}

export interface Drill {
  readonly what: string;
  readonly nodes: number;
  /** Accounts are there before the nodes: whoever starts claims at once. */
  readonly accountsFirst: boolean;
  /** The drill needs a Kafka of its own, since it strikes it. */
  readonly ownKafka: boolean;
  /** Masters trade much faster around the heal. */
  readonly burst: boolean;
  readonly rounds: readonly Round[];
  /** How often the rounds are gone through, unless the caller says otherwise. */
  readonly repeated: number;
}

const NOTHING: Expectations = { accounts: "any", copiesUntilDeadline: false, silentFrom: null, gap: false, longestGapMs: null, lostOldestMs: null };
const MOVES: Expectations = { ...NOTHING, accounts: "move", gap: true };
const STAYS: Expectations = { ...NOTHING, accounts: "stay", gap: true };
/** What a kill may cost: what was under way to the log at that moment. */
const KILLED: Expectations = { ...MOVES, silentFrom: "fault", lostOldestMs: 50 };
/** Who is told to end may finish what it has begun, until it gives the account back: what comes then is nobody's any more. */
const STOPPED: Expectations = { ...MOVES, lostOldestMs: 0 };
/** Whatever the ttl and however long a node takes to give back: near two seconds with the claim poll, and what a busy machine adds. */
const QUICK_MS = 3_500;

const round = (strike: Strike, whom: Whom, more: Partial<Round>): Round => ({ strike, whom, heal: "never", comesBack: null, expects: MOVES, ...more });
const drill = (what: string, more: Partial<Drill> & Pick<Drill, "rounds">): Drill => ({ what, nodes: 3, accountsFirst: false, ownKafka: false, burst: false, repeated: 1, ...more });

export const DRILLS = {
  "clean-stop": drill("a node is told to end, and gives everything back", {
    rounds: [round("stop", "one", { expects: { ...STOPPED, longestGapMs: QUICK_MS } })],
  }),
  "process-kill": drill("a node's process is killed; its parent ends the lease", {
    rounds: [round("kill_child", "one", { expects: { ...KILLED, longestGapMs: QUICK_MS } })],
  }),
  "host-kill": drill("a node's machine dies: parent and child at once, so that its lease has to run out", {
    rounds: [round("kill_host", "one", { expects: KILLED })],
  }),
  restart: drill("a node dies and comes back under its name as another boot, before and after others took its accounts", {
    rounds: [round("kill_host", "one", { comesBack: "before_adoption", expects: { ...KILLED, accounts: "any" } }), round("kill_host", "one", { comesBack: "after_adoption", expects: KILLED })],
  }),
  "cut-db": drill("a node is cut off from PostgreSQL, connections reset and refused, and healed after others took over", {
    rounds: [round("cut_database", "one", { heal: "adopted", expects: { ...MOVES, copiesUntilDeadline: true } })],
  }),
  "cut-db-half-open": drill("as cut-db, but what goes to PostgreSQL is swallowed without a reset", {
    rounds: [round("mute_database", "one", { heal: "adopted", expects: { ...MOVES, copiesUntilDeadline: true } })],
  }),
  "db-down": drill("PostgreSQL is away from all nodes for longer than the lease", {
    rounds: [round("cut_database", "all", { heal: { leaseAndMs: 5_000 }, expects: { ...STAYS, copiesUntilDeadline: true } })],
  }),
  freeze: drill("a node stands still for longer than its lease and then goes on, while masters trade in bursts", {
    burst: true,
    repeated: 20,
    rounds: [round("freeze", "one", { heal: { leaseAndMs: 10_000 }, expects: { ...MOVES, silentFrom: "heal" } })],
  }),
  "freeze-all": drill("all nodes stand still for longer than their leases", {
    burst: true,
    rounds: [round("freeze", "all", { heal: { leaseAndMs: 10_000 }, expects: { ...STAYS, silentFrom: "heal" } })],
  }),
  "busy-loop": drill("a node's main thread is busy for longer than its lease and then goes on, while masters trade in bursts", {
    burst: true,
    rounds: [round("busy_loop", "one", { heal: { leaseAndMs: 10_000 }, expects: { ...MOVES, silentFrom: "heal" } })],
  }),
  starved: drill("a node gets next to no processor, for longer and longer, until its lease is over", {
    burst: true,
    rounds: [round("starve", "one", { heal: { leaseAndMs: 0 }, expects: { ...NOTHING, accounts: "move" } })],
  }),
  "session-cut": drill("all broker servers restart", {
    rounds: [round("restart_brokers", "none", { heal: { afterMs: 3_000 }, expects: STAYS })],
  }),
  "cut-kafka": drill("a node is cut off from Kafka while others are not, and ends itself", {
    rounds: [round("cut_kafka", "one", { expects: MOVES })],
  }),
  "kafka-restart": drill("Kafka restarts", {
    ownKafka: true,
    rounds: [round("restart_kafka", "none", { heal: { afterMs: 3_000 }, expects: STAYS })],
  }),
  "master-node-kill": drill("the node that has a master is killed", {
    rounds: [round("kill_child", "owner_of_master", { expects: { ...KILLED, longestGapMs: QUICK_MS } })],
  }),
  race: drill("many nodes start at once and contend for the same accounts for 20 s", {
    nodes: 6,
    accountsFirst: true,
    rounds: [round("contend", "none", { heal: { afterMs: 20_000 }, expects: NOTHING })],
  }),
  "rolling-upgrade": drill("nodes are replaced one by one under their names", {
    repeated: 3,
    rounds: [round("stop", "one", { comesBack: "before_adoption", expects: { ...STOPPED, accounts: "any", longestGapMs: QUICK_MS } })],
  }),
} as const satisfies Readonly<Record<string, Drill>>;

export type DrillName = keyof typeof DRILLS;
export const DRILL_NAMES = Object.keys(DRILLS) as readonly DrillName[];
export const isDrillName = (text: string): text is DrillName => Object.hasOwn(DRILLS, text);
