// Owns whom a fault struck: accounts whose node was, and the followers that were left alone.
//
// 1. A follower is struck where its own node was, or its master's.
// 2. Where no node was, it is something that all share: nobody is left alone.

import type { AccountId } from "../../../protocol/ids.ts";
import { isStruck, type Evidence, type FollowerEvidence } from "./evidence.ts";
import { accountsOf } from "./ownership.ts";

export function struckAccounts(evidence: Evidence): ReadonlySet<AccountId> {
  const { record, tenures } = evidence;
  const all = accountsOf(evidence);
  return new Set(record.struck.length === 0 ? all : all.filter((account) => isStruck(record, tenures.at(account, record.faultAtMs)?.owner ?? null))); // 2
}

export const isFollowerStruck = (struck: ReadonlySet<AccountId>, { id, master }: FollowerEvidence): boolean => struck.has(id) || struck.has(master); // 1
