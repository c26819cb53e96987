// Owns copies of the sources in which a fault is planted.
//
// 1. A place is a text that stands exactly once in its file: where it does not, the code has moved on, and nothing is planted.

import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = ["actors", "log", "ops", "protocol", "storage", "test", "package.json", "tsconfig.json"];

/** One change of one file's text. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A patch whose text does not stand once in its file. */
export class MovedError extends Error {}

/** Copies what tests need into `folder`, which is made. */
export async function copySources(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

/**
 * Changes the file below `folder`; resolves with what undoes it.
 * @throws MovedError (1); nothing is changed then
 */
export async function plant(folder: string, { file, find, replace }: Patch): Promise<() => Promise<void>> {
  const path = join(folder, file);
  const source = await readFile(path, "utf8");
  const times = source.split(find).length - 1;
  if (times !== 1) throw new MovedError(`${file}: the place moved: this stands there ${times} times instead of once: ${find}`);
  await writeFile(path, source.replace(find, () => replace));
  return () => writeFile(path, source);
}
