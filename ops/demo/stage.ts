// Owns the demo's side of the stage thread: starting it, telling it to play, hearing how far it is.

import { Worker } from "node:worker_threads";
import { LockstepError } from "../../protocol/errors.ts";
import type { StageCommand, StageData, StageReport } from "./stageWorker.ts";

/** Brokers' clocks are hours from ours as a rule. */
export const CLOCK_OFFSET_MS = 2 * 3_600_000;

type ReportKind = StageReport["kind"];

export class Stage {
  readonly #worker: Worker;
  readonly #waiting = new Map<ReportKind, { readonly resolve: (report: StageReport) => void; readonly reject: (error: Error) => void }>();
  #failure: Error | null = null;

  private constructor(data: StageData, onScene: (played: number) => void) {
    this.#worker = new Worker(new URL("./stageThread.mjs", import.meta.url), { workerData: data });
    this.#worker.on("message", (report: StageReport) => {
      if (report.kind === "failed") return this.#fail(new LockstepError("bad_statement", report.message));
      if (report.kind === "scene") return onScene(report.played);
      this.#waiting.get(report.kind)?.resolve(report);
      this.#waiting.delete(report.kind);
    });
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new LockstepError("stopped", "the demo's stage has ended")));
  }

  /** Resolves with the stage and the broker server's port. */
  static async open(data: Omit<StageData, "clockOffsetMs">, onScene: (played: number) => void): Promise<{ readonly stage: Stage; readonly port: number }> {
    const stage = new Stage({ ...data, clockOffsetMs: CLOCK_OFFSET_MS }, onScene);
    try {
      const report = await stage.#hear("listening");
      return { stage, port: report.kind === "listening" ? report.port : 0 };
    } catch (error) {
      await stage.#worker.terminate();
      throw error;
    }
  }

  async play(): Promise<void> {
    this.#tell({ kind: "play" });
    await this.#hear("played");
  }

  /** Ends the brokers; their log is complete afterwards. */
  async close(): Promise<void> {
    if (this.#failure === null) {
      this.#tell({ kind: "close" });
      await this.#hear("closed");
    }
    await this.#worker.terminate();
  }

  #tell(command: StageCommand): void {
    this.#worker.postMessage(command);
  }

  #hear(kind: ReportKind): Promise<StageReport> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => this.#waiting.set(kind, { resolve, reject }));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
