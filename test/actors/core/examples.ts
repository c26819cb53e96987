// Owns plain examples of links, trades, pairs and snapshots, so that a case writes down only what it is
// about. Prices are points of 5 digits, around 1.10000.

import { DEFAULT_LINK_SETTINGS, type Link, type LinkSettings } from "../../../protocol/accounts.ts";
import { accountId, linkId, magic, type Epoch, type Seq, type SymbolName, type Ticket } from "../../../protocol/ids.ts";
import type { Pair } from "../../../protocol/pairs.ts";
import type { Book, MasterPending, MasterPosition, Tick, TickBody } from "../../../protocol/ticks.ts";
import type { AccountSnapshot, ClosedPosition, PendingOrder, Position, Quote, RemovedPending, SymbolSpec } from "../../../protocol/trades.ts";
import { LOT, type BrokerMs, type Points, type VolumeUnits, type WallMs } from "../../../protocol/units.ts";
import type { Market } from "../../../actors/core/decide.ts";

export const lots = (count: number): VolumeUnits => Math.round(count * LOT) as VolumeUnits;
export const points = (value: number): Points => value as Points;
export const ticket = (value: number): Ticket => value as Ticket;
export const brokerMs = (value: number): BrokerMs => value as BrokerMs;
export const NOW = 1_000_000 as WallMs;
export const SYMBOL = "EURUSD" as SymbolName;
export const MAGIC = magic(700);

export function link(settings: Partial<LinkSettings> = {}, more: Partial<Link> = {}): Link {
  return { id: linkId("link1"), master: accountId("master"), follower: accountId("follower1"), magic: MAGIC, enabled: true, settings: { ...DEFAULT_LINK_SETTINGS, ...settings }, ...more };
}

export const spec = (more: Partial<SymbolSpec> = {}): SymbolSpec => ({ symbol: SYMBOL, digits: 5, volumeMin: lots(0.01), volumeStep: lots(0.01), volumeMax: lots(100), stopLevelPoints: 0, ...more });
export const quote = (bid: number, ask = bid): Quote => ({ symbol: SYMBOL, bid: points(bid), ask: points(ask), atMs: brokerMs(0) });
export const market = (more: Partial<Market> = {}): Market => ({ symbol: SYMBOL, spec: spec(), quote: quote(110_000), ...more });

export const masterPosition = (more: Partial<MasterPosition> = {}): MasterPosition => ({
  masterTicket: ticket(1), ticket: ticket(1), symbol: SYMBOL, digits: 5, side: "buy", initialVolume: lots(1), volume: lots(1), openPrice: points(110_000), openTimeMs: brokerMs(0),
  stopLoss: null, takeProfit: null, magic: magic(0), comment: "", ...more,
});

export const masterPending = (more: Partial<MasterPending> = {}): MasterPending => ({
  masterTicket: ticket(1), symbol: SYMBOL, digits: 5, kind: "buy_limit", volume: lots(1), price: points(109_500), placedTimeMs: brokerMs(0),
  stopLoss: null, takeProfit: null, magic: magic(0), comment: "", ...more,
});

/** At the follower's broker, by default the copy of master ticket 1. */
export const position = (more: Partial<Position> = {}): Position => ({
  ticket: ticket(50), identifier: more.ticket ?? ticket(50), symbol: SYMBOL, digits: 5, side: "buy", volume: lots(1), openPrice: points(110_000), openTimeMs: brokerMs(0), stopLoss: null, takeProfit: null, magic: MAGIC, comment: "mc1", ...more,
});

export const pending = (more: Partial<PendingOrder> = {}): PendingOrder => ({
  ticket: ticket(50), symbol: SYMBOL, digits: 5, kind: "buy_limit", volume: lots(1), price: points(109_500), placedTimeMs: brokerMs(0), stopLoss: null, takeProfit: null, magic: MAGIC, comment: "mc1", ...more,
});

export const closed = (of: Position, reason: ClosedPosition["reason"] = "manual"): ClosedPosition => ({ position: of, closePrice: points(110_000), closeTimeMs: brokerMs(1), reason });
export const removed = (of: PendingOrder, reason: RemovedPending["reason"] = "cancelled"): RemovedPending => ({ pending: of, removedTimeMs: brokerMs(1), reason });

export const snapshot = (more: Partial<AccountSnapshot> = {}): AccountSnapshot => ({ account: accountId("follower1"), takenAtMs: brokerMs(0), synced: true, positions: [], pendings: [], closed: [], removed: [], ...more });

/** By default an open pair for master ticket 1, whose copy is ticket 50. */
export const pair = (more: Partial<Pair> = {}): Pair => ({
  link: linkId("link1"), masterTicket: ticket(1), opening: 1, master: accountId("master"), follower: accountId("follower1"), status: "Open", holds: "position", symbol: SYMBOL, digits: 5, side: "buy",
  followerTicket: ticket(50), initialVolume: lots(1), volume: lots(1), masterInitialVolume: lots(1), masterVolume: lots(1), openPrice: points(110_000), stopLoss: null, takeProfit: null,
  reason: null, detail: {}, changedAtMs: 0 as WallMs, ...more,
});

export const sending = (more: Partial<Pair> = {}): Pair => pair({ status: "Sending", followerTicket: null, openPrice: null, ...more });

export const tick = (epoch: number, seq: number, body: TickBody = { kind: "opened", position: masterPosition({ masterTicket: ticket(seq), ticket: ticket(seq) }) }, brokerNowMs = 0): Tick => ({
  master: accountId("master"), epoch: epoch as Epoch, seq: seq as Seq, occurredAtMs: brokerMs(brokerNowMs), brokerNowMs: brokerMs(brokerNowMs), callbackAtMs: NOW, body,
});

export const alive = (epoch: number, seq: number, brokerNowMs = 0): Tick => tick(epoch, seq, { kind: "alive" }, brokerNowMs);

export const book = (epoch: number, seq: number, positions: readonly MasterPosition[] = [], pendings: readonly MasterPending[] = []): Book => ({
  master: accountId("master"), epoch: epoch as Epoch, seq: seq as Seq, brokerNowMs: brokerMs(0), positions, pendings,
});
