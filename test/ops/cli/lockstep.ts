// Owns how tests run the real command in processes of its own, and see whether any is left.
//
// 1. Each run is marked in its environment, which its children inherit: whatever still has the mark is
//    left over. The embedded PostgreSQL inherits nothing and is found by its data folder.

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../ops/clock.ts";
import { sharedPostgres } from "../../support/postgres.ts";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BIN = join(ROOT, "ops/bin/lockstep.mjs");
const MARK = "LOCKSTEP_TEST_MARK";
/** Why it cannot be seen here whether a process is left, or false. */
export const withoutProc = existsSync("/proc/self/environ") ? false : "there is no /proc on this system";

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Command {
  readonly child: ChildProcess;
  readonly err: () => string;
  readonly out: () => string;
  readonly ended: Promise<Ended>;
  /** The processes of this run that live: its own, its children's, its database's. */
  readonly left: () => number[];
  /** Its state folder; empty at first. */
  readonly stateDir: string;
}

export interface CommandOptions {
  /** `shared`: the database of the tests. `embedded`: one of the command's own, in its state folder. */
  readonly database?: "shared" | "embedded";
  /** Another program than the command: what Node is given before the arguments. */
  readonly program?: readonly string[];
  /** Over the inherited environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the command in a process group of its own, as a terminal does. All of it is gone after the test. */
export async function startCommand(t: TestContext, args: readonly string[], { database = "shared", program = [BIN], env: own = {} }: CommandOptions = {}): Promise<Command> {
  const mark = randomUUID();
  const stateDir = await mkdtemp(join(tmpdir(), "lockstep-cli-"));
  await chmod(stateDir, 0o1777);
  const { DATABASE_URL: _url, LOCKSTEP_TEST_DATABASE_URL: _testUrl, UV_THREADPOOL_SIZE: _pool, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const env = { ...inherited, [MARK]: mark, LOCKSTEP_STATE_DIR: stateDir, ...(database === "shared" ? { DATABASE_URL: await sharedPostgres() } : {}), ...own };
  const child = spawn(process.execPath, [...program, ...args], { cwd: ROOT, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const left = (): number[] => processes((environment, commandLine) => environment.includes(`${MARK}=${mark}`) || commandLine.includes(stateDir));
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, out, err }));
  });
  t.after(async () => {
    for (const pid of left()) kill(pid);
    await ended;
    await rm(stateDir, { recursive: true, force: true, maxRetries: 5 });
  });
  return { child, err: () => err, out: () => out, ended, left, stateDir };
}

/** Runs the command to its end. */
export async function runCommand(t: TestContext, args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return (await startCommand(t, args, options)).ended;
}

/** Resolves when the command has written something that matches; rejects when it ends before. */
export async function says(command: Command, stream: "out" | "err", pattern: RegExp): Promise<void> {
  const readable = stream === "out" ? command.child.stdout : command.child.stderr;
  const isSaid = (): boolean => pattern.test(command[stream]());
  await new Promise<void>((resolve, reject) => {
    const look = (): void => {
      if (!isSaid()) return;
      readable?.off("data", look);
      resolve();
    };
    readable?.on("data", look);
    look();
    void command.ended.then(({ code, err }) => reject(new Error(`it ended with code ${code} and never said ${pattern}: ${err}`)), reject);
  });
}

/** A PostgreSQL that is told to stop may take its time on a busy machine. */
const PATIENCE_MS = 60_000;

export async function nothingLeft(command: Command): Promise<void> {
  const limitMs = systemClock.monotonicMs() + PATIENCE_MS;
  for (let left = command.left(); left.length > 0; left = command.left()) {
    if (systemClock.monotonicMs() > limitMs) throw new Error(`processes ${left.join(", ")} of ${command.child.spawnargs.slice(2).join(" ")} are left after ${PATIENCE_MS} ms`);
    await new Promise<void>((resolve) => void systemClock.after(20, resolve));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

/** None where there is no /proc. */
function processes(isMeant: (environment: string, commandLine: string) => boolean): number[] {
  if (withoutProc !== false) return [];
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    // A process that ended meanwhile has no files any more, a zombie has empty ones.
    const read = (file: string): string => {
      try {
        return readFileSync(`/proc/${name}/${file}`, "latin1");
      } catch {
        return "";
      }
    };
    return isMeant(read("environ"), read("cmdline"));
  }).map(Number);
}
