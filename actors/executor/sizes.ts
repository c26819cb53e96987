// Owns the arithmetic of the executor's sizes: pure, shared by the launcher (which must set
// UV_THREADPOOL_SIZE before the process starts) and the executor (which counts the result).

import { LockstepError } from "../../protocol/errors.ts";

/** libuv refuses to make more threads than 1024; a reserve must fit too. */
export const MAX_LANES = 1_000;
const MAX_POOL_THREADS = 1_024;

export interface ExecutorSizes {
  /** Blocking broker calls at once. */
  readonly lanes: number;
  /** Threads of libuv's pool that lanes never use: files and name look-ups share the pool. */
  readonly reserve: number;
  /** Host threads. */
  readonly hosts: number;
  /** Calls that may wait for a lane, at most. */
  readonly maxWaiting: number;
  /** How long a call may wait for a lane before it is dropped, at most. */
  readonly maxWaitMs: number;
}

/** Lanes for the worst case, as far as they are configured. */
export const lanesFor = (followers: number, parallelism: number, configuredLanes: number): number => Math.max(1, Math.min(followers * parallelism, configuredLanes));

/** What UV_THREADPOOL_SIZE must be. */
export const poolThreadsFor = (sizes: Pick<ExecutorSizes, "lanes" | "reserve">): number => sizes.lanes + sizes.reserve;

/** @throws LockstepError `configuration` */
export function checkExecutorSizes(sizes: ExecutorSizes): void {
  whole("lanes", sizes.lanes, 1, MAX_LANES);
  whole("reserve", sizes.reserve, 1, MAX_POOL_THREADS - sizes.lanes);
  whole("hosts", sizes.hosts, 1, 64);
  whole("maxWaiting", sizes.maxWaiting, 0, 1_000_000);
  whole("maxWaitMs", sizes.maxWaitMs, 1, 3_600_000);
}

function whole(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new LockstepError("configuration", `executor ${name}: expected a whole number from ${min} to ${max}, got ${value}`);
  }
}
