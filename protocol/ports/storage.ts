// Owns the ports of the database: who may trade (Registry), what is configured (Directory), and
// the rows of copied trades (PairStore). Postgres and in-memory twins stand behind them.
//
// 1. All time in the Registry is the database's clock.
// 2. Every acquisition is a compare-and-set on the epoch its own snapshot read, and raises it.

import type { Account, Link } from "../accounts.ts";
import type { OwnerEvent } from "../accountState.ts";
import type { AccountId, BootId, Epoch, NodeId } from "../ids.ts";
import type { Pair } from "../pairs.ts";
import type { Platform } from "../trades.ts";
import type { UnknownCommit } from "../unknownCommit.ts";

export interface Identity {
  readonly node: NodeId;
  readonly boot: BootId;
}

export interface HeldAccount {
  readonly account: AccountId;
  readonly epoch: Epoch;
}

/** What an acquisition gives. */
export interface OwnedAccount extends HeldAccount {
  /** For how long from now an order of a former owner may still be executed; 0: none can be. */
  readonly settleLeftMs: number;
}

/** What a reply says of the database itself: another clock or timeline is another history. */
export interface DatabaseClock {
  /** Wall clock of the database, milliseconds since 1970. */
  readonly nowMs: number;
  /** Rises with every fail-over; null where the server does not tell. */
  readonly timeline: number | null;
}

/** What a node says of itself with every renewal; the others go by it. */
export interface NodeReport {
  /** False: it claims nothing, and no share is reckoned for it. */
  readonly accepting: boolean;
  /** Whether it reaches the log. */
  readonly logOk: boolean;
  /** Accounts it takes at most. */
  readonly capacity: number;
  readonly platforms: readonly Platform[];
  /** `host:port` of its HTTP, null where it serves none. */
  readonly address: string | null;
}

export interface RenewTerms {
  readonly ttlMs: number;
  /** Given up after this; the lease may have been renewed all the same. */
  readonly timeoutMs: number;
  readonly report: NodeReport;
}

/** How one platform's accounts are spread, as a node sees it. */
export interface PlatformShare {
  readonly platform: Platform;
  /** What this node should have of all enabled, unparked accounts. */
  readonly share: number;
  /** What it has of them. */
  readonly mine: number;
  /** Whether another node that is live and accepting has fewer than its share, and could take one. */
  readonly othersHaveRoom: boolean;
}

export interface RenewReply {
  /** False: the name is held by another live boot, or this one has left; nothing was changed. */
  readonly held: boolean;
  /** Whether the lease before this renewal was still live, judged after the row lock. */
  readonly wasLive: boolean;
  /** The accounts of (node, boot), in the same round trip. */
  readonly accounts: readonly HeldAccount[];
  /** Whether any other live node says that it reaches the log. */
  readonly othersLogOk: boolean;
  /** As it was before this renewal: nothing of a platform that this node did not share in then. */
  readonly shares: readonly PlatformShare[];
  readonly clock: DatabaseClock;
}

/** The database that whoever asks believes to be talking to; another one does nothing for it. */
export interface ExpectedDatabase {
  readonly clock: DatabaseClock;
  /** How far its clock may be from what is expected, either way. */
  readonly toleranceMs: number;
}

export interface ClaimTerms {
  /** Claims no more than this, whatever the node's own capacity leaves. */
  readonly limit: number;
  /** An account that could have been claimed for so long is limited by capacity only, no more by the share. */
  readonly freeForMs: number;
  /** The accounts of an owner that may come back are claimed only by a node that was live for so long without a break. */
  readonly liveForMs: number;
  /** Not claimed this time. */
  readonly avoid: readonly AccountId[];
  /** How long after its sending an order may still be executed: late opens wait for it after a lapse or an end. */
  readonly settleMs: number;
  /** Nothing is claimed from another database than this: leases that lapsed by a jump of its clock have not lapsed. */
  readonly expected: ExpectedDatabase;
  /** Nothing is taken from an owner that may come back, however long its lease has lapsed. */
  readonly leaveLapsed: boolean;
}

export interface Registry {
  renew(me: Identity, terms: RenewTerms): Promise<RenewReply>;
  /**
   * Takes enabled, unparked accounts that nobody with a live lease owns, each at a raised epoch: at
   * once up to this node's share of each platform, and only while it is live and accepting.
   */
  claim(me: Identity, terms: ClaimTerms): Promise<readonly OwnedAccount[]>;
  /**
   * Confirms or adopts exactly these accounts, each by compare-and-set on the epoch that is given: those that are mine or whose owner has no live
   * lease, and only while my lease is live. Resolves with those that were taken, each at its raised epoch. One whose row
   * another session has locked is not waited for.
   */
  take(me: Identity, accounts: readonly HeldAccount[], terms: TakeTerms): Promise<readonly OwnedAccount[]>;
  /**
   * Gives one account back if it is still (me, epoch); false when it is not.
   * `unsettledMs`: for how long an order that we sent for it may still be executed, 0 when every order was answered.
   */
  release(me: Identity, held: HeldAccount, unsettledMs: number): Promise<boolean>;
  /** Ends the lease of this boot for good, also on behalf of a process that died: what it still owns may be claimed at once. */
  leave(me: Identity): Promise<void>;
  /** Removes the rows of nodes whose lease ran out long ago and that own nothing; resolves with how many. */
  sweep(deadForMs: number): Promise<number>;
}

export interface TakeTerms {
  /** As in a claim; nothing is raised for an account that was mine before. */
  readonly settleMs: number;
  readonly expected: ExpectedDatabase;
  readonly timeoutMs: number;
}

/** How a node did in one minute of the database's clock. */
export interface UptimeMinute {
  /** Start of the minute, milliseconds since 1970. */
  readonly minuteMs: number;
  /** `ok`, or `degraded: ` and why. The worst of a minute is kept. */
  readonly state: string;
}

/** The state of a minute in which nothing was amiss. */
export const UPTIME_OK = "ok";

/** The record of a node's minutes, kept for 90 days. */
export interface Uptime {
  /** Idempotent: a minute that is `degraded` stays so. Resolves with the database's clock, milliseconds since 1970. */
  record(node: NodeId, minutes: readonly UptimeMinute[]): Promise<number>;
  /** Those of the last `lastMs` on the database's clock, newest first, at most `limit`. A minute without a row is one in which nobody recorded. */
  read(node: NodeId, lastMs: number, limit: number): Promise<readonly UptimeMinute[]>;
}

/** All that is configured, as of one version. */
export interface DirectoryState {
  readonly version: number;
  readonly accounts: readonly Account[];
  readonly links: readonly Link[];
  /** Accounts that nobody logs in to until they are applied again, with their broker's reason. */
  readonly parked: ReadonlyMap<AccountId, string>;
}

/** All accounts and links that there shall be: what is not named is switched off, and its row kept. */
export interface WantedDirectory {
  readonly accounts: readonly Account[];
  readonly links: readonly Link[];
}

/** Paths name what differs: `accounts/f1`, `links/m-f1/slippagePoints`. */
export interface DirectoryDifference {
  readonly added: readonly string[];
  readonly changed: readonly { readonly path: string; readonly from: unknown; readonly to: unknown }[];
  /** Switched off. A link is close-only then: it opens nothing and follows its live copies to their end. */
  readonly removed: readonly string[];
  /** What cannot be done; if there is any of it, nothing is. */
  readonly refused: readonly { readonly path: string; readonly why: string }[];
}

export interface Directory {
  accounts(): Promise<readonly Account[]>;
  links(): Promise<readonly Link[]>;
  /** Rises with every change of what `read` gives; 0 before the first. */
  version(): Promise<number>;
  read(): Promise<DirectoryState>;
  /**
   * The cell's partition count: what is stored, else `wanted`, else the default, stored by the first who asks.
   * @throws LockstepError `configuration` when `wanted` is another one than the stored
   */
  partitions(wanted: number | null): Promise<number>;
  /** Adds or changes accounts and links in one transaction; removes nothing. */
  put(accounts: readonly Account[], links: readonly Link[]): Promise<void>;
  /** Makes it so, in one transaction, unless any of it is refused or it is a dry run. Accounts that are named are parked no more. */
  apply(wanted: WantedDirectory, how: { readonly dryRun: boolean }): Promise<DirectoryDifference>;
  /**
   * The broker refused the login of an account that we hold at this epoch. False, and nothing is
   * stored, when it is no longer held so, or is no longer reached the way that was tried.
   */
  park(tried: Account, epoch: Epoch, reason: string): Promise<boolean>;
}

export interface PairRow {
  readonly epoch: Epoch;
  readonly n: number;
  readonly pair: Pair;
}

export interface WriteResult {
  /** Rows that changed. */
  readonly written: number;
  /** Events that the owner fence or a newer version kept out: no fault, only counted. */
  readonly fenced: number;
}

export interface PairStore {
  /**
   * Writes a batch in one transaction.
   * @throws UnknownCommit (asked of `isDone` before it is written again); LockstepError `row_fault` (one of the rows is to
   * blame), `row_suspect` (one of them may be), `database_contended` and `database_busy` (pass), `database_fault`
   */
  write(events: readonly OwnerEvent[]): Promise<WriteResult>;
  /** Reads back by key whether a commit whose answer was lost was done. @throws LockstepError `database_contended`, `database_busy`, `database_fault` */
  isDone(commit: UnknownCommit): Promise<boolean>;
  /** What writing these would come to now; nothing of it is kept. Same errors, without UnknownCommit. */
  tryOut(events: readonly OwnerEvent[]): Promise<WriteResult>;
  /** Keeps an event that its own content kept out, with the database's code and text. */
  reject(event: OwnerEvent, fault: { readonly code: string; readonly text: string }): Promise<void>;
  /** All rows of a follower, live ones and ended ones. */
  rowsOf(follower: AccountId): Promise<readonly PairRow[]>;
  /** The highest `adopted` marker of a follower that a writer has reached: all that was said before it is rows. */
  projectedEpoch(follower: AccountId): Promise<Epoch>;
  counts(): Promise<{ readonly pairs: number; readonly rejected: number }>;
}
