// Owns statements made at random: few prices, few seconds and few symbols, so that trades overlap,
// happen at once and stand in each other's way.
//
// 1. Each row by itself is what a broker can write. Two rows need not fit together: real ones, of
//    prices seen only now and then, do not either.

import fc from "fast-check";
import { pendingSide, type PendingKind, type Side } from "../../../protocol/trades.ts";
import { lotsText, priceText, type Points, type VolumeUnits } from "../../../protocol/units.ts";
import type { Statement } from "../../../ops/statement/model.ts";
import { statementOf, type StatementRow } from "./mt4Html.ts";

const SPREAD = 2;
/** Points: the largest distance between two prices of one symbol, about. */
const WIDTH = 15;

interface Market {
  readonly name: string;
  readonly digits: number;
  readonly middle: number;
  /** When the statement is made. */
  readonly bid: number;
}

const offset = fc.integer({ min: -WIDTH, max: WIDTH });
const seconds = fc.integer({ min: 0, max: 12 });
const lots = fc.integer({ min: 1, max: 300 });
/** Where a stop or target is: nowhere, somewhere, at the close, a point from it, or at the open. */
const levelChoice = fc.oneof(fc.constant("none" as const), fc.constant("close" as const), fc.constant("beside" as const), fc.constant("open" as const), offset);
type LevelChoice = typeof levelChoice extends fc.Arbitrary<infer T> ? T : never;

const tradeChoice = fc.record({
  market: fc.nat(),
  side: fc.constantFrom<Side>("buy", "sell"),
  openSecond: seconds,
  openOffset: offset,
  /** One for each row; the last row may be open. */
  rows: fc.array(fc.record({ afterSeconds: seconds, closeOffset: offset, volume: lots, stop: levelChoice, target: levelChoice }), { minLength: 1, maxLength: 3 }),
  isOpen: fc.boolean(),
  mark: fc.constantFrom("", "", "", "[sl]", "[tp]", "[sl/gap]", "so: 50%/1/2"),
});

const pendingChoice = fc.record({
  market: fc.nat(),
  kind: fc.constantFrom<PendingKind>("buy_limit", "sell_limit", "buy_stop", "sell_stop"),
  placedSecond: seconds,
  afterSeconds: seconds,
  priceOffset: offset,
  marketOffset: offset,
  volume: lots,
  stop: offset,
  target: offset,
  isWorking: fc.boolean(),
});

const marketChoice = fc.record({ digits: fc.integer({ min: 0, max: 5 }), middle: fc.integer({ min: WIDTH + SPREAD + 40, max: 200_000 }), bidOffset: offset });

export const randomStatement: fc.Arbitrary<Statement> = fc
  .record({
    markets: fc.array(marketChoice, { minLength: 1, maxLength: 3 }),
    trades: fc.array(tradeChoice, { minLength: 0, maxLength: 10 }),
    pendings: fc.array(pendingChoice, { minLength: 0, maxLength: 4 }),
  })
  .filter(({ trades, pendings }) => trades.length + pendings.length > 0)
  .map(({ markets: choices, trades, pendings }) => {
    const markets = choices.map(({ digits, middle, bidOffset }, index): Market => ({ name: `sym${index}.`, digits, middle, bid: middle + bidOffset }));
    const of = (nat: number): Market => markets[nat % markets.length] as Market;
    let last = 100;
    const rows: StatementRow[] = [];
    for (const trade of trades) {
      const tickets = trade.rows.map(() => ++last);
      rows.push(...tradeRows(of(trade.market), trade, tickets));
    }
    for (const pending of pendings) rows.push(pendingRow(of(pending.market), pending, ++last));
    return statementOf(rows);
  });

const hundredths = (lots: number): string => lotsText((lots * 1_000_000) as VolumeUnits);

function levelPrice(choice: LevelChoice, open: number, close: number): number {
  switch (choice) {
    case "none":
      return 0;
    case "close":
      return close;
    case "beside":
      return close + 1;
    case "open":
      return open;
    default:
      return open + choice;
  }
}

type TradeChoice = typeof tradeChoice extends fc.Arbitrary<infer T> ? T : never;

function tradeRows(market: Market, { side, openSecond, openOffset, rows, isOpen, mark }: TradeChoice, tickets: readonly number[]): StatementRow[] {
  const text = (points: number): string => priceText(points as Points, market.digits);
  const open = market.middle + openOffset;
  let second = openSecond;
  return rows.map(({ afterSeconds, closeOffset, volume, stop, target }, index) => {
    second += afterSeconds;
    const isLast = index === rows.length - 1;
    const stands = isOpen && isLast;
    const last = stands ? market.bid + (side === "buy" ? 0 : SPREAD) : market.middle + closeOffset;
    const chain = isLast ? (index === 0 ? "" : `from #${tickets[index - 1]}`) : `to #${tickets[index + 1]}`;
    return {
      ticket: tickets[index] ?? 0,
      type: side,
      symbol: market.name,
      lots: hundredths(volume),
      openSecond,
      price: text(open),
      stopLoss: text(levelPrice(stop, open, last)),
      takeProfit: text(levelPrice(target, open, last)),
      closeSecond: stands ? null : second,
      lastPrice: text(last),
      comment: `${chain}${isLast && !isOpen ? mark : ""}`,
    };
  });
}

type PendingChoice = typeof pendingChoice extends fc.Arbitrary<infer T> ? T : never;

function pendingRow(market: Market, choice: PendingChoice, number: number): StatementRow {
  const { kind, placedSecond, afterSeconds, priceOffset, marketOffset, volume, stop, target, isWorking } = choice;
  const text = (points: number): string => priceText(points as Points, market.digits);
  const now = market.bid + (pendingSide(kind) === "buy" ? SPREAD : 0);
  const below = kind === "buy_limit" || kind === "sell_stop";
  // What still works has not been reached by the market of the statement's end.
  const price = isWorking ? now + (below ? -1 - Math.abs(priceOffset) : 1 + Math.abs(priceOffset)) : market.middle + priceOffset;
  return {
    ticket: number,
    type: kind,
    symbol: market.name,
    lots: hundredths(volume),
    openSecond: placedSecond,
    price: text(price),
    stopLoss: text(stop === 0 ? 0 : price + stop),
    takeProfit: text(target === 0 ? 0 : price + target),
    closeSecond: isWorking ? null : placedSecond + afterSeconds,
    lastPrice: text(isWorking ? now : market.middle + marketOffset),
  };
}
