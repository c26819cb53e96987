// Owns locks between the processes of one machine: flock(2) on a file.
//
// 1. The kernel holds the lock for an open file and drops it when the process ends, however it
//    ends: there is no stale lock, no pid to be checked, no pid that another process has by now.
// 2. Node opens files close-on-exec, so no child inherits a lock and keeps it.

import { close, constants, open } from "node:fs";
import { constants as systemConstants } from "node:os";
import { promisify } from "node:util";
import koffi from "koffi";
import { LockstepError } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { pause } from "../../protocol/waiting.ts";
import { libc } from "../../actors/executor/native.ts";

const flock = libc.func("int flock(int fd, int operation)") as (fd: number, operation: number) => number;

const SHARED = 1;
const EXCLUSIVE = 2;
const NON_BLOCKING = 4;

const POLL_MS = 25;
const FILE_MODE = 0o600;

const openFile = promisify(open);
const closeFile = promisify(close);

export interface FileLock {
  /** Turns a shared lock into the only one; false when others share it, and then it is lost. */
  tryExclusive(): boolean;
  release(): Promise<void>;
}

/**
 * Waits until the lock on `path` is free; makes the file if it is missing.
 * @throws LockstepError `unreachable` when it is not free within `timeoutMs`
 */
export async function lockFile(path: string, mode: "shared" | "exclusive", clock: Clock, timeoutMs: number): Promise<FileLock> {
  const fd = await openFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, FILE_MODE);
  const deadline = clock.monotonicMs() + timeoutMs;
  try {
    while (!tryLock(fd, mode === "shared" ? SHARED : EXCLUSIVE)) {
      if (clock.monotonicMs() >= deadline) {
        throw new LockstepError("unreachable", `another process has held ${path} for ${timeoutMs / 1000} s`);
      }
      await pause(clock, POLL_MS);
    }
  } catch (error) {
    await closeFile(fd);
    throw error;
  }
  return {
    tryExclusive: () => tryLock(fd, EXCLUSIVE),
    release: () => closeFile(fd),
  };
}

function tryLock(fd: number, operation: number): boolean {
  if (flock(fd, operation | NON_BLOCKING) === 0) return true;
  const errno = koffi.errno();
  if (errno === systemConstants.errno.EWOULDBLOCK || errno === systemConstants.errno.EINTR) return false;
  throw new LockstepError("configuration", `the file system of the state folder has no locks (errno ${errno}): name another folder in LOCKSTEP_STATE_DIR`);
}
