// Owns the cluster's side of the brokers' process: starting it, telling it to play, hearing how far it is,
// and its end.

import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { LockstepError } from "../../protocol/errors.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { within } from "../../protocol/waiting.ts";
import type { PerformanceData, StageAct } from "../demo/performance.ts";
import { exitCodeOfChild, startLaunched } from "../launch.ts";
import type { KeptServer, StageCommand, StageReport } from "./stageMessages.ts";

const MODULE = fileURLToPath(new URL("./stageProcess.mjs", import.meta.url));
/** Files and names need a few; no call of a broker does. */
const POOL_THREADS = 4;
const WHAT = "the brokers' process";
const ANSWER_LIMIT_MS = 60_000;
const END_LIMIT_MS = 30_000;

type ReportKind = StageReport["kind"];

export class ClusterStage {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #waiting = new Map<ReportKind, { readonly resolve: (report: StageReport) => void; readonly reject: (error: Error) => void }>();
  readonly #ended: Promise<unknown>;
  #failure: Error | null = null;
  #isClosed = false;
  /** Scenes of all masters together. */
  played = 0;

  private constructor(clock: Clock) {
    this.#clock = clock;
    this.#child = startLaunched({ module: MODULE, args: [] }, POOL_THREADS);
    this.#ended = exitCodeOfChild(this.#child).then(
      (code) => this.#fail(new LockstepError("stopped", `the brokers' process has ended with exit code ${code}`)),
      (error: Error) => this.#fail(error),
    );
    this.#child.on("message", (report: StageReport) => this.#take(report));
  }

  /** Resolves with the stage and the port of each broker server. @throws LockstepError `stopped`, `unreachable` */
  static async open(performances: readonly PerformanceData[], clock: Clock, keeps: readonly KeptServer[] = []): Promise<{ readonly stage: ClusterStage; readonly ports: readonly number[] }> {
    const stage = new ClusterStage(clock);
    try {
      stage.#tell({ kind: "open", performances, keeps });
      const report = await within(clock, ANSWER_LIMIT_MS, WHAT, stage.#hear("listening"));
      return { stage, ports: report.kind === "listening" ? report.ports : [] };
    } catch (error) {
      await stage.end();
      throw error;
    }
  }

  /** Resolves when all masters have played their last scene. @throws LockstepError `bad_statement`, `stopped` */
  async play(): Promise<void> {
    this.#tell({ kind: "play" });
    await this.#hear("played");
  }

  /** @throws LockstepError `stopped`, `unreachable` */
  async act(act: StageAct): Promise<void> {
    this.#tell({ kind: "act", act });
    await within(this.#clock, ANSWER_LIMIT_MS, WHAT, this.#hear("acted"));
  }

  /** Resolves once an order of one of these accounts waits for its answer. @throws LockstepError `stopped`; `unreachable`: none came */
  async order(accounts: readonly AccountId[], limitMs: number): Promise<void> {
    this.#tell({ kind: "await_order", accounts });
    await within(this.#clock, limitMs, "an order of the accounts that are waited for", this.#hear("order"));
  }

  /** The brokers' logs are complete afterwards. @throws LockstepError `stopped`: they are not */
  async close(): Promise<void> {
    this.#tell({ kind: "close" });
    await within(this.#clock, ANSWER_LIMIT_MS, WHAT, this.#hear("closed"));
    this.#isClosed = true;
    await this.end();
  }

  /** Ends the process, in order or not. */
  async end(): Promise<void> {
    if (!this.#isClosed) this.#child.kill("SIGTERM");
    else if (this.#child.connected) this.#child.disconnect();
    const timer = this.#clock.after(END_LIMIT_MS, () => void this.#child.kill("SIGKILL"));
    await this.#ended;
    timer.cancel();
  }

  #take(report: StageReport): void {
    if (report.kind === "failed") return this.#fail(new LockstepError("bad_statement", report.message));
    if (report.kind === "scene") return void (this.played = report.played);
    this.#waiting.get(report.kind)?.resolve(report);
    this.#waiting.delete(report.kind);
  }

  #tell(command: StageCommand): void {
    // Whoever waits for the answer learns by its end that it is gone.
    if (this.#child.connected) this.#child.send(command, () => undefined);
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
