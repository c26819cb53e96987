// Owns trading that is generated instead of a statement: a person at the master's terminal who opens, changes,
// part-closes and closes at a steady rate until told to stop.
//
// 1. The rate is steady; what is done is drawn. At most `MOST_OPEN` trades stand at once, so that some of
//    them are open for longer than a takeover takes.
// 2. Prices walk, and never so far that a stop or target is hit or a copy slips: what ends a trade is the
//    trader alone.
// 3. Told to stop, it closes every other trade at its own pace and stands still with the rest: there is something
//    to compare.

import type { SymbolName, Ticket } from "../../protocol/ids.ts";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";
import type { Position } from "../../protocol/trades.ts";
import { pause } from "../../protocol/waiting.ts";
import { volumeFromLots, type Points, type VolumeUnits } from "../../protocol/units.ts";
import type { BrokerServer } from "../broker/server.ts";
import type { Trader, TraderOutcome } from "../broker/trader.ts";

export interface TradingPlan {
  /** One act in so many milliseconds on average. */
  readonly everyMs: number;
  /** And in a burst. */
  readonly burstEveryMs: number;
}

interface Market {
  readonly symbol: SymbolName;
  readonly digits: number;
}

export interface TradingOptions extends TradingPlan {
  readonly server: BrokerServer;
  readonly trader: Trader;
  /** Instruments of the server, whose names the trader's symbols have. */
  readonly markets: readonly Market[];
  readonly clock: Clock;
  readonly random: Random;
}

const MOST_OPEN = 16;
/** Every volume can be halved once, on every follower's grid. */
const LOTS: readonly VolumeUnits[] = ["0.20", "0.40", "0.80"].map(volumeFromLots);
const WALK_POINTS = 20;
const STEP_POINTS = 4;
const SPREAD_POINTS = 10;
const STOP_POINTS = 500;
const START_PRICE = 1.1;

export class Trading {
  readonly #options: TradingOptions;
  /** From the starting price, by symbol. */
  readonly #walked = new Map<SymbolName, number>();
  readonly #halved = new Set<Ticket>();
  #timer: Timer | null = null;
  #everyMs: number;
  #refused = 0;

  constructor(options: TradingOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs;
    for (const market of options.markets) this.#quote(market);
  }

  /** Acts that the broker would not do: none, unless its server is in trouble. */
  get refused(): number {
    return this.#refused;
  }

  start(): void {
    this.#timer ??= this.#after();
  }

  /** Trades stand as they are until `start`. */
  pause(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  burst(on: boolean): void {
    this.#everyMs = on ? this.#options.burstEveryMs : this.#options.everyMs;
    if (this.#timer === null) return;
    this.pause();
    this.start();
  }

  /** Invariant 3. */
  async stop(): Promise<void> {
    this.pause();
    const { trader, clock, everyMs } = this.#options;
    for (const [index, { ticket }] of trader.positions().entries()) {
      if (index % 2 !== 0) continue;
      this.#count(trader.close(ticket));
      await pause(clock, everyMs / 2);
    }
  }

  #after(): Timer {
    const { clock, random } = this.#options;
    return clock.after(this.#everyMs * (0.5 + random.next()), () => {
      this.#act();
      this.#timer = this.#after();
    });
  }

  #act(): void {
    const { trader } = this.#options;
    this.#quote(this.#oneOf(this.#options.markets));
    const positions = trader.positions();
    const position = positions.length === 0 ? null : this.#oneOf(positions);
    const drawn = this.#options.random.next();
    if (position === null || (drawn < 0.4 && positions.length < MOST_OPEN)) return this.#open();
    if (drawn < 0.6) return this.#count(trader.modify(position.ticket, this.#stops(position)));
    if (drawn < 0.75 && !this.#halved.has(position.ticket)) return this.#halve(position);
    this.#count(trader.close(position.ticket));
    this.#halved.delete(position.ticket);
  }

  #open(): void {
    const { trader, markets, random } = this.#options;
    const { symbol } = this.#oneOf(markets);
    this.#count(trader.open({ symbol, side: random.next() < 0.5 ? "buy" : "sell", volume: this.#oneOf(LOTS) }));
  }

  #halve({ ticket, volume }: Position): void {
    const outcome = this.#options.trader.partClose(ticket, (volume / 2) as VolumeUnits);
    this.#count(outcome);
    if (outcome.left !== null) this.#halved.add(outcome.left);
  }

  /** Far from the market, and other ones than before. */
  #stops({ side, openPrice, stopLoss }: Position): { readonly stopLoss: Points; readonly takeProfit: Points } {
    const drawn = STOP_POINTS + 10 * Math.floor(this.#options.random.next() * STOP_POINTS);
    const away = stopLoss !== null && Math.abs(openPrice - stopLoss) === drawn ? drawn + 10 : drawn;
    const below = (openPrice - away) as Points;
    const above = (openPrice + away) as Points;
    return side === "buy" ? { stopLoss: below, takeProfit: above } : { stopLoss: above, takeProfit: below };
  }

  #quote({ symbol, digits }: Market): void {
    const step = Math.round((this.#options.random.next() * 2 - 1) * STEP_POINTS);
    const walked = Math.max(-WALK_POINTS, Math.min(WALK_POINTS, (this.#walked.get(symbol) ?? 0) + step));
    this.#walked.set(symbol, walked);
    const bid = Math.round(START_PRICE * 10 ** digits) + walked;
    this.#options.server.setQuotes([{ instrument: symbol, bid: bid as Points, ask: (bid + SPREAD_POINTS) as Points }]); // 2
  }

  #count({ refusal }: TraderOutcome): void {
    if (refusal !== null) this.#refused += 1;
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[Math.floor(this.#options.random.next() * list.length)] as T;
  }
}
