// Owns where the files of a run lie: a folder for each run, those of the last few kept.

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const KEPT_RUNS = 3;

/** A folder for this run; those of the runs before the last few are removed. */
export async function runFolder(base: string, run: string, nowMs: number): Promise<string> {
  const name = `${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}-${run}`;
  await mkdir(join(base, name), { recursive: true });
  const runs = (await readdir(base)).sort();
  for (const old of runs.slice(0, -KEPT_RUNS)) await rm(join(base, old), { recursive: true, force: true });
  return join(base, name);
}
