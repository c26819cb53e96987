// Owns the setting of a whole node on a real broker server: the composition root with the in-memory log and
// database, an MT5 master and an MT4 follower.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { MEMORY_LOG_LIMITS } from "../../log/memory/limits.ts";
import { MemoryLog } from "../../log/memory/memoryLog.ts";
import { systemClock, systemRandom } from "../../ops/clock.ts";
import type { BrokerAccount } from "../../ops/broker/accounts.ts";
import { startNode, type NodeOptions, type RunningNode } from "../../ops/node.ts";
import { DEFAULT_NODE_LIMITS } from "../../ops/nodeLimits.ts";
import { DEFAULT_LINK_SETTINGS, type Account, type AccountRole, type Link } from "../../protocol/accounts.ts";
import { bootId, cellId, linkId, magic, nodeId } from "../../protocol/ids.ts";
import type { WantedDirectory } from "../../protocol/ports/storage.ts";
import { MemoryDatabase } from "../../storage/memory/cells.ts";
import type { Storage } from "../../storage/storage.ts";
import { LANES, POOL } from "../actors/executor/executorFixture.ts";
import { recordingLogger, type RecordingLogger } from "../support/recordingLogger.ts";
import { mt4Account, mt5Account } from "./broker/market.ts";
import { running, type Running } from "./broker/testServer.ts";

export interface WholeNode {
  readonly broker: Running;
  readonly storage: Storage;
  readonly node: RunningNode;
  readonly logger: RecordingLogger;
  /** What is applied: both accounts and their link. */
  readonly wanted: WantedDirectory;
  /** Credentials by their references; may be changed. */
  readonly env: { MASTER: string; FOLLOWER: string };
  /** What became of an account: undefined while this node does not serve it. */
  stateOf(id: string): string | undefined;
}

/** Ends with the test. `more` may be made of the storage. */
export async function wholeNode(t: TestContext, name: string, more: (storage: Storage) => Partial<NodeOptions> = () => ({}), env = { MASTER: mt5Account.password, FOLLOWER: mt4Account.password }): Promise<WholeNode> {
  const broker = await running(t, { clock: systemClock, timeBaseMs: () => systemClock.wallMs() });
  const storage = new MemoryDatabase(systemClock).storage(cellId(name));
  const account = ({ account: id, login, platform }: BrokerAccount, role: AccountRole, credentialsRef: string): Account => ({ id, role, platform, broker: `127.0.0.1:${broker.port}`, login, credentialsRef, enabled: true });
  const accounts = [account(mt5Account, "master", "env:MASTER"), account(mt4Account, "follower", "env:FOLLOWER")];
  const links: Link[] = [{ id: linkId("link"), master: mt5Account.account, follower: mt4Account.account, magic: magic(7), enabled: true, settings: { ...DEFAULT_LINK_SETTINGS, symbols: { ...DEFAULT_LINK_SETTINGS.symbols, masterSuffix: ".m" } } }];
  await storage.directory.apply({ accounts, links }, { dryRun: false });
  const log = new MemoryLog({ clock: systemClock, limits: MEMORY_LOG_LIMITS });
  const logger = recordingLogger();
  const node = await startNode({
    ...storage,
    cell: cellId(name),
    me: { node: nodeId("n1"), boot: bootId("b1") },
    partitions: await storage.directory.partitions(2),
    log,
    executor: { lanes: LANES, reserve: POOL - LANES, hosts: 1, maxWaiting: 10, maxWaitMs: 1_000 },
    limits: { ...DEFAULT_NODE_LIMITS, session: { ...DEFAULT_NODE_LIMITS.session, reconnectMinMs: 20, reconnectMaxMs: 100 } },
    env,
    clock: systemClock,
    random: systemRandom,
    logger,
    metrics: { count: () => undefined, ownTime: () => undefined, factsWritten: () => undefined },
    onFatal: (error) => assert.fail(error),
    ...more(storage),
  });
  t.after(async () => {
    await node.stop();
    await log.close();
  });
  return { broker, storage, node, logger, wanted: { accounts, links }, env, stateOf: (id) => node.supervisor.states().find((state) => state.account === id)?.actor };
}
