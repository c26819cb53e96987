// Owns the end of a refused login on a whole node and a real broker server: tried once, parked,
// left alone, and tried again when the account is applied.

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../ops/clock.ts";
import { mt4Account, mt5Account } from "./broker/market.ts";
import { entriesOf } from "./broker/testServer.ts";
import { until } from "../support/until.ts";
import { wholeNode } from "./wholeNode.ts";

/** Longer than the session's pauses and the polls of claims and directory together. */
const LONG_MS = 2_500;

test("an account whose password is wrong is logged in once, parked with the broker's reason, and tried again when it is applied", async (t) => {
  const { broker, storage, logger, wanted, env, stateOf } = await wholeNode(t, "parking", undefined, { MASTER: mt5Account.password, FOLLOWER: "wrong" });
  const logins = (): readonly (string | null)[] => entriesOf(broker.sink, "login").flatMap(({ login, refused }) => (login === mt4Account.login ? [refused] : []));

  await until("it is let go", () => stateOf(mt4Account.account) === undefined && logins().length > 0);
  await new Promise((resolve) => systemClock.after(LONG_MS, () => resolve(null)));
  assert.deepEqual(logins(), ["wrong password"]);
  assert.deepEqual([...(await storage.directory.read()).parked], [[mt4Account.account, "no such login, or a wrong password"]]);
  assert.equal(logger.lines.filter(({ level, text }) => level === "error" && /login refused/.test(text)).length, 1);
  assert.notEqual(stateOf(mt5Account.account), undefined, "the master is served on");

  env.FOLLOWER = mt4Account.password;
  const difference = await storage.directory.apply(wanted, { dryRun: false });
  assert.deepEqual(difference.changed, [{ path: `accounts/${mt4Account.account}/parked`, from: "no such login, or a wrong password", to: null }]);
  await until("it is served", () => stateOf(mt4Account.account) === "settled");
  assert.deepEqual([...new Set(logins())], ["wrong password", null]);
});
