// Owns how the tests of HTTP ask a node that is none: real routes and a real server, storage in memory.

import { once } from "node:events";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import { DEFAULT_LINK_SETTINGS, type Account } from "../../../protocol/accounts.ts";
import { accountId, bootId, cellId, linkId, magic, nodeId, symbolName, ticket } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { Identity } from "../../../protocol/ports/storage.ts";
import type { Points, VolumeUnits, WallMs } from "../../../protocol/units.ts";
import { MemoryDatabase } from "../../../storage/memory/cells.ts";
import type { Storage } from "../../../storage/storage.ts";
import { systemClock } from "../../../ops/clock.ts";
import { startHttp, type HttpOptions } from "../../../ops/http/server.ts";
import { tokenOf } from "../../../ops/http/token.ts";
import type { Door, Standing } from "../../../ops/followerDoor.ts";
import type { NodeState } from "../../../ops/nodeState.ts";
import { recordingLogger, type RecordingLogger } from "../../support/recordingLogger.ts";
import { claiming } from "../../contract/storageFixture.ts";

export const TOKEN = "a-token-of-some-length";
export const ME: Identity = { node: nodeId("node-1"), boot: bootId("boot-1") };
export const READY: NodeState = {
  fenced: false, leaseLeftMs: 40_000, accounts: [], masters: 1, mastersSynced: 1, logSilentMs: 5, logOk: true, rowsWaitingMs: null, rowsRefused: null, blockedPartitions: [],
  executor: { lanes: 1, poolThreads: 2, inFlight: 0, waiting: 0, stranded: 0, hosts: 1, hostsLost: 0 },
};
export const MASTER: Account = { id: accountId("m"), role: "master", platform: "mt4", broker: "127.0.0.1:1", login: 1, credentialsRef: "env:LOCKSTEP_SECRET_M", enabled: true };
export const followers = (count: number): Account[] => Array.from({ length: count }, (_, index) => ({ ...MASTER, id: accountId(`f${index}`), role: "follower", login: index + 2 }));

export interface Asked {
  readonly storage: Storage;
  readonly address: string;
  readonly logger: RecordingLogger;
  /** With the token unless another header is given. */
  readonly get: (path: string, headers?: Record<string, string>, method?: string) => Promise<{ readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers }>;
}

/** It stands so for every account, and does nothing. */
export const doorThat = (standing: Standing): Door => ({ standing: () => standing, close: () => null, listening: 0, listen: () => undefined, leave: () => undefined });

/** A server with one master, followers and their links; this node owns all of them at epoch 1. */
export async function asked(t: TestContext, change: Partial<HttpOptions> = {}, count = 2): Promise<Asked> {
  const storage = new MemoryDatabase(systemClock).storage(cellId("cell"));
  const links = followers(count).map(({ id }) => ({ id: linkId(`m-${id}`), master: MASTER.id, follower: id, magic: magic(1), enabled: true, settings: DEFAULT_LINK_SETTINGS }));
  await storage.directory.put([MASTER, ...followers(count)], links);
  const report = { accepting: true, logOk: true, capacity: 10_000, platforms: ["mt4", "mt5"], address: "127.0.0.1:9520" } as const;
  await storage.registry.renew(ME, { ttlMs: 60_000, timeoutMs: 1_000, report });
  await storage.registry.claim(ME, claiming({ limit: 10_000, freeForMs: 0 }));
  const logger = recordingLogger();
  const http = await startHttp({
    host: "127.0.0.1", port: 0, token: tokenOf(TOKEN, "test"), me: ME, state: () => READY, isDraining: () => false, door: () => doorThat("open"), overview: storage.overview, uptime: storage.uptime,
    askDatabase: () => storage.directory.version(), page: async () => ({ contentType: "text/plain", text: "lockstep_fenced 0\n" }), clock: systemClock, logger, ...change,
  });
  t.after(() => http.close());
  const get: Asked["get"] = async (path, headers = { authorization: `Bearer ${TOKEN}` }, method = "GET") => {
    const response = await fetch(`http://${http.address}${path}`, { method, headers });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : { text }, headers: response.headers };
  };
  return { storage, address: http.address, logger, get };
}

export function pairOf(follower: string, masterTicket: number, status: "Open" | "Skipped", n: number): PairEvent {
  return {
    kind: "pair", follower: accountId(follower), epoch: 1 as never, n,
    pair: {
      link: linkId(`m-${follower}`), masterTicket: ticket(masterTicket), opening: 1, master: MASTER.id, follower: accountId(follower), status, holds: "position", symbol: symbolName("EURUSD"), digits: 5, side: "buy",
      followerTicket: null, initialVolume: 1 as VolumeUnits, volume: 1 as VolumeUnits, masterInitialVolume: 1 as VolumeUnits, masterVolume: 1 as VolumeUnits, openPrice: 1 as Points, stopLoss: null, takeProfit: null,
      reason: status === "Skipped" ? "too_old" : null, detail: {}, changedAtMs: 1 as WallMs,
    },
  };
}

/** What comes back for bytes that are no request of any client's; the connection is given up by either side. */
export async function rawAnswer(address: string, bytes: string): Promise<string> {
  const [host = "", port = ""] = address.split(":");
  const socket = connect(Number(port), host);
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
  socket.on("error", () => undefined);
  socket.end(bytes);
  await once(socket, "close");
  return answer;
}
