// Owns the tests of what is done when a process is gone, whatever ended it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../../support/until.ts";
import { withoutProc } from "../cli/lockstep.ts";

const WILLING = fileURLToPath(new URL("./willing.ts", import.meta.url));

async function willing(t: TestContext, command: string) {
  const child = spawn(process.execPath, ["--import", "tsx", WILLING, command], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lockstep-will-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("killed, it is done", async (t) => {
  const file = join(await folder(t), "done");
  const child = await willing(t, `touch ${file}`);
  assert.ok(!existsSync(file));
  child.kill("SIGKILL");
  await until("it is done", () => existsSync(file));
});

test("taken back, it is never done, and keeps nobody", async (t) => {
  const base = await folder(t);
  const [file, after] = [join(base, "done"), join(base, "after")];
  const child = await willing(t, `touch ${file}`);
  child.stdin.write("take it back\n");
  assert.deepEqual(await once(child, "exit"), [0, null]);
  // One that is done meanwhile, begun later.
  (await willing(t, `touch ${after}`)).kill("SIGKILL");
  await until("the later one is done", () => existsSync(after));
  assert.ok(!existsSync(file));
});

test("a process group that stands still goes on, as drills ask for it", { skip: withoutProc }, async (t) => {
  const still = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  t.after(() => still.kill("SIGKILL"));
  const { pid } = still;
  assert.ok(pid !== undefined);
  const state = (): string => / ([A-Z]) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";
  const child = await willing(t, `kill -s CONT -- -${pid}`);
  process.kill(-pid, "SIGSTOP");
  await until("it stands still", () => state() === "T");
  child.kill("SIGKILL");
  await until("it goes on", () => state() === "S");
});
