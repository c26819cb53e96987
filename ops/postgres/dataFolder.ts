// Owns the data folder of the embedded PostgreSQL: made once, whole or not at all.
//
// 1. `initdb` works under another name, and a rename puts its result in place: what an earlier run
//    left half done is removed, never used.
// 2. The password lies in the data folder and comes with that rename, so neither is there without the other.

import { randomBytes } from "node:crypto";
import { readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { giveTo } from "../local/stateFolder.ts";
import type { Binaries } from "./binaries.ts";
import { run, runInitdb, type Launcher } from "./serviceUser.ts";

export const DATABASE_USER = "lockstep";

const UNFINISHED = "unfinished-";
const PASSWORD_FILE = "lockstep.password";
const PASSWORD_BYTES = 24;

export interface DataFolder {
  readonly path: string;
  readonly password: string;
}

/**
 * The data folder in `folder`, made on first use. The caller holds the folder's lock.
 * @throws LockstepError `configuration`
 */
export async function dataFolder(folder: string, binaries: Binaries, launcher: Launcher, logger: Logger): Promise<DataFolder> {
  const path = join(folder, "data");
  const names = await readdir(folder);
  for (const name of names.filter((name) => name.startsWith(UNFINISHED))) {
    logger.warn({ folder: join(folder, name) }, "removing a database that was never finished"); // (1)
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
  }
  if (!names.includes("data")) await initialise(folder, path, binaries, launcher, logger);
  await refuseOtherRelease(path, binaries, launcher);
  try {
    return { path, password: (await readFile(join(path, PASSWORD_FILE), "utf8")).trim() };
  } catch (error) {
    throw new LockstepError("configuration", `${path} is no database of ours: ${messageOf(error)}. Move it away, or name another folder in LOCKSTEP_STATE_DIR`, error);
  }
}

async function initialise(folder: string, path: string, binaries: Binaries, launcher: Launcher, logger: Logger): Promise<void> {
  const id = randomBytes(6).toString("hex");
  const unfinished = join(folder, `${UNFINISHED}${id}`);
  const passwordFile = join(folder, `${UNFINISHED}${id}.password`);
  await writeFile(passwordFile, `${randomBytes(PASSWORD_BYTES).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  await giveTo(passwordFile, launcher.user);
  logger.info({ folder: path }, "making a new database");
  await runInitdb(launcher, binaries.initdb, [
    `--pgdata=${unfinished}`,
    `--username=${DATABASE_USER}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--no-instructions",
  ]);
  await rename(passwordFile, join(unfinished, PASSWORD_FILE)); // (2)
  await rename(unfinished, path); // (1)
}

async function refuseOtherRelease(path: string, binaries: Binaries, launcher: Launcher): Promise<void> {
  const made = (await readFile(join(path, "PG_VERSION"), "utf8").catch(() => "")).trim();
  const ours = /\(PostgreSQL\) (\d+)/.exec(await run(launcher, binaries.postgres, ["--version"]))?.[1];
  if (made !== ours) {
    throw new LockstepError("configuration", `${path} was made by PostgreSQL ${made || "of an unknown release"}, this is ${ours}: move it away, or name another folder in LOCKSTEP_STATE_DIR`);
  }
}
