// Owns starting a command in a process whose thread pool has the size it asks for: libuv reads
// UV_THREADPOOL_SIZE once, before any code of ours runs.
//
// 1. The launched process is told to end when its launcher is, and when its launcher is gone,
//    whatever ended it. It has a while to leave nothing behind; then it ends at once.
// 2. The launched process's exit code is the launcher's.

import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import type { Clock, Timer } from "../protocol/ports/clock.ts";

const SIZE = "UV_THREADPOOL_SIZE";
/** Set in a launched process: it is never launched again, whatever its pool's size. */
const LAUNCHED = "LOCKSTEP_LAUNCHED";
export const COMMAND = fileURLToPath(new URL("./bin/lockstep.mjs", import.meta.url));
export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies NodeJS.Signals[];
const LAUNCHER_GONE = 1;
const LONGEST_END_MS = 20_000;

export type Launch =
  /** Another process ran the command, and this is its exit code. */
  | { readonly kind: "ran"; readonly exitCode: number }
  /** This is the launched process: the command runs here. */
  | { readonly kind: "here"; readonly ending: Ending };

/** Whether this process was told to end. */
export interface Ending {
  readonly signal: AbortSignal;
  /** The exit code that says what told it; null as long as nothing did. */
  exitCode(): number | null;
  /** The command is over: nothing is listened to any more. */
  done(): void;
}

/** A module that runs in a process of its own, and what it is given on its command line. */
export interface LaunchedProgram {
  readonly module: string;
  readonly args: readonly string[];
}

/** Runs the command again in a launched process, or says that this is the one. */
export async function launch(args: readonly string[], poolThreads: number, clock: Clock): Promise<Launch> {
  if (isLaunched()) return { kind: "here", ending: listenForEnd(clock, LONGEST_END_MS) };
  const child = startLaunched({ module: COMMAND, args }, poolThreads);
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    return { kind: "ran", exitCode: await exitCodeOfChild(child) };
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}

/** Whether this process was launched. Asked once: what it starts itself is not. */
export function isLaunched(): boolean {
  const launched = process.env[LAUNCHED] !== undefined;
  delete process.env[LAUNCHED];
  return launched;
}

/** With a channel for messages, whose end tells the launched process that its launcher is gone. */
export function startLaunched({ module, args }: LaunchedProgram, poolThreads: number): ChildProcess {
  const env = { ...process.env, [SIZE]: String(poolThreads), [LAUNCHED]: "1" };
  return spawn(process.execPath, [...process.execArgv, module, ...args], { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
}

/** Resolves when it has ended for certain. Rejects when it could not be started. */
export function exitCodeOfChild(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      // A message that could not be sent is no end.
      if (child.pid === undefined) reject(error);
    });
    child.once("exit", (code, signal) => resolve(code ?? exitCodeOf(signal ?? "SIGTERM")));
  });
}

/** As shells have it. */
export const exitCodeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Invariant 1; `longestEndMs`: after so long it ends at once. */
export function listenForEnd(clock: Clock, longestEndMs: number): Ending {
  const controller = new AbortController();
  let told: number | null = null;
  let limit: Timer | null = null;
  const end = (exitCode: number): void => {
    // A terminal tells launcher and launched, and the launcher passes it on: once is enough.
    if (told !== null) return;
    told = exitCode;
    limit = clock.after(longestEndMs, () => process.exit(exitCode));
    controller.abort();
  };
  const signalled = (signal: NodeJS.Signals): void => end(exitCodeOf(signal));
  const gone = (): void => end(LAUNCHER_GONE);
  for (const signal of SIGNALS) process.on(signal, signalled);
  process.once("disconnect", gone);
  process.channel?.unref();
  // Gone before anybody listened.
  if (process.channel === undefined) gone();
  return {
    signal: controller.signal,
    exitCode: () => told,
    done() {
      limit?.cancel();
      for (const signal of SIGNALS) process.off(signal, signalled);
      process.off("disconnect", gone);
    },
  };
}
