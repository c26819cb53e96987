// Owns the verdict on a demo: from the statement, the cast and the broker's log it recomputes what
// each follower should have had, and holds Lockstep's own rows against it.
//
// 1. It shares no computation with what it checks: only types, and words for texts.
// 2. The log is folded once; every rule is a function of the histories.

import type { AccountId } from "../../../protocol/ids.ts";
import type { PairRow } from "../../../protocol/ports/storage.ts";
import type { Platform } from "../../../protocol/trades.ts";
import type { BrokerLogEntry } from "../../broker/log.ts";
import type { Statement } from "../../statement/model.ts";
import type { Cast } from "../cast.ts";
import { emptyHistory, followerCases, type Copy, type FollowerCase } from "./cases.ts";
import { endRules } from "./ends.ts";
import { foldLog } from "./histories.ts";
import { endOf } from "./history.ts";
import { levelRules } from "./levels.ts";
import { masterRules } from "./master.ts";
import { isUnheard, openingRules } from "./openings.ts";
import { authorOf } from "./outcomes.ts";
import { followerOrderRules, masterTouched, orderRules } from "./orders.ts";
import { masterCase } from "./parts.ts";
import type { Absence } from "./patience.ts";
import { followerRowRules, rowRules } from "./rows.ts";
import { shareRules } from "./shares.ts";
import { skipRules, skipsOf } from "./skips.ts";
import type { Span } from "./periods.ts";

export interface CheckInput {
  /** What was to be played on the master; null: whatever was done there is right. */
  readonly statement: Statement | null;
  readonly cast: Cast;
  /** Of the one server that all accounts are on, whole. */
  readonly log: readonly BrokerLogEntry[];
  /** Of all followers, at the end. */
  readonly rows: readonly PairRow[];
  /** Pair events that the database refused. */
  readonly rejected: number;
  /** How long Lockstep may take to follow its master. What stands at the end of the log has had its time. */
  readonly graceMs: number;
  /** How long it looks for an order of unknown outcome before it does anything else about its trade. Default 5000. */
  readonly settleMs?: number;
  /** How long it waits for an answer that never comes. Default 10000. */
  readonly callTimeoutMs?: number;
  /** When no copier was running, on the broker's clock, each up to when the next one was ready. Default: never. */
  readonly outages?: readonly Span[];
  /** When nobody acted for single accounts, on the broker's clock. Default: never. */
  readonly absences?: ReadonlyMap<AccountId, readonly Absence[]>;
  /** How long before the end of its session an owner may have begun to leave. Default null: accounts stay where they are. */
  readonly handoverMs?: number | null;
}

const SETTLE_MS = 5_000;
const CALL_TIMEOUT_MS = 10_000;

/** One rule that was broken once. */
export interface Violation {
  readonly rule: string;
  /** Null where no follower is to blame: the log itself, or what was played on the master. */
  readonly follower: string | null;
  /** One line for a person: tickets, numbers, times by the broker's clock. */
  readonly detail: string;
}

export interface FollowerReport {
  readonly id: string;
  readonly platform: Platform;
  /** Master trades that have a copy position, filled pendings among them. */
  readonly copied: number;
  /** Part-closes of copies that the copier asked for. */
  readonly partClosed: number;
  /** Changes of a copy's stop or target that were asked for. */
  readonly modified: number;
  /** Pending orders that the copier placed. */
  readonly pendings: number;
  /** Master trades without a copy, by the reason of their row; `unheard` without one: begun and ended while nobody heard the master, or nobody owned the follower. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Copy positions that stand at the end of the log. */
  readonly openAtEnd: number;
  readonly duplicates: number;
  readonly missing: number;
  /** Copies whose opening volume, or whose share after a part-close, is wrong. */
  readonly wrongVolume: number;
  readonly unjustifiedSkips: number;
}

export interface CheckReport {
  readonly followers: readonly FollowerReport[];
  readonly violations: readonly Violation[];
  readonly verdict: "ok" | "failed";
}

/** Each rule gives one line for every time it is broken. */
type Rules<S> = Readonly<Record<string, (subject: S) => readonly string[]>>;

const COPY_RULES: Rules<Copy> = { ...openingRules, ...shareRules, ...levelRules, ...endRules, ...orderRules, ...skipRules, ...rowRules };
const FOLLOWER_RULES: Rules<FollowerCase> = { ...followerOrderRules, ...followerRowRules };

export function checkDemo({ statement, cast, log, rows, rejected, graceMs, settleMs = SETTLE_MS, callTimeoutMs = CALL_TIMEOUT_MS, outages = [], absences = new Map(), handoverMs = null }: CheckInput): CheckReport {
  const histories = foldLog(log); // 2
  const master = histories.accounts.get(cast.master.account) ?? emptyHistory(cast.master.account, cast.master.platform);
  const absent = [cast.master, ...cast.followers.map(({ broker }) => broker)].filter(({ account }) => !histories.accounts.has(account));
  const followers = followerCases(histories, cast, rows.map(({ pair }) => pair), { graceMs, settleMs, callTimeoutMs, outages, absences, handoverMs }).map((follower) => ({ follower, violations: violationsOf(follower) }));
  const violations = [
    ...named("log-integrity", null, [...histories.faults, ...absent.map(({ account }) => `account ${account} is not in the log`)]),
    ...(statement === null ? [] : broken(masterRules, masterCase(statement, master), null)),
    ...named("master-touched", null, masterTouched(master)),
    ...followers.flatMap((one) => one.violations),
    ...named("rows-rejected", null, rejected === 0 ? [] : [`the database refused ${rejected} pair events`]),
  ];
  return { followers: followers.map(reportOf), violations, verdict: violations.length === 0 ? "ok" : "failed" };
}

const named = (rule: string, follower: string | null, details: readonly string[]): Violation[] => details.map((detail) => ({ rule, follower, detail }));

function broken<S>(rules: Rules<S>, subject: S, follower: string | null): Violation[] {
  return Object.entries(rules).flatMap(([rule, check]) => named(rule, follower, check(subject)));
}

function violationsOf(follower: FollowerCase): Violation[] {
  const ofCopies = [...follower.copies.values()].flatMap((copy) => broken(COPY_RULES, copy, follower.id));
  return [...ofCopies, ...broken(FOLLOWER_RULES, follower, follower.id)];
}

function reportOf({ follower, violations }: { readonly follower: FollowerCase; readonly violations: readonly Violation[] }): FollowerReport {
  const copies = [...follower.copies.values()];
  const lives = copies.flatMap((copy) => copy.lives);
  const sum = (count: (life: (typeof lives)[number]) => number): number => lives.reduce((total, life) => total + count(life), 0);
  const broke = (...rules: readonly string[]): number => violations.filter(({ rule }) => rules.includes(rule)).length;
  return {
    id: follower.id,
    platform: follower.platform,
    copied: copies.filter((copy) => copy.lives.some(({ position }) => position !== null)).length,
    partClosed: sum(({ position }) => position?.closes.filter((close) => close !== position.end && authorOf(follower.history, close) === "copier").length ?? 0),
    // The first levels came with the opening.
    modified: sum(({ position }) => position?.levels.slice(1).length ?? 0),
    pendings: sum(({ pending }) => (pending === null ? 0 : 1)),
    skipped: skippedOf(copies),
    openAtEnd: sum((life) => (life.position !== null && endOf(life) === null ? 1 : 0)),
    duplicates: broke("duplicate"),
    missing: broke("missing"),
    wrongVolume: broke("wrong-volume", "wrong-share"),
    unjustifiedSkips: broke("unjustified-skip", "skip-with-copy"),
  };
}

function skippedOf(copies: readonly Copy[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const copy of copies) {
    const reason = copy.lives.length === 0 ? (skipsOf(copy)[0]?.reason ?? (isUnheard(copy) ? "unheard" : null)) : null;
    if (reason !== null) counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}
