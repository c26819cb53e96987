// Owns starting a command in a process whose thread pool has the size it asks for: libuv reads
// UV_THREADPOOL_SIZE once, before any code of ours runs.
//
// 1. The launched process is told to end when its launcher is, and when its launcher is gone,
//    whatever ended it. It has a while to leave nothing behind; then it ends at once.
// 2. The launched process's exit code is the launcher's.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import type { Clock, Timer } from "../protocol/ports/clock.ts";

const SIZE = "UV_THREADPOOL_SIZE";
/** Set in a launched process: it is never launched again, whatever its pool's size. */
const LAUNCHED = "LOCKSTEP_LAUNCHED";
const COMMAND = fileURLToPath(new URL("./bin/lockstep.mjs", import.meta.url));
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies NodeJS.Signals[];
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

export async function launch(args: readonly string[], poolThreads: number, clock: Clock): Promise<Launch> {
  if (process.env[LAUNCHED] !== undefined) return { kind: "here", ending: listenForEnd(clock) };
  const env = { ...process.env, [SIZE]: String(poolThreads), [LAUNCHED]: "1" };
  const child = spawn(process.execPath, [...process.execArgv, COMMAND, ...args], { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    return await new Promise<Launch>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve({ kind: "ran", exitCode: code ?? exitCodeOf(signal ?? "SIGTERM") }));
    });
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}

/** As shells have it. */
const exitCodeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** Invariant 1. */
function listenForEnd(clock: Clock): Ending {
  const controller = new AbortController();
  let told: number | null = null;
  let limit: Timer | null = null;
  const end = (exitCode: number): void => {
    // A terminal tells launcher and launched, and the launcher passes it on: once is enough.
    if (told !== null) return;
    told = exitCode;
    limit = clock.after(LONGEST_END_MS, () => process.exit(exitCode));
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
