// Owns the tests of what a look at a cluster amounts to: each thing that may be wrong, planted, is found.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AccountState } from "../../../actors/shell/supervisor.ts";
import { endViolations, isAtRest, ownershipOf } from "../../../ops/cluster/judge.ts";
import { clientIdOf, type Look, type NodeWord } from "../../../ops/cluster/look.ts";
import { lineText, tableText } from "../../../ops/cluster/picture.ts";
import { accountId, bootId, cellId, nodeId, type Epoch } from "../../../protocol/ids.ts";
import type { AccountView } from "../../../protocol/ports/overview.ts";

const CELL = cellId("cell");
const held = (account: string, epoch = 1, actor: AccountState["actor"] = "settled"): AccountState => ({ account: accountId(account), role: account === "m1" ? "master" : "follower", epoch: epoch as Epoch, actor });
const row = (id: string, node: string | null, epoch = 1, more: Partial<AccountView> = {}): AccountView => ({
  id: accountId(id), role: id === "m1" ? "master" : "follower", platform: "mt4", broker: "127.0.0.1:1", login: 1, credentialsRef: "env:X", enabled: true, epoch: epoch as Epoch, projectedEpoch: epoch as Epoch, parked: null, state: null,
  owner: node === null ? null : { node: nodeId(node), boot: bootId("boot"), live: true, address: null }, ...more,
});
const member = (node: string, ...partitions: number[]) => ({ clientId: clientIdOf(CELL, node), partitions });

/** Two nodes at rest: n1 has the master and f1, n2 has f2. */
function look({ words = {}, accounts = [], writers = {} }: { readonly words?: Readonly<Record<string, Partial<NodeWord>>>; readonly accounts?: readonly AccountView[]; readonly writers?: Partial<Look["writers"]> } = {}): Look {
  const said: NodeWord[] = [
    { node: "n1", state: "open", held: [held("m1"), held("f1")], ...words["n1"] },
    { node: "n2", state: "open", held: [held("f2")], ...words["n2"] },
  ];
  const rows = [row("m1", "n1"), row("f1", "n1"), row("f2", "n2")].map((each) => accounts.find(({ id }) => id === each.id) ?? each);
  return { words: said, nodes: [], accounts: rows, writers: { state: "Stable", members: [member("n1", 0, 2), member("n2", 1, 3)], partitions: 4, lag: 0, events: 9, ...writers } };
}

const found = (at: Look): string[] => endViolations(at, CELL).map(({ rule, follower, detail }) => `${rule}${follower === null ? "" : ` ${follower}`}: ${detail}`);

test("at rest: every account is one's, every partition is one's, nothing is wrong", () => {
  const { nodes, doubleOwned, unowned, moves, lag } = ownershipOf(look(), CELL);
  assert.deepEqual(nodes, [{ node: "n1", accounts: ["m1", "f1"], writerPartitions: [0, 2] }, { node: "n2", accounts: ["f2"], writerPartitions: [1, 3] }]);
  assert.deepEqual({ doubleOwned, unowned, moves, lag }, { doubleOwned: [], unowned: [], moves: 0, lag: { writers: 0 } });
  assert.deepEqual(found(look()), []);
  assert.ok(isAtRest(look(), CELL));
});

test("moves are acquisitions beyond the first", () => {
  const moved = look({ accounts: [row("f1", "n1", 4), row("f2", "n2", 2), row("m1", null, 0)] });
  assert.equal(ownershipOf(moved, CELL).moves, 4);
});

describe("found", () => {
  for (const [what, at, lines] of [
    ["two nodes that say they hold an account", look({ words: { n2: { held: [held("f2"), held("f1")] } } }), ["double-owned f1: n1 and n2 both hold it"]],
    ["a row without an owner", look({ accounts: [row("f2", null)] }), ["unowned f2: its row names no owner"]],
    ["an owner whose lease is over", look({ accounts: [row("f2", "n2", 1, { owner: { node: nodeId("n2"), boot: bootId("b"), live: false, address: null } })] }), ["unowned f2: its row names n2, whose lease is over"]],
    ["an owner that does not hold it", look({ words: { n2: { held: [] } } }), ["unowned f2: its row names n2, which does not say that it holds it"]],
    ["an owner that says nothing", look({ words: { n2: { held: null } } }), ["unowned f2: its row names n2, which does not say that it holds it"]],
    ["an owner that holds it at a former epoch", look({ accounts: [row("f2", "n2", 2)] }), ["unowned f2: its row has epoch 2, its owner n2 holds it at 1"]],
    ["a parked account", look({ accounts: [row("f2", null, 1, { parked: "wrong password" })] }), ["unowned f2: parked: wrong password"]],
    ["a fenced node", look({ words: { n2: { state: "fenced" } } }), ["unowned f2: its owner n2 is fenced", "node-not-open: node n2 is fenced"]],
    ["a group that takes itself together", look({ writers: { state: "PreparingRebalance" } }), ["writers-group: Kafka says that the writers' group is PreparingRebalance"]],
    ["a running node that writes nothing", look({ writers: { members: [member("n1", 0, 1, 2, 3)] } }), ['writers-group: "lockstep cell n2" is no member of the writers\' group']],
    ["a writer that is no running node", look({ writers: { members: [member("n1", 0), member("n2", 1), member("n9", 2, 3)] } }), ['writers-group: "lockstep cell n9" is a member of the writers\' group, and no running node']],
    ["partitions that nobody has", look({ writers: { members: [member("n1", 0), member("n2", 1)] } }), ["writers-group: its members have 2 partitions, 2 different ones, of 4"]],
    ["a partition that two have", look({ writers: { members: [member("n1", 0, 1, 2), member("n2", 2)] } }), ["writers-group: its members have 4 partitions, 3 different ones, of 4"]],
    ["events that are no rows", look({ writers: { lag: 7 } }), ["writers-lag: 7 pair events are not in the database"]],
  ] as const) {
    test(what, () => {
      assert.deepEqual(found(at), lines);
      assert.ok(!isAtRest(at, CELL));
    });
  }
});

test("a node that was told to end is no owner to be and no writer to be, and what it still holds counts", () => {
  const ending = look({ words: { n2: { state: "ending", held: [held("f2")] } }, writers: { members: [member("n1", 0, 1, 2, 3)] } });
  assert.deepEqual(found(ending), []);
  const late = look({ words: { n2: { state: "ending", held: [held("f2"), held("f1")] } }, writers: { members: [member("n1", 0, 1, 2, 3)] } });
  assert.deepEqual(found(late), ["double-owned f1: n1 and n2 both hold it"]);
});

test("an actor that is not settled is no rest, and no violation", () => {
  const busy = look({ words: { n2: { held: [held("f2", 1, "unsettled")] } } });
  assert.deepEqual([found(busy), isAtRest(busy, CELL)], [[], false]);
});

test("an account that is switched off is nobody's to own", () => assert.deepEqual(found(look({ accounts: [row("f2", null, 1, { enabled: false })], words: { n2: { held: [] } } })), []));

test("the picture: a line where nobody looks, a table on a terminal", () => {
  const moment = { phase: "playing", share: 0.425, look: look({ words: { n2: { state: "fenced" } }, writers: { lag: 3 } }) } as const;
  assert.equal(lineText(moment, CELL), "playing 43 %: n1 2 accounts 2 partitions, n2 fenced 0 accounts 2 partitions, 1 owned by nobody, lag 3, 0 moves");
  assert.match(tableText(moment, CELL), /│ n1 +│ open +│ m1 +│ 1 +│ 2 partitions │/);
  assert.match(tableText(moment, CELL), /playing 43 %, writers 3 behind, 0 moves, owned by nobody: f2$/);
  assert.equal(lineText({ phase: "checking", share: 1, look: null }, CELL), "checking");
});
