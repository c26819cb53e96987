// Owns the count of the threads that libuv's pool really has.
//
// 1. The number comes from the operating system: more blocking calls than the pool should have
//    threads are offered to it, and the threads that sit in one are counted. No setting is read.
// 2. Nothing here uses the pool itself: it is full while we look.

import { readdirSync, readFileSync } from "node:fs";
import { LockstepError } from "../../protocol/errors.ts";
import { hostClock, hostPause } from "./hostClock.ts";
import { closeSocket, MAX_BLOCKING_CALLS, shutdownSocket, socketPair, waitWithoutLimit } from "./native.ts";

/** A pool that is larger than asked must show it, so it is offered this many calls more. */
const SURPLUS_CALLS = 8;
const LOOK_EVERY_MS = 10;
/** The number that was asked for is believed once it stood still for so long... */
const STILL_MS = 100;
/** ...and a smaller one after so long: threads may still be busy loading files. A larger one is proof at once. */
const PATIENCE_MS = 2_000;

/** Linux's number of the system call behind recv(), by architecture. */
const RECVFROM: Readonly<Record<string, number>> = { x64: 45, arm64: 207 };

/**
 * How many threads of libuv's pool this process has, counted. When there are more than `asked`, only that is known.
 * @throws LockstepError `executor` where it cannot be counted.
 */
export async function countPoolThreads(asked: number): Promise<number> {
  const recvfrom = RECVFROM[process.arch];
  if (recvfrom === undefined) throw new LockstepError("executor", `cannot count threads on ${process.arch}: the number of its recvfrom call is not known here`);
  const [far, near] = socketPair();
  const buffer = new Uint8Array(1);
  const calls = Array.from({ length: Math.min(asked + SURPLUS_CALLS, MAX_BLOCKING_CALLS) }, () => waitWithoutLimit(near, buffer));
  try {
    return await settledCount(asked, `${recvfrom} 0x${near.toString(16)} `);
  } finally {
    shutdownSocket(near);
    await Promise.all(calls);
    closeSocket(near);
    closeSocket(far);
  }
}

async function settledCount(asked: number, wanted: string): Promise<number> {
  let count = -1;
  let stillSinceMs = 0;
  for (;;) {
    const seen = threadsIn(wanted);
    const nowMs = hostClock.monotonicMs();
    if (seen !== count) stillSinceMs = nowMs;
    count = seen;
    if (count > asked || nowMs - stillSinceMs >= (count === asked ? STILL_MS : PATIENCE_MS)) return count;
    await hostPause(LOOK_EVERY_MS);
  }
}

/** Threads of this process that are inside the system call which `wanted` begins to describe: its number and first argument. */
function threadsIn(wanted: string): number {
  let count = 0;
  for (const thread of threadIds()) {
    const call = currentCall(thread);
    if (call?.startsWith(wanted) === true) count += 1;
  }
  return count;
}

function threadIds(): string[] {
  try {
    return readdirSync("/proc/self/task");
  } catch (error) {
    throw new LockstepError("executor", "cannot count threads: /proc/self/task is not readable", error);
  }
}

/** Null: the thread ended meanwhile. */
function currentCall(thread: string): string | null {
  try {
    return readFileSync(`/proc/self/task/${thread}/syscall`, "latin1");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ESRCH" || (code === "ENOENT" && !threadIds().includes(thread))) return null;
    throw new LockstepError("executor", `cannot count threads: /proc/self/task/${thread}/syscall is not readable (${code ?? "?"})`, error);
  }
}
