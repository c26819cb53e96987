// Owns the server process of the local Kafka: finding one that runs, starting one, stopping one.
//
// 1. A server is found by its command line, which names the folder. There is no pid file, which
//    could be missing or lie: also a server whose Lockstep died the moment after it started it is found.
// 2. `server.properties` is replaced only while no server runs, so it says the ports of the one that does.
// 3. The server gets a session and log files of its own: neither a signal to our terminal nor our
//    death reaches it.
// 4. Who stops a server says so in a file first: whoever finds the server afterwards ends it instead of joining.

import { spawn } from "node:child_process";
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Environment } from "../credentials.ts";
import { freePort } from "../local/ports.ts";
import { endProcess, processesWith } from "../local/processes.ts";
import { pause } from "../../protocol/waiting.ts";
import { answeringCluster } from "./answers.ts";
import { javaEnvironment } from "./programs.ts";
import { javaOptions, logProperties, portsOf, serverJavaOptions, serverProperties, type Ports } from "./settings.ts";

const POLL_MS = 50;
/** A server that recovers after a crash may need long. */
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 20_000;
const KILL_LIMIT_MS = 10_000;
const START_ATTEMPTS = 5;
/** Somebody took a port between our look and Kafka's; or a server that a killed Lockstep just started came after our look. */
const PASSING_FAULTS = /Address already in use|Failed to bind|Failed to acquire lock/;

export interface KafkaServer {
  readonly pid: number;
  readonly broker: string;
}

export interface ServerFolder {
  readonly folder: string;
  /** In the command line of every process that works on the folder. */
  readonly word: string;
  readonly clock: Clock;
}

/** The server of this folder, once it answers; null when there is none, and then no process works on the folder any more. */
export async function findServer(place: ServerFolder): Promise<KafkaServer | null> {
  const { folder, word, clock } = place;
  const [pid, ...others] = (await processesWith(word)).keys(); // (1)
  const ports = portsOf(await readText(join(folder, "server.properties"))); // (2)
  const clusterId = /^cluster\.id=(.+)$/m.exec(await readText(join(folder, "data", "meta.properties")))?.[1]?.trim();
  if (pid === undefined) return null;
  const isStopping = (await readText(stoppingFile(folder))) !== ""; // (4)
  if (ports !== null && clusterId !== undefined && others.length === 0 && !isStopping) {
    const isRunning = async (): Promise<boolean> => (await processesWith(word)).has(pid);
    if (await answers(ports, clusterId, isRunning, clock)) return { pid, broker: addressOf(ports) };
  }
  await stopServer(place); // a format tool, a server under way to its end, or one that does not answer
  return null;
}

export interface LaunchOptions extends ServerFolder {
  readonly java: string;
  readonly libFolder: string;
  readonly data: string;
  readonly clusterId: string;
  readonly env: Environment;
}

/** Starts a server where none runs, at its old ports if they are free. @throws LockstepError `unreachable` */
export async function startServer(options: LaunchOptions): Promise<KafkaServer> {
  const { folder } = options;
  await writeFile(join(folder, "log4j2.properties"), logProperties(), { mode: 0o600 });
  await rm(join(folder, "tmp"), { recursive: true, force: true });
  await mkdir(join(folder, "tmp"));
  let preferred = portsOf(await readText(join(folder, "server.properties")));
  for (let attempt = 1; ; attempt += 1) {
    await rm(stoppingFile(folder), { force: true });
    for (const name of ["kafka.log", "kafka.out"]) await rename(join(folder, name), join(folder, `${name}.previous`)).catch(() => undefined);
    const ports = await choosePorts(preferred);
    await replaceFile(join(folder, "server.properties"), serverProperties(options.data, ports));
    const pid = await launch(options, ports);
    if (pid !== null) return { pid, broker: addressOf(ports) };
    const said = `${await readText(join(folder, "kafka.out"))}\n${await readText(join(folder, "kafka.log"))}`.trim();
    if (attempt === START_ATTEMPTS || !PASSING_FAULTS.test(said)) {
      throw new LockstepError("unreachable", `Kafka in ${folder} did not start: ${said.split("\n").filter((line) => !/^\s+at /.test(line)).slice(-3).join(" | ")} (kafka.log)`);
    }
    await stopServer(options);
    preferred = null;
  }
}

/** Ends whatever works on the folder. @throws LockstepError `unreachable` */
export async function stopServer({ folder, word, clock }: ServerFolder): Promise<void> {
  await writeFile(stoppingFile(folder), "a server is being stopped\n", { mode: 0o600 }); // (4)
  for (const pid of (await processesWith(word)).keys()) {
    if (await endProcess(pid, word, "SIGTERM", STOP_LIMIT_MS, clock)) continue;
    if (!(await endProcess(pid, word, "SIGKILL", KILL_LIMIT_MS, clock))) throw new LockstepError("unreachable", `Kafka (pid ${pid}, ${folder}) neither answers nor ends`);
  }
}

/** Null when the process ended before it answered; why is in its log. */
async function launch(options: LaunchOptions, ports: Ports): Promise<number | null> {
  const { folder, clock, word } = options;
  const out = await open(join(folder, "kafka.out"), "a", 0o600);
  const server = { ended: false };
  try {
    const args = [...javaOptions(options.libFolder, join(folder, "tmp")), ...serverJavaOptions(), word, "kafka.Kafka", join(folder, "server.properties")];
    const child = spawn(options.java, args, { cwd: folder, env: javaEnvironment(options.env), detached: true, stdio: ["ignore", out.fd, out.fd] }); // (3)
    child.on("exit", () => (server.ended = true));
    child.on("error", () => (server.ended = true));
    child.unref();
    if (await answers(ports, options.clusterId, async () => !server.ended, clock)) return child.pid ?? null;
    if (server.ended) return null;
    await endProcess(child.pid ?? -1, word, "SIGKILL", KILL_LIMIT_MS, clock);
    throw new LockstepError("unreachable", `Kafka (${folder}) did not answer within ${START_LIMIT_MS / 1000} s (kafka.log)`);
  } finally {
    await out.close();
  }
}

/** Waits until the server answers as its cluster; false when it ended, or did not answer in time. */
async function answers(ports: Ports, clusterId: string, isRunning: () => Promise<boolean>, clock: Clock): Promise<boolean> {
  const deadline = clock.monotonicMs() + START_LIMIT_MS;
  while (await isRunning()) {
    if ((await answeringCluster(addressOf(ports))) === clusterId) return true;
    if (clock.monotonicMs() >= deadline) return false;
    await pause(clock, POLL_MS);
  }
  return false;
}

async function choosePorts(preferred: Ports | null): Promise<Ports> {
  const broker = await freePort(preferred?.broker ?? null);
  for (;;) {
    const controller = await freePort(preferred?.controller ?? null);
    if (controller !== broker) return { broker, controller };
    preferred = null;
  }
}

const addressOf = (ports: Ports): string => `127.0.0.1:${ports.broker}`;
const stoppingFile = (folder: string): string => join(folder, "stopping");

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
}
