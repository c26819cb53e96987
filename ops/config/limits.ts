// Owns what the settings make of a node's bounds and times, and the relations between them.

import { checkExecutorSizes, type ExecutorSizes } from "../../actors/executor/sizes.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import { checkNodeLimits, limitsOf, type NodeLimits } from "../nodeLimits.ts";
import type { NodeConfig } from "./keys.ts";

const MAX_WAITING = 10_000;
const MAX_WAIT_MS = 5_000;

export function nodeLimitsOf(config: NodeConfig): NodeLimits {
  const limits = limitsOf(config.profile);
  const { session, follower } = limits;
  return {
    ...limits,
    capacity: config.capacity,
    session: { ...session, brokerTimeoutMs: config.brokerTimeoutMs ?? session.brokerTimeoutMs },
    follower: { ...follower, parallelism: config.parallelism, settleMs: config.settleMs },
  };
}

export function executorSizesOf({ lanes, reserve, hosts }: NodeConfig): ExecutorSizes {
  return { lanes, reserve, hosts, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS };
}

/** One line for each relation that does not hold. */
export function limitFaults(config: NodeConfig): string[] {
  return [faultsOf(() => checkExecutorSizes(executorSizesOf(config))), faultsOf(() => checkNodeLimits(nodeLimitsOf(config)))].flat();
}

function faultsOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!isLockstepError(error, "configuration")) throw error;
    return error.message.split("; ");
  }
}
