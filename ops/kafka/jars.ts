// Owns the folder of Kafka's jars: fetched once by Maven, whole or not at all.
//
// 1. Maven copies into a folder of another name, and a rename puts it in place: what an earlier run
//    left half done is removed, never used.
// 2. The folder's name comes from `pom.xml`, so other jars get another folder. A list of names and
//    sizes comes with the rename; jars that no longer agree with it are fetched again.
// 3. One process fetches at a time. A Maven whose Lockstep was killed is ended by the next one: its
//    command line names the folder.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { endProcess, processesWith } from "../local/processes.ts";
import { underLock } from "../local/sharing.ts";
import { ownFolder } from "../local/stateFolder.ts";
import { ownUser } from "../local/users.ts";
import { marker } from "./marker.ts";
import { locateMaven } from "./programs.ts";

const POM = fileURLToPath(new URL("./pom.xml", import.meta.url));
const LIST = "jars.json";
const UNFINISHED = "unfinished-";
/** Somebody else may be fetching over a slow line. */
const FETCH_LIMIT_MS = 900_000;
const END_LIMIT_MS = 10_000;

export interface JarsOptions {
  readonly stateDir: string;
  readonly env: Environment;
  readonly logger: Logger;
  readonly clock: Clock;
}

interface Jar {
  readonly name: string;
  readonly bytes: number;
}

/**
 * The folder that has all of Kafka's jars; they are fetched if they are not there.
 * @throws LockstepError `configuration` (no Maven), `unreachable` (it could not fetch them)
 */
export async function kafkaJars(options: JarsOptions): Promise<string> {
  const parent = jarsFolder(options.stateDir);
  const folder = join(parent, await jarsName());
  if (await isComplete(folder)) return folder;
  const maven = await locateMaven(options.env);
  await ownFolder(parent, ownUser());
  await underLock(
    join(parent, "lock"),
    options.clock,
    async () => {
      if (await isComplete(folder)) return; // another process was quicker
      await removeUnfinished(parent, options.clock);
      await rm(folder, { recursive: true, force: true });
      await fetchInto(folder, join(parent, `${UNFINISHED}${randomBytes(6).toString("hex")}`), maven, options);
    },
    FETCH_LIMIT_MS,
  );
  return folder;
}

export const jarsFolder = (stateDir: string): string => join(stateDir, "kafka-jars");

/** (2) */
export async function jarsName(): Promise<string> {
  return createHash("sha256").update(await readFile(POM)).digest("hex").slice(0, 12);
}

async function isComplete(folder: string): Promise<boolean> {
  const list = await readFile(join(folder, LIST), "utf8").catch(() => null);
  if (list === null) return false;
  const jars = JSON.parse(list) as readonly Jar[];
  const sizes = await Promise.all(jars.map(({ name }) => stat(join(folder, name)).then(({ size }) => size, () => null)));
  return jars.every(({ bytes }, index) => sizes[index] === bytes);
}

/** (3) */
async function removeUnfinished(parent: string, clock: Clock): Promise<void> {
  const word = marker(parent);
  for (const pid of (await processesWith(word)).keys()) await endProcess(pid, word, "SIGKILL", END_LIMIT_MS, clock);
  for (const name of (await readdir(parent)).filter((name) => name.startsWith(UNFINISHED))) {
    await rm(join(parent, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function fetchInto(folder: string, unfinished: string, maven: string, { stateDir, env, logger, clock }: JarsOptions): Promise<void> {
  const startMs = clock.monotonicMs();
  logger.info({ folder }, "fetching Kafka with Maven, once: 54 MB");
  await runMaven(maven, ["--batch-mode", "--strict-checksums", `--file=${POM}`, marker(jarsFolder(stateDir)), `-DoutputDirectory=${unfinished}`, "-Dstyle.color=never", "dependency:copy-dependencies"], env);
  const names = (await readdir(unfinished)).filter((name) => name.endsWith(".jar"));
  const jars = await Promise.all(names.map(async (name): Promise<Jar> => ({ name, bytes: (await stat(join(unfinished, name))).size })));
  await writeFile(join(unfinished, LIST), `${JSON.stringify(jars)}\n`);
  await rename(unfinished, folder); // (1)
  logger.info({ folder, jars: jars.length, tookMs: Math.round(clock.monotonicMs() - startMs) }, "Kafka fetched");
}

function runMaven(maven: string, args: readonly string[], env: Environment): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(maven, args, { env: { ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (text: string): void => void (output = (output + text).slice(-OUTPUT_CHARACTERS));
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.on("error", (error) => reject(new LockstepError("configuration", `Maven does not run: ${error.message}`, error)));
    child.on("close", (code, signal) => {
      if (code === 0) return resolve();
      const fault = output.split("\n").find((line) => line.startsWith("[ERROR]")) ?? output.trim().split("\n").at(-1) ?? "";
      reject(new LockstepError("unreachable", `Maven could not fetch Kafka (${signal ?? `code ${code}`}): ${fault.replace("[ERROR] ", "")}. KAFKA_BROKERS names a Kafka of yours`));
    });
  });
}

const OUTPUT_CHARACTERS = 64_000;
