// Owns one look at a running cluster: what the rows say, what each node says of itself, what Kafka says of
// the writers. What it amounts to is judge.ts's.
//
// 1. A node that does not answer has said nothing; the look goes on without it.
// 2. Nothing is asked of Kafka before a node is ready: until then there may be no topics.

import { LockstepError } from "../../protocol/errors.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { AccountView, NodeView, Overview } from "../../protocol/ports/overview.ts";
import { topicName, writersGroup } from "../../protocol/topics.ts";
import type { GroupView } from "../../log/kafka/groupView.ts";
import type { AccountState } from "../../actors/shell/supervisor.ts";
import { totalEvents, totalLag, writerStand } from "../writerLag.ts";
import type { NodeRun } from "./nodeRun.ts";

/** One of our processes, by its own word. */
export interface NodeWord {
  readonly node: string;
  readonly state: "starting" | "fenced" | "open" | "ending" | "ended";
  /** Null: it said nothing. */
  readonly held: readonly AccountState[] | null;
}

export interface Look {
  readonly words: readonly NodeWord[];
  /** What the rows say. */
  readonly nodes: readonly NodeView[];
  readonly accounts: readonly AccountView[];
  readonly writers: {
    /** Kafka's word for the group. */
    readonly state: string;
    readonly members: readonly { readonly clientId: string; readonly partitions: readonly number[] }[];
    readonly partitions: number;
    readonly lag: number;
    /** Pair events that were ever said. */
    readonly events: number;
  };
}

export interface LookerOptions {
  readonly cell: CellId;
  readonly overview: Overview;
  readonly log: Pick<EventLog, "bounds" | "committed">;
  readonly groups: Pick<GroupView, "describe">;
  readonly token: string;
  readonly clock: Clock;
}

const ACCOUNTS = 2_000;
const ANSWER_LIMIT_MS = 3_000;

/** As Kafka shows a node: openKafkaLog's caller names it so. */
export const clientIdOf = (cell: CellId, node: string): string => `lockstep ${cell} ${node}`;

/** @throws LockstepError `unreachable`, `database_busy`, `database_fault` */
export async function lookAt({ cell, overview, log, groups, token, clock }: LookerOptions, runs: readonly NodeRun[]): Promise<Look> {
  const isAnyReady = runs.some(({ address }) => address !== null);
  const [words, nodes, accounts, writers] = await Promise.all([
    Promise.all(runs.map((run) => wordOf(run, token, clock))),
    overview.nodes(),
    overview.accounts({ limit: ACCOUNTS, after: null }),
    isAnyReady ? writersOf(cell, log, groups) : NO_WRITERS, // 2
  ]);
  return { words, nodes, accounts, writers };
}

const NO_WRITERS: Look["writers"] = { state: "Dead", members: [], partitions: 0, lag: 0, events: 0 };

async function writersOf(cell: CellId, log: LookerOptions["log"], groups: LookerOptions["groups"]): Promise<Look["writers"]> {
  const topic = topicName(cell, "pair-events");
  const [group, stand] = await Promise.all([groups.describe(writersGroup(cell)), writerStand(log, cell)]);
  return {
    state: group.state,
    members: group.members.map(({ clientId, partitions }) => ({ clientId, partitions: partitions[topic] ?? [] })),
    partitions: stand.length,
    lag: totalLag(stand),
    events: totalEvents(stand),
  };
}

async function wordOf(run: NodeRun, token: string, clock: Clock): Promise<NodeWord> {
  const { name: node, address } = run;
  if (run.exitCode !== null) return { node, state: "ended", held: null };
  if (address === null) return { node, state: run.told ? "ending" : "starting", held: null };
  try {
    const { fenced, items } = JSON.parse(await ask(`http://${address}/held`, token, clock)) as { readonly fenced: boolean; readonly items: readonly AccountState[] };
    return { node, state: run.told ? "ending" : fenced ? "fenced" : "open", held: items };
  } catch {
    return { node, state: run.told ? "ending" : "open", held: null }; // 1
  }
}

/** The body of a successful answer. @throws LockstepError `unreachable` */
export async function ask(url: string, token: string, clock: Clock): Promise<string> {
  const controller = new AbortController();
  const timer = clock.after(ANSWER_LIMIT_MS, () => controller.abort());
  try {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: controller.signal });
    const body = await response.text();
    if (response.status !== 200) throw new LockstepError("unreachable", `${url}: ${response.status} ${body}`);
    return body;
  } finally {
    timer.cancel();
  }
}
