// Owns how tests look at processes and end them.

import { spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** What a process says first; null when it ends without a word. */
export async function firstLine(child: ChildProcess): Promise<string | null> {
  if (child.stdout === null) return null;
  for await (const line of createInterface(child.stdout)) return line;
  return null;
}

/** Asks a process to end, and waits until it has. */
export async function ended(child: ChildProcess, ask: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  ask();
  await exit;
}

/** A process that ended and was not reaped yet does not run. */
export function isRunning(pid: number): boolean {
  if (process.platform !== "linux") return spawnSync("kill", ["-0", `${pid}`]).status === 0;
  const stat = `/proc/${pid}/stat`; // `ps` is missing in small containers
  return existsSync(stat) && !/\) Z /.test(readFileSync(stat, "utf8"));
}
