// Owns the way from outside to the accounts that this node holds: whether it may speak for one now, closes that
// persons ask for, and listening to a follower.
//
// 1. May it, is asked of the gate at each use: what was true of the last request says nothing of this one.

import type { SharedGate } from "../actors/executor/sharedGate.ts";
import type { FollowerFeed, Listener } from "../actors/shell/followerFeed.ts";
import type { CloseOutcome } from "../actors/shell/manualClose.ts";
import type { Supervisor } from "../actors/shell/supervisor.ts";
import type { AccountId, Ticket } from "../protocol/ids.ts";

/** `fenced`: it is held, and the lease cannot be proven. `elsewhere`: this node does not hold it. */
export type Standing = "open" | "fenced" | "elsewhere";

export interface FollowerDoorOptions {
  readonly supervisor: Pick<Supervisor, "permitOf" | "followers">;
  readonly gate: Pick<SharedGate, "check">;
  readonly feed: FollowerFeed;
}

export class FollowerDoor {
  readonly #options: FollowerDoorOptions;

  constructor(options: FollowerDoorOptions) {
    this.#options = options;
  }

  /** Invariant 1. */
  standing(account: AccountId): Standing {
    const { supervisor, gate } = this.#options;
    const permit = supervisor.permitOf(account);
    if (permit === null) return "elsewhere";
    return gate.check(permit) === "open" ? "open" : "fenced";
  }

  /** Null: it has no actor yet, or is a master. Never rejects. */
  close(account: AccountId, ticket: Ticket): Promise<CloseOutcome> | null {
    return this.#options.supervisor.followers.find((actor) => actor.account.id === account)?.manual.ask(ticket) ?? null;
  }

  get listening(): number {
    return this.#options.feed.listening;
  }

  listen(account: AccountId, listener: Listener): void {
    this.#options.feed.listen(account, listener);
  }

  leave(account: AccountId, listener: Listener): void {
    this.#options.feed.leave(account, listener);
  }
}

/** What is asked of it. */
export type Door = Pick<FollowerDoor, keyof FollowerDoor>;
