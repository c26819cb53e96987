// Owns the demo's stage: a thread of its own with the broker server and the player in it, so that
// the brokers' work does not stand in the copier's way, as it would not in another company's house.

import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../protocol/errors.ts";
import { FileLogSink } from "../broker/logSinks.ts";
import { BROKER_SERVER_DEFAULTS, BrokerServer } from "../broker/server.ts";
import { systemClock } from "../clock.ts";
import type { Cast } from "./cast.ts";
import { Chaos } from "./chaos.ts";
import { play } from "./player.ts";
import type { Scene } from "./script.ts";

export interface StageData {
  readonly cast: Cast;
  readonly scenes: readonly Scene[];
  readonly offsetsMs: readonly number[];
  readonly logFile: string;
  /** Null: nothing goes wrong. */
  readonly chaosSeed: number | null;
  /** The brokers' clock is the wall clock plus this. */
  readonly clockOffsetMs: number;
}

export type StageCommand = { readonly kind: "play" } | { readonly kind: "close" };
export type StageReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "scene"; readonly played: number }
  | { readonly kind: "played" }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };

async function run(): Promise<void> {
  const { cast, scenes, offsetsMs, logFile, chaosSeed, clockOffsetMs } = workerData as StageData;
  const report = (message: StageReport): void => parentPort?.postMessage(message);
  const server = new BrokerServer({
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
  const trader = server.trader(cast.master.account);
  const chaos = chaosSeed === null ? null : new Chaos(server, cast, chaosSeed);
  const onScene = (played: number): void => {
    chaos?.act();
    report({ kind: "scene", played });
  };
  report({ kind: "listening", port: await server.listen(0, "127.0.0.1") });

  parentPort?.on("message", (command: StageCommand) => {
    if (command.kind === "close") {
      void server.close().then(() => {
        report({ kind: "closed" });
        parentPort?.close();
      });
      return;
    }
    play({ server, trader, scenes, offsetsMs, clock: systemClock, onScene }).then(
      () => {
        chaos?.end();
        report({ kind: "played" });
      },
      (error: unknown) => report({ kind: "failed", message: messageOf(error) }),
    );
  });
}

run().catch((error: unknown) => parentPort?.postMessage({ kind: "failed", message: messageOf(error) } satisfies StageReport));
