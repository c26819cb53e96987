// Owns the records behind the golden files: one of each kind that the log can carry. A file's bytes
// were written by some release once; every later one must read them and write them alike.

import { ACCOUNT_STATE, BOOK, decode, encode, PAIR_EVENT, REPLAY, TICK, type Schema } from "../../protocol/codec.ts";
import { accountId, bootId, epoch, linkId, magic, nodeId, seq, symbolName, ticket } from "../../protocol/ids.ts";
import type { AccountStateEvent } from "../../protocol/accountState.ts";
import type { PairEvent } from "../../protocol/pairs.ts";
import type { Book, MasterPending, MasterPosition, Tick, TickBody } from "../../protocol/ticks.ts";
import type { TimelineEntry } from "../../protocol/timeline.ts";
import { pointsFromPrice, volumeFromLots, type BrokerMs, type Cents, type WallMs } from "../../protocol/units.ts";

export interface GoldenRecord {
  /** The file is `golden/<name>.hex`. */
  readonly name: string;
  readonly schema: string;
  readonly value: unknown;
  readonly encode: () => Uint8Array;
  readonly decode: (bytes: Uint8Array) => unknown;
}

const golden = <T>(name: string, schema: Schema<T>, value: T): GoldenRecord => ({
  name,
  schema: schema.name,
  value,
  encode: () => encode(schema, value),
  decode: (bytes) => decode(schema, bytes),
});

const brokerMs = (ms: number): BrokerMs => ms as BrokerMs;

const position: MasterPosition = {
  masterTicket: ticket(10_884_298),
  ticket: ticket(10_888_957),
  symbol: symbolName("GBPUSD."),
  digits: 5,
  side: "sell",
  initialVolume: volumeFromLots("0.05"),
  volume: volumeFromLots("0.01"),
  openPrice: pointsFromPrice("1.29307", 5),
  openTimeMs: brokerMs(1_556_040_750_000),
  stopLoss: pointsFromPrice("1.30000", 5),
  takeProfit: null,
  magic: magic(77),
  comment: "from #10884298",
};

/** The largest numbers that fit, an empty and a foreign text: nothing may be rounded or re-coded. */
const extremePosition: MasterPosition = {
  ...position,
  masterTicket: ticket(Number.MAX_SAFE_INTEGER),
  ticket: ticket(Number.MAX_SAFE_INTEGER),
  side: "buy",
  initialVolume: volumeFromLots("1000.00000001"),
  volume: volumeFromLots("1000.00000001"),
  stopLoss: null,
  magic: magic(0),
  comment: "Zürich ≠ \u0000\ud83d\udc02",
};

const pending: MasterPending = {
  masterTicket: ticket(42),
  symbol: symbolName("XAUUSD@"),
  digits: 2,
  kind: "buy_limit",
  volume: volumeFromLots("0.10"),
  price: pointsFromPrice("1893.50", 2),
  placedTimeMs: brokerMs(1_556_040_750_000),
  stopLoss: null,
  takeProfit: pointsFromPrice("1950.00", 2),
  magic: magic(2_147_483_647),
  comment: "",
};

const bodies: { readonly [K in TickBody["kind"]]: Extract<TickBody, { kind: K }> } = {
  opened: { kind: "opened", position: extremePosition },
  part_closed: { kind: "part_closed", position },
  modified: { kind: "modified", position },
  closed: { kind: "closed", masterTicket: ticket(10_884_298), reason: "take_profit", closePrice: pointsFromPrice("1.28000", 5), digits: 5 },
  pending_placed: { kind: "pending_placed", pending },
  pending_changed: { kind: "pending_changed", pending: { ...pending, kind: "sell_stop", price: pointsFromPrice("1800.00", 2) } },
  pending_cancelled: { kind: "pending_cancelled", masterTicket: ticket(42), reason: "expired" },
  pending_filled: { kind: "pending_filled", position: { ...position, masterTicket: ticket(42), ticket: ticket(42) } },
  alive: { kind: "alive" },
};

const tick = (body: TickBody): Tick => ({
  master: accountId("master-1"),
  epoch: epoch(3),
  seq: seq(4_294_967_297),
  occurredAtMs: brokerMs(1_556_040_750_123),
  brokerNowMs: brokerMs(1_556_040_750_150),
  callbackAtMs: 1_767_225_600_000.25 as WallMs,
  body,
});

const book: Book = { master: accountId("master-1"), epoch: epoch(3), seq: seq(64), brokerNowMs: brokerMs(1_556_040_750_150), positions: [position, extremePosition], pendings: [pending] };

const pairEvent: PairEvent = {
  kind: "pair",
  follower: accountId("follower-100"),
  epoch: epoch(9),
  n: 127,
  pair: {
    link: linkId("link-1"),
    masterTicket: ticket(10_884_298),
    opening: 1,
    master: accountId("master-1"),
    follower: accountId("follower-100"),
    status: "Skipped",
    holds: "position",
    symbol: symbolName("GBPUSD.Z"),
    digits: 4,
    side: "sell",
    followerTicket: null,
    initialVolume: volumeFromLots("0"),
    volume: volumeFromLots("0"),
    masterInitialVolume: volumeFromLots("0.05"),
    masterVolume: volumeFromLots("0.05"),
    openPrice: null,
    stopLoss: null,
    takeProfit: null,
    reason: "price_moved",
    detail: { pricePoints: 12_931, limitPoints: 12_920, side: "sell" },
    changedAtMs: 1_767_225_600_000 as WallMs,
  },
};

const adopted: PairEvent = { kind: "adopted", follower: accountId("follower-100"), epoch: epoch(10), n: 1 };

const order: TimelineEntry = {
  atMs: 1_767_225_600_000.125 as WallMs,
  node: nodeId("node-1"),
  boot: bootId("b0b1c2d3-0000-4000-8000-000000000001"),
  account: accountId("follower-100"),
  epoch: epoch(4_294_967_305),
  event: "order",
  detail: { kind: "open", tag: "mc10884298", volume: 500_000, limitPoints: 12_931, side: "sell", late: false, ticket: null },
};

/** As a drill sees it from outside. */
const fault: TimelineEntry = { ...order, node: null, boot: null, account: null, epoch: null, event: "fault", detail: {} };

const accountState: AccountStateEvent = {
  kind: "account",
  follower: accountId("f1"),
  epoch: epoch(4_294_967_299),
  n: 12,
  state: { connected: false, funds: { balance: 1_000_050 as Cents, equity: -17 as Cents, currency: "EUR" }, lastError: "Verbindung verloren: \u{1F4C9}", changedAtMs: 1_761_000_000_123 as WallMs },
};

export const GOLDEN_RECORDS: readonly GoldenRecord[] = [
  ...Object.values(bodies).map((body) => golden(`tick.1.${body.kind}`, TICK, tick(body))),
  golden("book.1", BOOK, book),
  golden("book.1.empty", BOOK, { ...book, positions: [], pendings: [] }),
  golden("pair-event.1.pair", PAIR_EVENT, pairEvent),
  golden("pair-event.1.adopted", PAIR_EVENT, adopted),
  golden("account-state.1", ACCOUNT_STATE, accountState),
  golden("replay.1.order", REPLAY, order),
  golden("replay.1.fault", REPLAY, fault),
];

const HEX_COLUMNS = 96;

/** The bytes as the golden files hold them: hexadecimal, in lines. */
export function hexLines(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${(hex.match(new RegExp(`.{1,${HEX_COLUMNS}}`, "g")) ?? []).join("\n")}\n`;
}

export const bytesOfHex = (text: string): Uint8Array => Buffer.from(text.replaceAll("\n", ""), "hex");

export const goldenFile = (name: string): URL => new URL(`golden/${name}.hex`, import.meta.url);
