// Owns where the files of a run lie: a folder for each run, those of the last few kept.
//
// 1. A run that goes on keeps its folder, however many began after it. Its folder says who runs: a pid and its command line,
//    since another process may have the pid by now.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commandLine } from "../local/processes.ts";

const KEPT_RUNS = 3;
const RUNNER = ".runner";

/** A folder for this run; those of the runs before the last few are removed. */
export async function runFolder(base: string, run: string, nowMs: number): Promise<string> {
  const folder = join(base, `${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}-${run}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, RUNNER), `${process.pid} ${await commandLine(process.pid)}`);
  const runs = (await readdir(base)).sort().map((name) => join(base, name));
  for (const old of runs.slice(0, -KEPT_RUNS)) {
    if (!(await isRunning(old))) await rm(old, { recursive: true, force: true });
  }
  return folder;
}

async function isRunning(folder: string): Promise<boolean> {
  const runner = await readFile(join(folder, RUNNER), "utf8").catch(() => "");
  const pid = Number.parseInt(runner, 10);
  return pid > 0 && runner === `${pid} ${await commandLine(pid)}`; // (1)
}
