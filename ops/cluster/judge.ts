// Owns what a look at the cluster amounts to: who owns what, what is wrong, and whether all is at rest.
//
// 1. An account has the owner that its row names, if that one's lease is live and it says itself that it
//    holds the account at the row's epoch, unfenced. Anything less is nobody.
// 2. Two nodes that both say they hold an account, unfenced, are two owners, whatever its row says.
// 3. The writers are all running nodes and nobody else, and each partition is one's.

import type { CellId } from "../../protocol/ids.ts";
import type { Violation } from "../demo/check/checkDemo.ts";
import { clientIdOf, type Look } from "./look.ts";

export interface NodeShare {
  readonly node: string;
  readonly accounts: readonly string[];
  readonly writerPartitions: readonly number[];
}

export interface Ownership {
  /** Of the nodes that run and were not told to end. */
  readonly nodes: readonly NodeShare[];
  readonly doubleOwned: readonly string[];
  readonly unowned: readonly string[];
  /** Acquisitions beyond the first of each account. */
  readonly moves: number;
  readonly lag: { readonly writers: number };
}

export function ownershipOf(look: Look, cell: CellId): Ownership {
  const running = look.words.filter(({ state }) => state === "open" || state === "fenced" || state === "starting");
  const holders = holdersOf(look);
  const owned = new Map<string, string>();
  for (const { id, owner, epoch } of look.accounts) {
    const holder = owner?.live === true ? holders.get(id)?.find(({ node }) => node === owner.node) : undefined;
    if (holder?.epoch === epoch) owned.set(id, holder.node); // 1
  }
  const enabled = look.accounts.filter((account) => account.enabled).map(({ id }) => id);
  return {
    nodes: running.map(({ node }) => ({
      node,
      accounts: enabled.filter((id) => owned.get(id) === node),
      writerPartitions: look.writers.members.filter(({ clientId }) => clientId === clientIdOf(cell, node)).flatMap(({ partitions }) => partitions),
    })),
    doubleOwned: enabled.filter((id) => (holders.get(id)?.length ?? 0) > 1), // 2
    unowned: enabled.filter((id) => !owned.has(id)),
    moves: look.accounts.reduce((sum, { epoch }) => sum + Math.max(0, epoch - 1), 0),
    lag: { writers: look.writers.lag },
  };
}

function holdersOf({ words }: Look): ReadonlyMap<string, readonly { readonly node: string; readonly epoch: number }[]> {
  const holders = new Map<string, { readonly node: string; readonly epoch: number }[]>();
  for (const { node, state, held } of words) {
    if (state === "fenced") continue;
    for (const { account, epoch } of held ?? []) holders.set(account, [...(holders.get(account) ?? []), { node, epoch }]);
  }
  return holders;
}

/** One line for each thing that should not be so when all is at rest. */
export function endViolations(look: Look, cell: CellId): Violation[] {
  const { nodes, doubleOwned, unowned, lag } = ownershipOf(look, cell);
  const { members, state, partitions } = look.writers;
  const violation = (rule: string, detail: string, follower: string | null = null): Violation => ({ rule, follower, detail });
  const holders = holdersOf(look);
  const expected = new Set(nodes.map(({ node }) => clientIdOf(cell, node)));
  const taken = members.flatMap((member) => member.partitions);
  return [
    ...doubleOwned.map((id) => violation("double-owned", `${(holders.get(id) ?? []).map(({ node }) => node).join(" and ")} both hold it`, id)),
    ...unowned.map((id) => violation("unowned", whyUnowned(look, id), id)),
    ...nodes.filter(({ node }) => look.words.some((word) => word.node === node && word.state !== "open")).map(({ node }) => violation("node-not-open", `node ${node} is ${look.words.find((word) => word.node === node)?.state ?? "gone"}`)),
    ...(state === "Stable" ? [] : [violation("writers-group", `Kafka says that the writers' group is ${state}`)]),
    ...[...expected].filter((clientId) => !members.some((member) => member.clientId === clientId)).map((clientId) => violation("writers-group", `${JSON.stringify(clientId)} is no member of the writers' group`)),
    ...members.filter(({ clientId }) => !expected.has(clientId)).map(({ clientId }) => violation("writers-group", `${JSON.stringify(clientId)} is a member of the writers' group, and no running node`)),
    ...(taken.length === partitions && new Set(taken).size === partitions ? [] : [violation("writers-group", `its members have ${taken.length} partitions, ${new Set(taken).size} different ones, of ${partitions}`)]), // 3
    ...(lag.writers === 0 ? [] : [violation("writers-lag", `${lag.writers} pair events are not in the database`)]),
  ];
}

function whyUnowned({ accounts, words }: Look, id: string): string {
  const account = accounts.find((each) => each.id === id);
  if (account?.parked !== undefined && account.parked !== null) return `parked: ${account.parked}`;
  const owner = account?.owner ?? null;
  if (owner === null) return "its row names no owner";
  if (!owner.live) return `its row names ${owner.node}, whose lease is over`;
  const word = words.find(({ node }) => node === owner.node);
  const held = word?.held?.find((each) => each.account === id);
  if (held === undefined) return `its row names ${owner.node}, which does not say that it holds it`;
  return word?.state === "fenced" ? `its owner ${owner.node} is fenced` : `its row has epoch ${account?.epoch ?? "none"}, its owner ${owner.node} holds it at ${held.epoch}`;
}

/** Whether every account is owned and its actor settled, and every event a row. */
export function isAtRest(look: Look, cell: CellId): boolean {
  return endViolations(look, cell).length === 0 && look.words.every(({ held }) => (held ?? []).every(({ actor }) => actor === "settled"));
}
