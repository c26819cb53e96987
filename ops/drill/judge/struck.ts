// Owns whom a fault struck: accounts whose node was, and the followers that were left alone.
//
// 1. A follower is struck where its own node was, or its master's.
// 2. Where no node was, accounts are struck whose session their broker ended.

import type { AccountId } from "../../../protocol/ids.ts";
import { isStruck, wallMs, type Evidence, type FollowerEvidence } from "./evidence.ts";
import { accountsOf } from "./ownership.ts";

/** How long a broker takes to end its sessions. */
const CUT_MS = 2_000;
/** Whoever hangs up himself was not cut. */
const BY_ITSELF = "closed by the client";

export function struckAccounts(evidence: Evidence): ReadonlySet<AccountId> {
  const { record, tenures } = evidence;
  if (record.struck.length === 0) return cutAccounts(evidence); // 2
  return new Set(accountsOf(evidence).filter((account) => isStruck(record, tenures.at(account, record.faultAtMs)?.owner ?? null)));
}

function cutAccounts(evidence: Evidence): ReadonlySet<AccountId> {
  const { faultAtMs, healAtMs } = evidence.record;
  const toMs = Math.max(healAtMs ?? 0, faultAtMs + CUT_MS);
  const cuts = evidence.troupes.flatMap(({ troupe: { log } }) =>
    log.flatMap((entry) => {
      if (entry.kind !== "disconnect" || entry.account === null || entry.cause === BY_ITSELF) return [];
      const atMs = wallMs(evidence, entry.atMs);
      return atMs >= faultAtMs && atMs <= toMs ? [entry.account] : [];
    }),
  );
  return new Set(cuts);
}

export const isFollowerStruck = (struck: ReadonlySet<AccountId>, { id, master }: FollowerEvidence): boolean => struck.has(id) || struck.has(master); // 1
