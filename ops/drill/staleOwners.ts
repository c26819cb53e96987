// Owns the two owners of the stale writer's drill: how each comes to own the follower, and what it says.

import { EventSink } from "../../actors/shell/eventSink.ts";
import { DEFAULT_LINK_SETTINGS, type Account, type Link } from "../../protocol/accounts.ts";
import { LockstepError } from "../../protocol/errors.ts";
import { accountId, bootId, linkId, magic, nodeId, symbolName, ticket, type CellId, type Epoch } from "../../protocol/ids.ts";
import type { Pair, PairEvent } from "../../protocol/pairs.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { CounterName, Metrics } from "../../protocol/ports/metrics.ts";
import type { ClaimTerms, Identity, Registry, RenewTerms } from "../../protocol/ports/storage.ts";
import { topicName } from "../../protocol/topics.ts";
import type { Points, VolumeUnits, WallMs } from "../../protocol/units.ts";
import { pause } from "../../protocol/waiting.ts";
import { DEFAULT_NODE_LIMITS } from "../nodeLimits.ts";

const MASTER = accountId("master");
export const FOLLOWER = accountId("follower");
const account = (id: Account["id"], role: Account["role"], login: number): Account => ({ id, role, platform: "mt5", broker: "drill:1", login, credentialsRef: "env:NONE", enabled: true });
export const ACCOUNTS: readonly Account[] = [account(MASTER, "master", 1), account(FOLLOWER, "follower", 2)];
export const LINK: Link = { id: linkId("link"), master: MASTER, follower: FOLLOWER, magic: magic(7_001), enabled: true, settings: DEFAULT_LINK_SETTINGS };

/** Short, so that the drill is: nothing here trades. */
const TTL_MS = 2_000;
const QUERY_MS = 5_000;
const LOOK_MS = 200;
const CLAIM_TRIES = 50;

const identityOf = (name: string): Identity => ({ node: nodeId(name), boot: bootId(`${name}-boot`) });
const renewing = (ttlMs: number): RenewTerms => ({ ttlMs, timeoutMs: QUERY_MS, report: { accepting: true, logOk: true, capacity: 10, platforms: ["mt5"], address: null } });
const CLAIMING: ClaimTerms = { limit: 10, freeForMs: 0, liveForMs: 0, avoid: [], settleMs: 0, expected: { clock: { nowMs: 0, timeline: null }, toleranceMs: Infinity }, leaveLapsed: false };

/** Resolves with the epoch at which the follower is theirs; one whose owner has a lease is waited for until that has run out. */
export async function acquire(registry: Registry, name: string, clock: Clock): Promise<Epoch> {
  for (let attempt = 1; attempt <= CLAIM_TRIES; attempt++) {
    await registry.renew(identityOf(name), renewing(TTL_MS));
    const owned = await registry.claim(identityOf(name), CLAIMING);
    const mine = owned.find(({ account: id }) => id === FOLLOWER);
    if (mine !== undefined) return mine.epoch;
    await pause(clock, LOOK_MS);
  }
  throw new LockstepError("unreachable", `${name} could not claim the follower`);
}

const VOLUME = 1_000_000 as VolumeUnits;

function event(epoch: Epoch, n: number, trade: number, more: Partial<Pair>): PairEvent {
  const pair: Pair = {
    link: LINK.id, masterTicket: ticket(trade), opening: 1, master: MASTER, follower: FOLLOWER, status: "Open", holds: "position",
    symbol: symbolName("EURUSD"), digits: 5, side: "buy", followerTicket: ticket(5_000 + trade), initialVolume: VOLUME, volume: VOLUME,
    masterInitialVolume: VOLUME, masterVolume: VOLUME, openPrice: 108_000 as Points, stopLoss: null, takeProfit: null, reason: null, detail: {},
    changedAtMs: 1_761_000_044_000 as WallMs, ...more,
  };
  return { kind: "pair", follower: FOLLOWER, epoch, n, pair };
}

/** What an owner says, each with its number `n`. */
export const said = {
  marker: (epoch: Epoch): PairEvent => ({ kind: "adopted", follower: FOLLOWER, epoch, n: 0 }),
  open: (epoch: Epoch, n: number, trade: number, opening = 1): PairEvent => event(epoch, n, trade, { opening }),
  closed: (epoch: Epoch, n: number, trade: number): PairEvent => event(epoch, n, trade, { status: "Closed", volume: 0 as VolumeUnits, reason: "master_closed" }),
  skipped: (epoch: Epoch, n: number, trade: number): PairEvent => event(epoch, n, trade, { status: "Skipped", followerTicket: null, volume: 0 as VolumeUnits, reason: "price_moved", detail: { movedPoints: 51, limitPoints: 50 } }),
};

export function sinkOf(producer: Producer, cell: CellId, clock: Clock, metrics: Metrics): EventSink {
  return new EventSink({ producer, topic: topicName(cell, "pair-events"), partitions: 1, clock, metrics, capacity: DEFAULT_NODE_LIMITS.buffered, retryMs: DEFAULT_NODE_LIMITS.bufferRetryMs });
}

export class CountedMetrics implements Metrics {
  readonly #counts = new Map<CounterName, number>();

  count(name: CounterName, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  rows(): { readonly written: number; readonly fenced: number; readonly rejected: number } {
    const of = (name: CounterName): number => this.#counts.get(name) ?? 0;
    return { written: of("rows_written"), fenced: of("rows_fenced"), rejected: of("rows_rejected") };
  }

  ownTime(): void {
    // No order is sent here.
  }

  factsWritten(): void {
    // The drill's facts are of another time.
  }
}
