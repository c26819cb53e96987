// Owns one node of the cluster as its processes: started as a user would, told to end, struck, ended for certain.
//
// 1. It is a process group of its own: a terminal's ctrl-C reaches it through us alone, and what does not
//    end in time is ended whole, parent and child.
// 2. It has a channel to us and says nothing on it: when we are gone, whatever ended us, it ends.
// 3. All it says goes into one file.
// 4. Struck, it may end as it likes: that is what was done to it. Frozen, it is thawed when we are gone, whatever
//    ended us: a stopped process hears nothing of (2).

import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { pause } from "../../protocol/waiting.ts";
import { COMMAND, exitCodeOfChild } from "../launch.ts";
import { onceWeAreGone } from "../local/lastWill.ts";
import { childrenOf, signalIfAlive } from "../local/processes.ts";

export interface NodeRunOptions {
  readonly name: string;
  /** As on the command line. */
  readonly settings: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly clock: Clock;
}

/** Longer than a node gives itself. */
const DRAIN_LIMIT_MS = 50_000;
const HURRIED_LIMIT_MS = 15_000;
const LEFT_POLL_MS = 100;
const READY = /^node \S+ ready, http (\S+)$/m;

export class NodeRun {
  readonly name: string;
  /** With its exit code; never rejects. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  #out = "";
  #exitCode: number | null = null;
  #told = false;
  #struck = false;
  #forgetThaw: (() => void) | null = null;
  /** The parent has ended and its child has not. */
  #leftChild = false;

  constructor({ name, settings, env, logFile, clock }: NodeRunOptions) {
    this.name = name;
    this.#clock = clock;
    const file = openSync(logFile, "a");
    this.#child = spawn(process.execPath, [...process.execArgv, COMMAND, "node", "--node-name", name, ...settings], { env, detached: true, stdio: ["ignore", "pipe", file, "ipc"] }); // (1, 2)
    closeSync(file);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#out += text;
      void appendFile(logFile, text).catch(() => undefined); // (3)
    });
    this.ended = exitCodeOfChild(this.#child)
      .catch(() => 1)
      .then((code) => {
        if (code !== 0) this.#watchLeft();
        return (this.#exitCode = code);
      });
  }

  /** `host:port` of its HTTP, once it is ready. */
  get address(): string | null {
    return READY.exec(this.#out)?.[1] ?? null;
  }

  /** Null while it runs. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Whether it was told to end. */
  get told(): boolean {
    return this.#told;
  }

  /** Something was done to it, or to what it needs, after which it may end (4). */
  get isStruck(): boolean {
    return this.#struck;
  }

  markStruck(): void {
    this.#struck = true;
  }

  /**
   * Resolves with what does it, at once when it is called: to the node's own process, whose parent lives (and reaps it); or to
   * parent and child in the same instant, as when their machine dies or stands still. Nobody aims at what has ended.
   * `busy_loop` is the signal alone: what the node does then is up to a module that it was told to load.
   * @throws LockstepError `stopped`: it has ended
   */
  async aim(at: "kill_child" | "kill_host" | "freeze" | "busy_loop"): Promise<() => void> {
    const { pid } = this.#child;
    const [child] = pid === undefined ? [] : await childrenOf(pid);
    if (pid === undefined || child === undefined) throw new LockstepError("stopped", `node ${this.name} has ended`);
    const forget = at === "freeze" ? await onceWeAreGone(`kill -s CONT -- -${pid}`) : null; // (4)
    return () => {
      this.#struck = true;
      if (at === "kill_child" || at === "busy_loop") return signalIfAlive(child, at === "kill_child" ? "SIGKILL" : "SIGUSR2");
      if (forget !== null) this.#forgetThaw = forget;
      this.#signalGroup(at === "freeze" ? "SIGSTOP" : "SIGKILL");
    };
  }

  /** Of one that will be frozen again. Nothing happens to one that was not. */
  breathe(): void {
    if (this.#forgetThaw !== null) this.#signalGroup("SIGCONT");
  }

  /** Nothing happens to one that was not frozen. */
  thaw(): void {
    this.breathe();
    this.#forgetThaw?.();
    this.#forgetThaw = null;
  }

  /** Ends in order; resolves with the exit code, null when it had to be killed. */
  async drain(): Promise<number | null> {
    this.#tell("SIGTERM");
    return (await this.#endsWithin(DRAIN_LIMIT_MS)) ? this.#exitCode : this.#kill();
  }

  /** Ends soon, in order if it can. */
  async end(): Promise<void> {
    this.thaw();
    this.#tell("SIGTERM");
    if (!(await this.#endsWithin(HURRIED_LIMIT_MS))) await this.#kill();
    while (this.#leftChild && this.#signalGroup("SIGKILL")) await pause(this.#clock, LEFT_POLL_MS);
  }

  /** To its parent, which passes it on. */
  #tell(signal: NodeJS.Signals): void {
    if (this.#told || this.#exitCode !== null) return;
    this.#told = true;
    this.#child.kill(signal);
  }

  async #kill(): Promise<null> {
    this.#signalGroup("SIGKILL");
    await this.ended;
    return null;
  }

  /** As long as somebody is in the group its number is nobody else's. */
  #watchLeft(): void {
    this.#leftChild = this.#signalGroup(0);
    if (this.#leftChild) this.#clock.after(LEFT_POLL_MS, () => this.#watchLeft());
  }

  /** False: there is nobody in its group. */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child;
    try {
      return pid !== undefined && process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  #endsWithin(limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(limitMs, () => resolve(false));
      void this.ended.then(() => {
        timer.cancel();
        resolve(true);
      });
    });
  }
}
