// Owns looking at processes that we did not start, or no longer know to be ours, and ending them.
//
// 1. A process is recognised by its command line: a pid alone says nothing, another process may
//    have it by now.

import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";
import type { Clock } from "../../protocol/ports/clock.ts";
import { pause } from "../../protocol/waiting.ts";

const POLL_MS = 25;

/** Words joined by spaces; empty for a process that is gone, or that ended and was not reaped. */
export async function commandLine(pid: number): Promise<string> {
  if (process.platform === "linux") return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ");
  return (await promisify(execFile)("ps", ["-ww", "-o", "command=", "-p", `${pid}`]).catch(() => ({ stdout: "" }))).stdout;
}

/** The processes whose command line has `word`, with their command lines. */
export async function processesWith(word: string): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const pid of await allPids()) {
    const line = ` ${await commandLine(pid)} `;
    if (line.includes(` ${word} `)) found.set(pid, line); // (1)
  }
  return found;
}

/** Those that a process has started and that are not reaped yet. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text =
    process.platform === "linux"
      ? await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "")
      : (await promisify(execFile)("pgrep", ["-P", `${pid}`]).catch(() => ({ stdout: "" }))).stdout;
  return text.split(/\s+/).filter((word) => word !== "").map(Number);
}

async function allPids(): Promise<number[]> {
  const names = process.platform === "linux" ? await readdir("/proc") : (await promisify(execFile)("ps", ["-A", "-o", "pid="])).stdout.split("\n");
  return names.map(Number).filter((pid) => Number.isInteger(pid) && pid > 0 && pid !== process.pid);
}

/** Sends a signal, and waits until the process is gone; false when it is not within the limit. `word` is in its command line. */
export async function endProcess(pid: number, word: string, signal: NodeJS.Signals, limitMs: number, clock: Clock): Promise<boolean> {
  const runs = async (): Promise<boolean> => ` ${await commandLine(pid)} `.includes(` ${word} `);
  const deadline = clock.monotonicMs() + limitMs;
  if (!(await runs())) return true;
  signalIfAlive(pid, signal);
  while (await runs()) {
    if (clock.monotonicMs() >= deadline) return false;
    await pause(clock, POLL_MS);
  }
  return true;
}

export function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
