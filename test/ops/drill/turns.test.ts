// Owns the tests of owners' turns as the brokers' logs show them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrokerLogEntry } from "../../../ops/broker/log.ts";
import { turnEntries } from "../../../ops/drill/turns.ts";

const OFFSET_MS = 1_000;

const login = (connection: number, client: string | null): unknown => ({ kind: "login", account: "f1", connection, login: 1, channel: "call", client, refused: null });
const order = (atMs: number, connection: number, epoch: number | null, kind: string): unknown => ({ atMs: atMs + OFFSET_MS, kind: "request", account: "f1", by: { kind: "connection", connection, id: 1 }, epoch, order: { kind } });
const turns = (...log: readonly unknown[]): string[] =>
  turnEntries(log as readonly BrokerLogEntry[], OFFSET_MS).map(({ atMs, node, epoch, event, detail }) => `${atMs} ${node} #${epoch} ${event} ${detail["order"]}`);

test("where the owner changes: the last order of the one, the first of the next, on the machine's clock", () => {
  const log = [login(1, "n1/a#1"), order(10, 1, 1, "open"), order(20, 1, 1, "modify"), login(2, "n2/b#2"), order(50, 2, 2, "close"), order(60, 2, 2, "open")];
  assert.deepEqual(turns(...log), ["20 n1 #1 last_order modify", "50 n2 #2 first_order close"]);
});

test("an owner that goes on at a raised epoch under the session it has is another turn", () => {
  assert.deepEqual(turns(login(1, "n1/a#1"), order(10, 1, 1, "open"), order(30, 1, 2, "close")), ["10 n1 #1 last_order open", "30 n1 #2 first_order close"]);
});

test("orders without a change, the trader's hand and clients without a name are no turns", () => {
  const byHand = { atMs: 40, kind: "request", account: "f1", by: { kind: "trader" }, epoch: null, order: { kind: "close" } };
  assert.deepEqual(turns(login(1, "n1/a#1"), login(2, null), order(10, 1, null, "open"), byHand, order(20, 2, null, "open"), order(30, 1, null, "close")), []);
});
