// Owns how tests start processes that share an embedded PostgreSQL, and look at its server.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../../ops/clock.ts";
import { CLONE_FOLDER } from "../../../ops/local/stateFolder.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../../ops/postgres/embedded.ts";
import { serviceUser } from "../../../ops/postgres/serviceUser.ts";
import { ended, firstLine } from "../../support/processes.ts";
import { silent } from "../../support/silent.ts";

const MEMBER = fileURLToPath(new URL("./member.ts", import.meta.url));
export const isRoot = process.getuid?.() === 0;
/** An ordinary user that needs no entry anywhere. */
export const ORDINARY = { uid: 1234, gid: 1234 };
/** Why tests with an ordinary user cannot run here, or false. */
export const withoutOrdinary = !isRoot
  ? "only root can act as another user"
  : spawnSync("/bin/sh", ["-c", 'test -r "$1"', "sh", MEMBER], { ...ORDINARY, cwd: "/" }).status !== 0 && "an ordinary user cannot read this clone";

export interface MemberOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: { readonly uid: number; readonly gid: number };
}

export interface Member {
  readonly child: ChildProcess;
  /** What it said: a URL, or why it has none. */
  readonly answer: { readonly url?: string; readonly code?: string; readonly message?: string };
  /** Leaves and ends. */
  leave(): Promise<void>;
  kill(): Promise<void>;
}

/** A state folder of one test, with the processes that use it. All of it is gone after the test. */
export interface Sandbox {
  /** What LOCKSTEP_STATE_DIR names. */
  readonly base: string;
  /** This process's own state folder in it. */
  readonly stateDir: string;
  /** Starts or joins the server in this process. */
  start(): Promise<EmbeddedPostgres>;
  launch(options?: MemberOptions): ChildProcess;
  /** Starts a process and waits until it has said something. */
  member(options?: MemberOptions): Promise<Member>;
  /** The pid in postmaster.pid. */
  serverPid(): Promise<number>;
}

export async function sandbox(t: TestContext): Promise<Sandbox> {
  const base = await mkdtemp(join(tmpdir(), "lockstep-embedded-"));
  await chmod(base, 0o1777);
  const stateDir = join(base, `uid-${(await serviceUser(CLONE_FOLDER)).uid}`);
  const undo: (() => Promise<unknown>)[] = [() => rm(base, { recursive: true, force: true, maxRetries: 5 })];
  t.after(async () => {
    for (const work of undo.reverse()) await work();
  });

  const launch = (options: MemberOptions = {}): ChildProcess => {
    const child = spawn(process.execPath, ["--import", "tsx", MEMBER], {
      ...options.user,
      cwd: CLONE_FOLDER,
      env: { PATH: process.env["PATH"], LOCKSTEP_STATE_DIR: base, ...options.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    undo.push(() => ended(child, () => child.stdin.end()));
    return child;
  };
  return {
    base,
    stateDir,
    async start() {
      const server = await startEmbeddedPostgres({ stateDir, logger: silent, clock: systemClock });
      undo.push(() => server.stop());
      return server;
    },
    launch,
    async member(options) {
      const child = launch(options);
      const answer = JSON.parse((await firstLine(child)) ?? '{"message":"it ended without a word"}') as Member["answer"];
      return { child, answer, leave: () => ended(child, () => child.stdin?.end()), kill: () => ended(child, () => child.kill("SIGKILL")) };
    },
    async serverPid() {
      return Number((await readFile(join(stateDir, "pg", "data", "postmaster.pid"), "utf8")).split("\n")[0]);
    },
  };
}
