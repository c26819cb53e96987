// Owns how the Lockstep processes of one state folder share one server.
//
// 1. Starting and stopping happen under the folder's lock: processes that start at once make one
//    server.
// 2. Everyone who uses the server holds a shared lock on `users`; whoever leaves and is alone stops
//    it. A process that dies is out by the same rule.

import { join } from "node:path";
import type { Clock } from "../../protocol/ports/clock.ts";
import { lockFile, type FileLock } from "./fileLock.ts";
import { giveTo } from "./stateFolder.ts";
import type { ServiceUser } from "./users.ts";

/** Somebody else's first start or a recovery may take long. */
const LOCK_TIMEOUT_MS = 120_000;

export interface SharedServer<T> {
  readonly server: T;
  /** Leaves the server; the last one out stops it. Calling it twice does nothing more. */
  readonly stop: () => Promise<void>;
}

export interface SharingOptions<T> {
  /** The server's own; the locks are in it. */
  readonly folder: string;
  /** To whom the folder belongs. */
  readonly user: ServiceUser;
  readonly clock: Clock;
  /** Starts the server, or finds it running. */
  readonly start: () => Promise<T>;
  /** Stops it, whoever started it. */
  readonly end: () => Promise<void>;
}

/** @throws what `start` throws, and LockstepError `unreachable` when the folder's lock is never free */
export async function shareServer<T>({ folder, user, clock, start, end }: SharingOptions<T>): Promise<SharedServer<T>> {
  const [lockPath, usersPath] = [join(folder, "lock"), join(folder, "users")];
  return underLock(lockPath, clock, async () => {
    await giveTo(lockPath, user);
    // Only a process under the folder's lock ever holds it alone, so this never waits.
    const membership = await lockFile(usersPath, "shared", clock, LOCK_TIMEOUT_MS); // (2)
    try {
      await giveTo(usersPath, user);
      const server = await start();
      return { server, stop: once(() => leave(lockPath, membership, clock, end)) };
    } catch (error) {
      await membership.release();
      throw error;
    }
  });
}

/** Does the work alone among the processes that ask for the same lock. */
export async function underLock<T>(path: string, clock: Clock, work: () => Promise<T>, limitMs = LOCK_TIMEOUT_MS): Promise<T> {
  const lock = await lockFile(path, "exclusive", clock, limitMs); // (1)
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function leave(lockPath: string, membership: FileLock, clock: Clock, end: () => Promise<void>): Promise<void> {
  try {
    await underLock(lockPath, clock, async () => {
      if (membership.tryExclusive()) await end(); // (2)
    });
  } finally {
    await membership.release();
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => (done ??= work());
}
