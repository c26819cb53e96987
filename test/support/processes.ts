// Owns how tests look at processes and end them.

import { spawnSync, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** A process that ended and was not reaped yet does not run, nor one that has given its memory back and is just ending. */
export function isRunning(pid: number): boolean {
  if (process.platform !== "linux") return spawnSync("kill", ["-0", `${pid}`]).status === 0;
  const words = `/proc/${pid}/cmdline`; // `ps` is missing in small containers
  try {
    return readFileSync(words).length > 0;
  } catch {
    return false;
  }
}
