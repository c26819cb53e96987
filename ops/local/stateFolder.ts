// Owns the folder where a clone keeps what must survive a restart, and that it can be used.
//
// 1. `<clone>/.lockstep` is open to all like /tmp, and each service user has a folder of its own in
//    it: root and an ordinary user can use one clone one after the other.
// 2. What root makes there belongs to the service user. That user may have put a link in its place,
//    so root never follows one.
// 3. A folder that cannot be used is refused with its name, what is wrong and what to set.

import { constants } from "node:fs";
import { chmod, lchown, lstat, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Environment } from "../credentials.ts";
import { isRoot, type ServiceUser } from "./users.ts";

/** Where this copy of Lockstep lies. */
export const CLONE_FOLDER = fileURLToPath(new URL("../../", import.meta.url));

const OPEN_TO_ALL = 0o1777;
const OWN = 0o700;

/**
 * `LOCKSTEP_STATE_DIR`, else `<clone>/.lockstep`; in it the service user's folder, made if missing.
 * @throws LockstepError `configuration`
 */
export async function stateFolder(env: Environment, cloneFolder: string, user: ServiceUser): Promise<string> {
  const set = env["LOCKSTEP_STATE_DIR"];
  if (set === "") throw new LockstepError("configuration", "LOCKSTEP_STATE_DIR is set, but empty");
  const base = set ?? join(cloneFolder, ".lockstep");
  await usable(base, async () => {
    await mkdir(dirname(base), { recursive: true });
    if (await makeFolder(base)) await chmod(base, OPEN_TO_ALL); // (1) chmod: mkdir's mode is cut by the umask
    if (!(await stat(base)).isDirectory()) throw new Error("it is not a folder");
  });
  return ownFolder(join(base, `uid-${user.uid}`), user);
}

/**
 * A folder of the service user's own, made if missing together with those above it.
 * @throws LockstepError `configuration` when it cannot be made or belongs to somebody else
 */
export async function ownFolder(path: string, user: ServiceUser): Promise<string> {
  return usable(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    if (await makeFolder(path)) await giveTo(path, user);
    const stats = await lstat(path);
    if (!stats.isDirectory()) throw new Error("it is not a folder");
    if (stats.uid !== user.uid) throw new Error(`it belongs to uid ${stats.uid}, and the server runs as uid ${user.uid}`);
    return path;
  });
}

/** Hands to the service user what root has made. */
export async function giveTo(path: string, user: ServiceUser): Promise<void> {
  if (isRoot()) await lchown(path, user.uid, user.gid); // (2)
}

/** Replaces a file's text. */
export async function writeOwn(path: string, text: string, user: ServiceUser): Promise<void> {
  await writeFile(path, text, { flag: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, mode: 0o600 }); // (2)
  await giveTo(path, user);
}

/** False when it was there. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: OWN });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function usable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LockstepError("configuration", `the state folder ${path} cannot be used: ${messageOf(error)}. LOCKSTEP_STATE_DIR names another one`, error); // (3)
  }
}
