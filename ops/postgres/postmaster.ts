// Owns the server process of one data folder: finding one that runs, starting one, stopping one.
//
// 1. A server is recognised by its command line, which names the data folder: a pid alone says
//    nothing, another process may have it by now.
// 2. A stale postmaster.pid is never removed by us. Its pid is replaced by one that no process can have,
//    so the server itself makes sure that no process of its predecessor still holds the shared memory.
// 3. The server gets a session and a log file of its own: neither a signal to our terminal nor our
//    death reaches it.

import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { freePort } from "../local/ports.ts";
import { commandLine, signalIfAlive } from "../local/processes.ts";
import { giveTo, writeOwn } from "../local/stateFolder.ts";
import type { ServiceUser } from "../local/users.ts";
import { pause } from "../../protocol/waiting.ts";
import type { Launcher } from "./serviceUser.ts";

/** Above the largest pid of any system we know (2^22), and still a positive 32-bit number. */
const NO_PROCESS = 2_147_483_646;
const POLL_MS = 25;
/** A server that recovers after a crash may need long. */
const START_TIMEOUT_MS = 60_000;
const FAST_STOP_MS = 20_000;
const HARD_STOP_MS = 10_000;
/** Together a few seconds: what a killed server's children need to end, or a port to become free. */
const START_ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;
/** What a next attempt can cure. */
const PASSING_FAULTS = /pre-existing shared memory block|Address already in use|could not create any TCP\/IP sockets/;

const LOG_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "", // a socket's path is limited to some 100 characters, a state folder's is not
  max_connections: "100",
  shared_buffers: "64MB",
  max_wal_size: "256MB",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_parallel_workers_per_gather: "0", // parallel queries need /dev/shm, which containers keep small
  jit: "off",
  log_min_messages: "warning",
};

export interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

/** Waits for a starting or stopping server of this folder; null when none is left. */
export async function findPostmaster(dataFolder: string, clock: Clock): Promise<Postmaster | null> {
  const deadline = clock.monotonicMs() + START_TIMEOUT_MS;
  for (;;) {
    const file = await readPidFile(dataFolder);
    if (file === null || !(await isPostmaster(file.pid, dataFolder))) return null;
    if (file.ready) return { pid: file.pid, port: file.port };
    if (clock.monotonicMs() >= deadline) throw unanswering(file.pid, dataFolder);
    await pause(clock, POLL_MS);
  }
}

/** Starts a server where none runs, at `preferredPort` if that is free. @throws LockstepError `unreachable` */
export async function startPostmaster(options: {
  readonly postgres: string;
  readonly dataFolder: string;
  readonly logFile: string;
  readonly preferredPort: number | null;
  readonly launcher: Launcher;
  readonly clock: Clock;
}): Promise<Postmaster> {
  const { dataFolder, logFile, clock } = options;
  await disarmPidFile(dataFolder, options.launcher.user);
  await rename(logFile, `${logFile}.previous`).catch(() => undefined);
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(attempt === 1 ? options.preferredPort : null);
    const started = await launch(options, port);
    if (started !== null) return started;
    const log = await readFile(logFile, "utf8");
    if (attempt === START_ATTEMPTS || !PASSING_FAULTS.test(log)) {
      throw new LockstepError("unreachable", `PostgreSQL in ${dataFolder} did not start: ${log.trim().split("\n").slice(-3).join(" | ")} (${logFile})`);
    }
    await pause(clock, ATTEMPT_PAUSE_MS);
  }
}

/** Ends a server: open transactions are rolled back, its data is left clean. @throws LockstepError `unreachable` */
export async function stopPostmaster(dataFolder: string, clock: Clock): Promise<void> {
  const file = await readPidFile(dataFolder);
  if (file === null) return;
  for (const [signal, timeoutMs] of [["SIGINT", FAST_STOP_MS], ["SIGQUIT", HARD_STOP_MS]] as const) {
    const deadline = clock.monotonicMs() + timeoutMs;
    if (!(await isPostmaster(file.pid, dataFolder))) return;
    signalIfAlive(file.pid, signal);
    while (clock.monotonicMs() < deadline) {
      if (!(await isPostmaster(file.pid, dataFolder))) return;
      await pause(clock, POLL_MS);
    }
  }
  throw unanswering(file.pid, dataFolder);
}

/** Null when the process ended before it was ready; why is in its log. */
async function launch(options: { postgres: string; dataFolder: string; logFile: string; launcher: Launcher; clock: Clock }, port: number): Promise<Postmaster | null> {
  const { dataFolder, clock } = options;
  const settings = Object.entries({ ...SETTINGS, port: `${port}` }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const { file, args, options: spawnOptions } = options.launcher.command(options.postgres, ["-D", dataFolder, ...settings]);
  const log = await open(options.logFile, LOG_FLAGS, 0o600);
  await giveTo(options.logFile, options.launcher.user);
  const server = { ended: false };
  try {
    const child = spawn(file, args, { ...spawnOptions, detached: true, stdio: ["ignore", log.fd, log.fd] }); // (3)
    child.on("exit", () => (server.ended = true));
    child.on("error", () => (server.ended = true));
    child.unref();
    const deadline = clock.monotonicMs() + START_TIMEOUT_MS;
    while (!server.ended) {
      const pidFile = await readPidFile(dataFolder);
      if (pidFile !== null && pidFile.pid === child.pid && pidFile.ready) return { pid: pidFile.pid, port: pidFile.port };
      if (clock.monotonicMs() >= deadline) {
        child.kill("SIGQUIT");
        throw unanswering(child.pid ?? -1, dataFolder);
      }
      await pause(clock, POLL_MS);
    }
    return null;
  } finally {
    await log.close();
  }
}

interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

const pidFilePath = (dataFolder: string): string => join(dataFolder, "postmaster.pid");

/** Line 1 is the pid, 4 the port, 8 the state. Null when the file is missing or not written yet. */
async function readPidFile(dataFolder: string): Promise<PidFile | null> {
  const text = await readFile(pidFilePath(dataFolder), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" } : null;
}

async function disarmPidFile(dataFolder: string, user: ServiceUser): Promise<void> {
  const path = pidFilePath(dataFolder);
  const text = await readFile(path, "utf8").catch(() => null);
  if (text !== null) await writeOwn(path, text.replace(/^\d*/, `${NO_PROCESS}`), user); // (2)
}

/** A process that ended and was not reaped has no command line any more. */
async function isPostmaster(pid: number, dataFolder: string): Promise<boolean> {
  return (await commandLine(pid)).includes(` -D ${dataFolder} `); // (1)
}

function unanswering(pid: number, dataFolder: string): LockstepError {
  return new LockstepError("unreachable", `PostgreSQL (pid ${pid}, ${dataFolder}) neither answers nor ends`);
}
