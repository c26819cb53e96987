// Owns one performance: a broker server with its log file, and who trades on its master: the player as the
// script says, or whoever trades what is generated until told to stop.

import { unreachable } from "../../protocol/errors.ts";
import { symbolName, type AccountId } from "../../protocol/ids.ts";
import type { BrokerLogSink } from "../broker/log.ts";
import { systemClock, systemRandom } from "../clock.ts";
import { FileLogSink } from "../broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../broker/server.ts";
import type { Cast } from "./cast.ts";
import { play } from "./player.ts";
import type { Scene } from "./script.ts";
import { Trading, type TradingPlan } from "./trading.ts";

/** To all masters or brokers at once. */
export type StageAct =
  /** Masters begin to trade what is generated, or go on. */
  | "trade"
  /** They trade faster, until they `calm` down. */
  | "burst"
  | "calm"
  /** They close every other trade and stand still. */
  | "stand"
  /** Broker servers restart: connections end, what is open stays; nobody can trade meanwhile. */
  | "down"
  | "up";

/** Everything can be sent to another thread or process. */
export interface PerformanceData {
  readonly cast: Cast;
  readonly scenes: readonly Scene[];
  /** When each scene begins, from the start. */
  readonly offsetsMs: readonly number[];
  readonly logFile: string;
  /** The brokers' clock is the wall clock plus this. */
  readonly clockOffsetMs: number;
  /** What is generated, where it is that. */
  readonly trading?: TradingPlan;
}

export class Performance {
  readonly server: BrokerServer;
  readonly #data: PerformanceData;
  #trading: Trading | null = null;

  /**
   * @param onOrder told of every order that a copier's connection brings
   * @throws LockstepError `configuration`: accounts that do not fit together, a log file that is there already
   */
  constructor(data: PerformanceData, onOrder: ((account: AccountId) => void) | null = null) {
    const { cast, scenes, logFile, clockOffsetMs } = data;
    this.#data = data;
    this.server = new BrokerServer({
      ...BROKER_SERVER_DEFAULTS,
      // However many trades of the statement are open at once.
      maxOpen: Math.max(BROKER_SERVER_DEFAULTS.maxOpen, scenes.length),
      instruments: cast.instruments,
      accounts: [cast.master, ...cast.followers.map((follower) => follower.broker)],
      clock: systemClock,
      timeBaseMs: () => systemClock.wallMs(),
      clockOffsetMs,
      logSinks: [new FileLogSink(logFile), ...(onOrder === null ? [] : [ear(onOrder)])],
    });
  }

  /** Resolves with the port. */
  listen(): Promise<number> {
    return this.server.listen(0, "127.0.0.1");
  }

  /** Resolves when the last scene is over. @throws LockstepError `bad_statement` */
  play(onScene: (played: number) => void): Promise<void> {
    const { cast, scenes, offsetsMs } = this.#data;
    return play({ server: this.server, trader: this.server.trader(cast.master.account), scenes, offsetsMs, clock: systemClock, onScene });
  }

  async act(act: StageAct): Promise<void> {
    const { server } = this;
    const { cast, trading: plan } = this.#data;
    if (plan === undefined) return;
    this.#trading ??= new Trading({ ...plan, server, trader: server.trader(cast.master.account), markets: cast.instruments.map(({ name, digits }) => ({ symbol: symbolName(name), digits })), clock: systemClock, random: systemRandom });
    const trading = this.#trading;
    switch (act) {
      case "trade":
        return trading.start();
      case "burst":
      case "calm":
        return trading.burst(act === "burst");
      case "stand":
        return trading.stop();
      case "down":
        trading.pause();
        return server.down();
      case "up":
        server.up();
        return trading.start();
      default:
        return unreachable(act);
    }
  }

  /** The log is complete afterwards. */
  close(): Promise<void> {
    this.#trading?.pause();
    return this.server.close();
  }
}

/** Hears orders as they are written down. */
const ear = (onOrder: (account: AccountId) => void): BrokerLogSink => ({
  write(entry) {
    if (entry.kind === "request" && entry.by.kind === "connection") onOrder(entry.account);
  },
  flush: () => undefined,
  close: () => undefined,
});
