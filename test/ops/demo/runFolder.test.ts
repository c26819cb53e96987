// Owns what must hold of the folders that runs leave: the last few stay, and nobody's is taken away while he runs.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runFolder } from "../../../ops/demo/runFolder.ts";
import { commandLine } from "../../../ops/local/processes.ts";

const START_MS = Date.UTC(2026, 0, 31);

test("the folders of the last three runs stay, and of those before them whoever's run goes on", async (t) => {
  const base = await mkdtemp(join(tmpdir(), "lockstep-runs-"));
  const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const ended = once(other, "exit");
  t.after(async () => {
    other.kill("SIGKILL");
    await ended;
    await rm(base, { recursive: true });
  });
  await once(other, "spawn");
  const begin = async (run: string, n: number, runner: string): Promise<void> => {
    const folder = await runFolder(base, run, START_MS + n);
    const words = await readFile(join(folder, ".runner"), "utf8");
    assert.equal(words, `${process.pid} ${await commandLine(process.pid)}`);
    await writeFile(join(folder, ".runner"), runner);
  };
  const there = async (): Promise<string[]> => (await readdir(base)).map((name) => name.split("-").at(-1) ?? "").sort();

  await begin("running", 1, `${other.pid} ${await commandLine(other.pid ?? 0)}`);
  await begin("reused", 2, `${other.pid} node of another run`);
  await begin("gone", 3, "0 node");
  for (const [index, run] of ["x", "y", "z"].entries()) await begin(run, 4 + index, "");
  assert.deepEqual(await there(), ["running", "x", "y", "z"]);

  other.kill("SIGKILL");
  await ended;
  await begin("zz", 9, "");
  assert.deepEqual(await there(), ["y", "z", "zz"]);
});
