// Owns as whom the embedded PostgreSQL runs, and how its programs are started as that user.
//
// 1. PostgreSQL refuses to run as root. Root starts it as the clone's owner, so that both use the
//    same data one after the other; where that is root too or has no account here, as `nobody`.
// 2. No user is created and nobody's folders are changed. Where the user may not even pass through a
//    folder (a clone under /root), `setpriv` gives the server the right to read and write past that,
//    and nothing more.
// 3. `initdb` asks for the name of its user. A uid without an account (usual in containers) runs it in
//    a user namespace, where it is `nobody`; its files are the uid's own all the same.

import { spawn, spawnSync, type SpawnOptions } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import { isRoot, ownUser, type ServiceUser } from "../local/users.ts";

/** Starts a program as the service user; what it needs to be found and readable was tried before. */
export interface Launcher {
  readonly user: ServiceUser;
  command(file: string, args: readonly string[]): { readonly file: string; readonly args: readonly string[]; readonly options: SpawnOptions };
}

const NOBODY: ServiceUser = { uid: 65534, gid: 65534 };
const CAPABILITIES = "+dac_read_search,+dac_override";

/** `cloneFolder`: whose owner root acts for. */
export async function serviceUser(cloneFolder: string): Promise<ServiceUser> {
  if (!isRoot()) return ownUser();
  const { uid, gid } = await stat(cloneFolder);
  return uid === 0 || !hasAccount(uid) ? NOBODY : { uid, gid }; // (1)
}

const hasAccount = (uid: number): boolean => spawnSync("id", ["-un", `${uid}`]).status === 0;

/** Runs `initdb` to its end. @throws LockstepError `configuration` */
export async function runInitdb(launcher: Launcher, initdb: string, args: readonly string[]): Promise<void> {
  const { uid } = launcher.user;
  if (hasAccount(uid)) {
    await run(launcher, initdb, args);
    return;
  }
  try {
    await run(launcher, "unshare", ["--user", `--map-user=${NOBODY.uid}`, `--map-group=${NOBODY.gid}`, "--", initdb, ...args]); // (3)
  } catch (error) {
    throw new LockstepError("configuration", `uid ${uid} has no account on this machine, which PostgreSQL needs to make a database; in a user namespace: ${messageOf(error)}. Run as a user of /etc/passwd, or set DATABASE_URL`, error);
  }
}

/**
 * Finds a way to run `program` as `user` with write access to `folder`, by trying it.
 * @throws LockstepError `configuration` naming what is in the way
 */
export async function chooseLauncher(user: ServiceUser, program: string, folder: string): Promise<Launcher> {
  const plain = plainLauncher(user);
  const fault = await probe(plain, program, folder);
  if (fault === null) return plain;
  if (!isRoot()) throw new LockstepError("configuration", `PostgreSQL cannot run here: ${fault}`);
  const privileged = setprivLauncher(user);
  const secondFault = await probe(privileged, program, folder);
  if (secondFault === null) return privileged; // (2)
  const closed = (await closedFolder(program, user)) ?? (await closedFolder(folder, user));
  throw new LockstepError(
    "configuration",
    `PostgreSQL does not run as root, and uid ${user.uid} ` +
      (closed === null ? `cannot run it: ${fault}` : `may not pass through ${closed}`) +
      `; with setpriv: ${secondFault}. Open that folder (chmod o+x), move the clone, set LOCKSTEP_STATE_DIR, or set DATABASE_URL`,
  );
}

/** Libraries are found through the programs' own paths; nothing of PG* or LD_* may come from outside. */
const OPTIONS: SpawnOptions = { cwd: "/", env: { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" } };

function plainLauncher(user: ServiceUser): Launcher {
  const options = isRoot() ? { ...OPTIONS, uid: user.uid, gid: user.gid } : OPTIONS;
  return { user, command: (file, args) => ({ file, args, options }) };
}

function setprivLauncher(user: ServiceUser): Launcher {
  const identity = ["--reuid", `${user.uid}`, "--regid", `${user.gid}`, "--clear-groups"];
  // The secure bit lets access(2), which initdb asks about its own files, count the capabilities too.
  const rights = ["--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES, "--securebits", "+no_setuid_fixup"];
  return { user, command: (file, args) => ({ file: "setpriv", args: [...identity, ...rights, "--", file, ...args], options: OPTIONS }) };
}

/** Null when it works, else what was said. */
async function probe(launcher: Launcher, program: string, folder: string): Promise<string | null> {
  const script = `"$1" --version >/dev/null && { [ -w "$2" ] && [ -x "$2" ] || { echo "$2 is not writable" >&2; exit 1; }; }`;
  try {
    await run(launcher, "/bin/sh", ["-c", script, "sh", program, folder]);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Runs a program to its end; returns what it wrote on standard output.
 * @throws LockstepError `configuration` with what it wrote on standard error
 */
export function run(launcher: Launcher, program: string, args: readonly string[]): Promise<string> {
  const { file, args: all, options } = launcher.command(program, args);
  return new Promise((resolve, reject) => {
    const child = spawn(file, all, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let errors = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.on("error", (error) => reject(new LockstepError("configuration", error.message, error)));
    child.on("close", (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new LockstepError("configuration", errors.trim() || `${program} ended with ${signal ?? `code ${code}`}`));
    });
  });
}

/** The topmost folder on the way to `path` that a user without privileges may not pass. */
async function closedFolder(path: string, user: ServiceUser): Promise<string | null> {
  const above = dirname(path);
  const higher = above === path ? null : await closedFolder(above, user);
  if (higher !== null) return higher;
  const stats = await stat(path);
  const bit = stats.uid === user.uid ? 0o100 : stats.gid === user.gid ? 0o010 : 0o001;
  return stats.isDirectory() && (stats.mode & bit) === 0 ? path : null;
}
