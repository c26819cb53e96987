// Owns starting a command in a process whose thread pool has the size it asks for: libuv reads
// UV_THREADPOOL_SIZE once, before any code of ours runs.
//
// 1. The child ends when its launcher does, whatever ended it.
// 2. The child's exit code is the launcher's.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const SIZE = "UV_THREADPOOL_SIZE";
/** Set in a launched process: it is never launched again, whatever its pool's size. */
const LAUNCHED = "LOCKSTEP_LAUNCHED";
const COMMAND = fileURLToPath(new URL("./bin/lockstep.mjs", import.meta.url));
const SIGNALLED = 128;

/** Null when this process is the launched one, and the command should run here; else the exit code of the process that ran it. */
export async function launch(args: readonly string[], poolThreads: number): Promise<number | null> {
  if (process.env[LAUNCHED] !== undefined) {
    // Invariant 1.
    process.once("disconnect", () => process.exit(1));
    process.channel?.unref();
    return null;
  }
  const env = { ...process.env, [SIZE]: String(poolThreads), [LAUNCHED]: "1" };
  const child = spawn(process.execPath, [...process.execArgv, COMMAND, ...args], { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", forward);
  process.on("SIGTERM", forward);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(code ?? SIGNALLED + (signal === "SIGINT" ? 2 : 15)));
    });
  } finally {
    process.off("SIGINT", forward);
    process.off("SIGTERM", forward);
  }
}
