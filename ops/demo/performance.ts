// Owns one performance: a broker server with its log file, and the player who trades on its master
// as the script says.

import { systemClock } from "../clock.ts";
import { FileLogSink } from "../broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../broker/server.ts";
import type { Cast } from "./cast.ts";
import { play } from "./player.ts";
import type { Scene } from "./script.ts";

/** Everything can be sent to another thread or process. */
export interface PerformanceData {
  readonly cast: Cast;
  readonly scenes: readonly Scene[];
  /** When each scene begins, from the start. */
  readonly offsetsMs: readonly number[];
  readonly logFile: string;
  /** The brokers' clock is the wall clock plus this. */
  readonly clockOffsetMs: number;
}

export class Performance {
  readonly server: BrokerServer;
  readonly #data: PerformanceData;

  /** @throws LockstepError `configuration`: accounts that do not fit together, a log file that is there already */
  constructor(data: PerformanceData) {
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
      logSinks: [new FileLogSink(logFile)],
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

  /** The log is complete afterwards. */
  close(): Promise<void> {
    return this.server.close();
  }
}
