// Owns what a cluster is waited for: that it is up, and that it is at rest. How it is looked at meanwhile is the caller's.

import { LockstepError } from "../../protocol/errors.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Fleet } from "./fleet.ts";
import { endViolations, isAtRest } from "./judge.ts";
import type { Look } from "./look.ts";

export interface UpOptions {
  readonly cell: CellId;
  readonly fleet: Pick<Fleet, "violations">;
  /** So many there are. */
  readonly accounts: number;
  /** Where the nodes' logs are. */
  readonly folder: string;
  /** Looks until it is so, or the time is over; resolves with the last look. */
  readonly watch: (isSo: (now: Look) => boolean) => Promise<Look>;
}

/** @throws LockstepError `unreachable`: it never came about that every node is ready, and somebody owns each account; what `watch` throws */
export async function untilUp({ cell, fleet, accounts, folder, watch }: UpOptions): Promise<void> {
  const isUp = (now: Look): boolean => isAtRest(now, cell) && now.accounts.length === accounts;
  const last = await watch((now) => isUp(now) || fleet.violations.length > 0);
  if (isUp(last)) return;
  const why = [...fleet.violations, ...endViolations(last, cell)].map(({ detail, follower }) => `${follower === null ? "" : `${follower}: `}${detail}`);
  throw new LockstepError("unreachable", `the cluster is not up: ${why.slice(0, 5).join("; ") || "not every account is settled"}; the nodes' logs are in ${folder}`);
}

/** Asked of one look after the other: true when it has been at rest for so many, and nothing was said meanwhile. */
export function restedFor(looks: number, cell: CellId): (now: Look) => boolean {
  let [rested, events] = [0, -1];
  return (now) => {
    rested = isAtRest(now, cell) && now.writers.events === events ? rested + 1 : 0;
    events = now.writers.events;
    return rested >= looks;
  };
}
