// Owns the end of a refused login on a whole node and a real broker server: tried once, parked,
// left alone, and tried again when the account is applied.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { systemClock, systemRandom } from "../../ops/clock.ts";
import { startNode } from "../../ops/node.ts";
import { DEFAULT_NODE_LIMITS } from "../../ops/nodeLimits.ts";
import { DEFAULT_LINK_SETTINGS, type Account, type AccountRole, type Link } from "../../protocol/accounts.ts";
import { bootId, cellId, linkId, magic, nodeId } from "../../protocol/ids.ts";
import type { CounterName } from "../../protocol/ports/metrics.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import type { BrokerAccount } from "../../ops/broker/accounts.ts";
import { LANES, POOL } from "../actors/executor/executorFixture.ts";
import { mt4Account, mt5Account } from "./broker/market.ts";
import { entriesOf, running } from "./broker/testServer.ts";
import { recordingLogger } from "../support/recordingLogger.ts";
import { until } from "../support/until.ts";

/** Longer than the session's pauses and the polls of claims and directory together. */
const LONG_MS = 2_500;

test("an account whose password is wrong is logged in once, parked with the broker's reason, and tried again when it is applied", async (t) => {
  const broker = await running(t, { clock: systemClock, timeBaseMs: () => systemClock.wallMs() });
  const storage = new MemoryDatabase(systemClock).storage(cellId("parking"));
  const account = ({ account: id, login, platform }: BrokerAccount, role: AccountRole, credentialsRef: string): Account => ({ id, role, platform, broker: `127.0.0.1:${broker.port}`, login, credentialsRef, enabled: true });
  const accounts = [account(mt5Account, "master", "env:MASTER"), account(mt4Account, "follower", "env:FOLLOWER")];
  const links: Link[] = [{ id: linkId("link"), master: mt5Account.account, follower: mt4Account.account, magic: magic(7), enabled: true, settings: DEFAULT_LINK_SETTINGS }];
  await storage.directory.apply({ accounts, links }, { dryRun: false });
  const env = { MASTER: mt5Account.password, FOLLOWER: "wrong" };
  const log = new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS });
  const counts = new Map<CounterName, number>();
  const logger = recordingLogger();
  const node = await startNode({
    ...storage,
    cell: cellId("parking"),
    me: { node: nodeId("n1"), boot: bootId("b1") },
    partitions: await storage.directory.partitions(2),
    log,
    executor: { lanes: LANES, reserve: POOL - LANES, hosts: 1, maxWaiting: 10, maxWaitMs: 1_000 },
    limits: { ...DEFAULT_NODE_LIMITS, session: { ...DEFAULT_NODE_LIMITS.session, reconnectMinMs: 20, reconnectMaxMs: 100 } },
    env,
    clock: systemClock,
    random: systemRandom,
    logger,
    metrics: { count: (name, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by), ownTime: () => undefined },
    onFatal: (error) => assert.fail(error),
  });
  t.after(async () => {
    await node.stop();
    await log.close();
  });
  const logins = (): readonly (string | null)[] => entriesOf(broker.sink, "login").flatMap(({ login, refused }) => (login === mt4Account.login ? [refused] : []));
  const stateOf = (id: string): string | undefined => node.supervisor.states().find((state) => state.account === id)?.actor;

  await until("it is let go", () => stateOf(mt4Account.account) === undefined && logins().length > 0);
  await new Promise((resolve) => systemClock.after(LONG_MS, () => resolve(null)));
  assert.deepEqual(logins(), ["wrong password"]);
  assert.deepEqual([...(await storage.directory.read()).parked], [[mt4Account.account, "no such login, or a wrong password"]]);
  assert.equal(logger.lines.filter(({ level, text }) => level === "error" && /login refused/.test(text)).length, 1);
  assert.notEqual(stateOf(mt5Account.account), undefined, "the master is served on");

  env.FOLLOWER = mt4Account.password;
  const difference = await storage.directory.apply({ accounts, links }, { dryRun: false });
  assert.deepEqual(difference.changed, [{ path: `accounts/${mt4Account.account}/parked`, from: "no such login, or a wrong password", to: null }]);
  await until("it is served", () => stateOf(mt4Account.account) === "settled");
  assert.deepEqual([...new Set(logins())], ["wrong password", null]);
});
