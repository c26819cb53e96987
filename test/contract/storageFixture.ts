// Owns what the storage contract needs of an implementation, and the records its cases are made of.

import type { TestContext } from "node:test";
import { DEFAULT_LINK_SETTINGS, type Account, type AccountRole, type Link } from "../../protocol/accounts.ts";
import { accountId, bootId, cellId, epoch, linkId, magic, nodeId, symbolName, ticket, type CellId, type Epoch } from "../../protocol/ids.ts";
import type { Pair, PairEvent } from "../../protocol/pairs.ts";
import type { ClaimTerms, ExpectedDatabase, Identity, NodeReport, RenewTerms, TakeTerms } from "../../protocol/ports/storage.ts";
import type { Points, VolumeUnits, WallMs } from "../../protocol/units.ts";
import type { Storage } from "../../storage/storage.ts";

export interface StorageFixture {
  readonly cell: CellId;
  /** One more process with connections of its own. */
  open(cell?: CellId): Promise<Storage>;
  /** Lets the database's clock go on. */
  passTime(ms: number): Promise<void>;
}

/** A cell that no other test uses, in a database that other tests use too. */
export type StorageFactory = (t: TestContext) => Promise<StorageFixture>;

let cells = 0;
export const freshCell = (): CellId => cellId(`cell-${process.pid}-${(cells += 1)}`);

export const TTL_MS = 60_000;
export const SETTLE_MS = 30_000;
/** Whatever its clock and timeline are. */
export const ANY_DATABASE: ExpectedDatabase = { clock: { nowMs: 0, timeline: null }, toleranceMs: Infinity };
export const REPORT: NodeReport = { accepting: true, logOk: true, capacity: 100, platforms: ["mt4", "mt5"], address: null };
export const renewing = (report: Partial<NodeReport> = {}, ttlMs = TTL_MS): RenewTerms => ({ ttlMs, timeoutMs: 5_000, report: { ...REPORT, ...report } });
/** No wait for anybody who may come back, and shares for ever, unless a case says otherwise. */
export const claiming = (terms: Partial<ClaimTerms> = {}): ClaimTerms => ({ limit: 100, freeForMs: 1e9, liveForMs: 0, avoid: [], settleMs: SETTLE_MS, expected: ANY_DATABASE, leaveLapsed: false, ...terms });
export const taking = (terms: Partial<TakeTerms> = {}): TakeTerms => ({ settleMs: SETTLE_MS, expected: ANY_DATABASE, timeoutMs: 5_000, ...terms });

export const me = (node: string, boot = `${node}-boot-1`): Identity => ({ node: nodeId(node), boot: bootId(boot) });

export function account(id: string, role: AccountRole, login: number): Account {
  return { id: accountId(id), role, platform: "mt4", broker: "127.0.0.1:9510", login, credentialsRef: `env:${id}`, enabled: true };
}

export function link(id: string, master: string, follower: string, number: number): Link {
  return { id: linkId(id), master: accountId(master), follower: accountId(follower), magic: magic(number), enabled: true, settings: DEFAULT_LINK_SETTINGS };
}

export const MASTER = account("master", "master", 1);
export const FOLLOWER = account("follower", "follower", 2);
export const LINK = link("link", "master", "follower", 7001);

/** A storage with one master, one follower and their link; the follower was acquired `epochs` times. */
export async function linkedStorage(fixture: StorageFixture, epochs: number): Promise<Storage> {
  const storage = await fixture.open();
  await storage.directory.put([MASTER, FOLLOWER], [LINK]);
  await storage.registry.renew(me("owner"), renewing());
  for (let acquired = 0; acquired < epochs; acquired += 1) {
    for (const held of await storage.registry.claim(me("owner"), claiming())) await storage.registry.release(me("owner"), held, 0);
  }
  return storage;
}

export const PAIR: Pair = {
  link: LINK.id,
  masterTicket: ticket(10_884_298),
  opening: 1,
  master: MASTER.id,
  follower: FOLLOWER.id,
  status: "Open",
  holds: "position",
  symbol: symbolName("EURUSD.x"),
  digits: 5,
  side: "buy",
  followerTicket: ticket(9_007_199_254_740_991),
  initialVolume: 4_000_000 as VolumeUnits,
  volume: 1_000_000 as VolumeUnits,
  masterInitialVolume: 8_000_000 as VolumeUnits,
  masterVolume: 2_000_000 as VolumeUnits,
  openPrice: 108_123 as Points,
  stopLoss: null,
  takeProfit: 109_000 as Points,
  reason: null,
  detail: {},
  changedAtMs: 1_761_000_000_123.25 as WallMs,
};

export function pairEvent(at: readonly [epoch: number, n: number], change: Partial<Pair> = {}): Extract<PairEvent, { kind: "pair" }> {
  const pair = { ...PAIR, ...change };
  return { kind: "pair", follower: pair.follower, epoch: epoch(at[0]), n: at[1], pair };
}

export const adopted = (value: Epoch | number): PairEvent => ({ kind: "adopted", follower: FOLLOWER.id, epoch: epoch(value), n: 0 });

/** A follower's rows in short: `ticket/opening status epoch.n`. */
export async function shortRows(storage: Storage): Promise<string[]> {
  const rows = await storage.pairs.rowsOf(FOLLOWER.id);
  return rows.map((row) => `${row.pair.masterTicket}/${row.pair.opening} ${row.pair.status} ${row.epoch}.${row.n}`);
}
