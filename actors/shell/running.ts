// Owns what a node remembers of one account while it holds it, and how its actor is made of that.

import type { Account, Link } from "../../protocol/accounts.ts";
import type { BrokerSession } from "../../protocol/ports/broker.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import { toldSession } from "./accountTold.ts";
import type { Counter } from "./counter.ts";
import { FollowerActor } from "./followerActor.ts";
import type { FollowerLimits, FollowerOptions } from "./followerTypes.ts";
import { MasterActor, type MasterLimits, type MasterOptions } from "./masterActor.ts";
import type { Ownership } from "./ownership.ts";
import type { SessionBound } from "./sessionBound.ts";

export interface Running {
  readonly ownership: Ownership;
  /** When the reply came that gave us the account, monotonic; and until when a former owner's orders may be executed. */
  readonly acquiredAtMs: number;
  readonly settledAtMs: number;
  /** Of ticks or events: it counts on when the actor is made anew. */
  readonly numbers: Counter;
  /** Of what is told of the account itself. */
  readonly states: Counter;
  readonly bound: SessionBound;
  /** As its actor is made; null while it is not known. */
  account: Account | null;
  actor: FollowerActor | MasterActor | null;
  /** Of the making that counts: what an earlier one comes to is thrown away. */
  round: number;
  /** Monotonic: until then an order may be executed that an actor of ours has sent. */
  unsettledUntilMs: number;
  letGo: boolean;
  failures: number;
  failedAtMs: number;
}

/** What actors are made with, beside what is known of their account. */
export interface ActorOptions
  extends Pick<FollowerOptions, "gate" | "events" | "pairs" | "clock" | "random" | "logger" | "metrics" | "journal">,
    Pick<MasterOptions, "producer" | "topics" | "partitions"> {
  readonly openSession: (account: Account, ownership: Ownership) => BrokerSession;
  readonly followerLimits: FollowerLimits;
  readonly masterLimits: MasterLimits;
}

/** What becomes of it. */
export type ActorCalls = Pick<FollowerOptions, "onFailure" | "onLoginRefused">;

/** How the account stands is told beside whatever its actor makes of the session. */
const sessionOf = (options: ActorOptions, { ownership, states }: Running, account: Account): BrokerSession => toldSession(options.openSession(account, ownership), { ...options, ownership, numbers: states });

export function makeMaster(options: ActorOptions, running: Running, account: Account, calls: ActorCalls): MasterActor {
  const { gate, masterLimits: limits } = options;
  const { ownership, numbers } = running;
  const isOpen = (): boolean => gate.check(ownership.permit) === "open";
  return new MasterActor({ ...options, ...calls, account, ownership, isOpen, seqs: numbers, session: sessionOf(options, running, account), limits });
}

/** One that is made anew must not take for its own what the one before may have sent. */
export function makeFollower(options: ActorOptions, running: Running, account: Account, links: readonly Link[], rows: readonly PairRow[], calls: ActorCalls): FollowerActor {
  const { clock, followerLimits: limits } = options;
  const { ownership, numbers, round, acquiredAtMs, settledAtMs, unsettledUntilMs } = running;
  return new FollowerActor({
    ...options,
    ...calls,
    account,
    ownership,
    numbers,
    links,
    rows,
    sinceMs: round === 1 ? acquiredAtMs : clock.monotonicMs(),
    settledAtMs: Math.max(settledAtMs, unsettledUntilMs),
    session: sessionOf(options, running, account),
    limits,
  });
}
