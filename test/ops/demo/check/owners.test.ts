// Owns the tests of the rules about an account's owners: each violation, planted, is found, and a move in order is none.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ownerViolations } from "../../../../ops/demo/check/owners.ts";
import type { BrokerLogEntry, BrokerLogFact } from "../../../../ops/broker/log.ts";
import type { Order } from "../../../../protocol/orders.ts";
import { accountId, type Epoch, type SymbolName, type Ticket } from "../../../../protocol/ids.ts";
import type { BrokerMs } from "../../../../protocol/units.ts";

const order: Order = { kind: "cancel", ticket: 5 as Ticket, symbol: "EURUSD" as SymbolName };

/**
 * `A#1`: an order of that client, on a connection of its own, logged in before its first. `A#1@f2`: on that account. `A#1>2`: the order itself
 * says epoch 2. `null`: without a name. `hand`: of the person.
 */
function log(...orders: readonly string[]): BrokerLogEntry[] {
  const facts: BrokerLogFact[] = [];
  const connections = new Map<string, number>();
  for (const text of orders) {
    const [client = "", at = "f1"] = text.split("@");
    const [name = "", says] = client.split(">");
    const epoch = says === undefined ? null : (Number(says) as Epoch);
    const account = accountId(at);
    if (name === "hand") {
      facts.push({ kind: "request", account, by: { kind: "trader" }, epoch, order, digits: 5 });
      continue;
    }
    const login = `${name}@${at}`;
    const connection = connections.get(login) ?? connections.size + 1;
    if (!connections.has(login)) facts.push({ kind: "login", account, connection, login: 1, channel: "session", client: name === "null" ? null : name, refused: null });
    connections.set(login, connection);
    facts.push({ kind: "request", account, by: { kind: "connection", connection, id: 1 }, epoch, order, digits: 5 });
  }
  return facts.map((fact, index) => ({ n: index + 1, atMs: (index * 1_000) as BrokerMs, ...fact }));
}

const rulesOf = (entries: readonly BrokerLogEntry[]): string[] => ownerViolations(entries).map(({ rule, follower }) => `${follower}: ${rule}`);

describe("orders of an account", () => {
  for (const [what, orders] of [
    ["of one owner", ["n1/a#1", "n1/a#1"]],
    ["of one owner after another", ["n1/a#1", "n2/b#2", "n2/b#2"]],
    ["of an owner that comes back at a higher epoch", ["n1/a#1", "n2/b#2", "n1/a#3"]],
    ["with the hand of a person in between", ["n1/a#1", "hand", "n2/b#2", "hand"]],
    ["of an owner that confirmed it at a higher epoch, on the session that it has", ["n1/a#1>1", "n1/a#1>3", "n2/b#4>4"]],
    ["of owners that each have another account", ["n1/a#9", "n2/b#2@f2", "n1/a#9", "n2/b#2@f2"]],
  ] as const) {
    test(`${what}: right`, () => assert.deepEqual(rulesOf(log(...orders)), []));
  }

  for (const [what, orders, rules] of [
    ["of a former owner, after the new one has traded", ["n1/a#1", "n2/b#2", "n1/a#1"], ["f1: owner-went-back", "f1: owners-interleaved"]],
    ["of a former owner that had not traded before", ["n2/b#2", "n1/a#1"], ["f1: owner-went-back"]],
    ["of two owners with one epoch", ["n1/a#1", "n2/b#1"], ["f1: epoch-shared"]],
    ["of another boot of the node with its epoch", ["n1/a#1", "n1/b#1"], ["f1: epoch-shared"]],
    ["of two owners in turns", ["n1/a#1", "n2/b#1", "n1/a#1"], ["f1: epoch-shared", "f1: owners-interleaved"]],
    ["of a former epoch, on the session of the new one", ["n1/a#3>3", "n1/a#3>1"], ["f1: owner-went-back"]],
    ["of a former owner that had confirmed it at an epoch of its own", ["n1/a#1>1", "n1/a#1>3", "n2/b#2>2"], ["f1: owner-went-back"]],
    ["of two owners that say one epoch", ["n1/a#1>2", "n2/b#2>2"], ["f1: epoch-shared"]],
    ["of an epoch again, after a higher one", ["n1/a#1>1", "n1/a#1>2", "n1/a#1>1"], ["f1: owner-went-back", "f1: owners-interleaved"]],
    ["of a client without a name", ["n1/a#1", "null"], ["f1: owner-unknown"]],
    ["of a client whose name says no epoch", ["n1/a"], ["f1: owner-unknown"]],
  ] as const) {
    test(`${what}: found`, () => assert.deepEqual(rulesOf(log(...orders)), rules));
  }

  test("every order of a former owner is one violation more", () => assert.equal(rulesOf(log("n2/b#2", "n1/a#1", "n1/a#1", "n1/a#1")).length, 3));

  test("a violation says which order it was, whose, and after whom", () => {
    assert.deepEqual(ownerViolations(log("n2/b#2", "n1/a#1")), [{ rule: "owner-went-back", follower: "f1", detail: "entry 4 at 00:00:03.000: cancel from n1/a#1, after n2/b#2 had traded" }]);
  });

  test("an order without a login is nobody's", () => assert.deepEqual(rulesOf(log("n1/a#1").slice(1)), ["f1: owner-unknown"]));
});
