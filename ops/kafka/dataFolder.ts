// Owns the data folder of the local Kafka: formatted once, whole or not at all.
//
// 1. Kafka's own format tool works on another name, and a rename puts its result in place: what an
//    earlier run left half done is removed, never used.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Environment } from "../credentials.ts";
import { javaEnvironment } from "./programs.ts";
import { javaOptions, serverProperties } from "./settings.ts";

const UNFINISHED = "unfinished-";
/** The format tool asks for ports and does not use them. */
const NO_PORTS = { broker: 1, controller: 2 };

export interface DataFolder {
  readonly path: string;
  readonly clusterId: string;
}

export interface FormatOptions {
  readonly java: string;
  readonly libFolder: string;
  /** In the command line of every process that works on the folder. */
  readonly word: string;
  readonly env: Environment;
  readonly logger: Logger;
}

/**
 * The data folder in `folder`, made on first use. The caller holds the folder's lock, and no
 * process works on the folder.
 * @throws LockstepError `configuration`
 */
export async function dataFolder(folder: string, options: FormatOptions): Promise<DataFolder> {
  const path = join(folder, "data");
  const names = await readdir(folder);
  for (const name of names.filter((name) => name.startsWith(UNFINISHED))) {
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 }); // (1)
  }
  if (!names.includes("data")) await format(folder, path, options);
  const properties = await readFile(join(path, "meta.properties"), "utf8").catch(() => "");
  const clusterId = /^cluster\.id=(.+)$/m.exec(properties)?.[1]?.trim();
  if (clusterId === undefined) {
    throw new LockstepError("configuration", `${path} is no data of a Kafka: it has no meta.properties with a cluster.id. Move it away, or name another folder in LOCKSTEP_STATE_DIR`);
  }
  return { path, clusterId };
}

async function format(folder: string, path: string, { java, libFolder, word, env, logger }: FormatOptions): Promise<void> {
  const unfinished = join(folder, `${UNFINISHED}${randomBytes(6).toString("hex")}`);
  const config = `${unfinished}.properties`;
  await writeFile(config, serverProperties(unfinished, NO_PORTS), { mode: 0o600, flag: "wx" });
  logger.info({ folder: path }, "making a new Kafka");
  const args = [...javaOptions(libFolder, join(folder, "tmp")), "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF", word, "kafka.tools.StorageTool", "format", "--cluster-id", newClusterId(), "--config", config];
  await promisify(execFile)(java, args, { cwd: folder, env: javaEnvironment(env) }).catch((error: unknown) => {
    throw new LockstepError("configuration", `Kafka could not make its data folder ${path}: ${messageOf(error).trim().split("\n").at(-1) ?? ""}`, error);
  });
  await rename(unfinished, path); // (1)
  await rm(config);
}

/** 16 random bytes as Kafka writes them; the first bit is not set, so that it never looks like an option. */
function newClusterId(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString("base64url");
}
