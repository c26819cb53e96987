// Owns the demo's stage: a thread of its own with the broker server and the player in it, so that
// the brokers' work does not stand in the copier's way, as it would not in another company's house.

import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../protocol/errors.ts";
import { Chaos } from "./chaos.ts";
import { Performance, type PerformanceData } from "./performance.ts";

export interface StageData extends PerformanceData {
  /** Null: nothing goes wrong. */
  readonly chaosSeed: number | null;
}

export type StageCommand = { readonly kind: "play" } | { readonly kind: "close" };
export type StageReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "scene"; readonly played: number }
  | { readonly kind: "played" }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };

async function run(): Promise<void> {
  const { chaosSeed, ...data } = workerData as StageData;
  const report = (message: StageReport): void => parentPort?.postMessage(message);
  const performance = new Performance(data);
  const chaos = chaosSeed === null ? null : new Chaos(performance.server, data.cast, chaosSeed);
  const onScene = (played: number): void => {
    chaos?.act();
    report({ kind: "scene", played });
  };
  report({ kind: "listening", port: await performance.listen() });

  parentPort?.on("message", (command: StageCommand) => {
    if (command.kind === "close") {
      void performance.close().then(() => {
        report({ kind: "closed" });
        parentPort?.close();
      });
      return;
    }
    performance.play(onScene).then(
      () => {
        chaos?.end();
        report({ kind: "played" });
      },
      (error: unknown) => report({ kind: "failed", message: messageOf(error) }),
    );
  });
}

run().catch((error: unknown) => parentPort?.postMessage({ kind: "failed", message: messageOf(error) } satisfies StageReport));
