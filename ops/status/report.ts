// Owns what `lockstep status` says of a cell: pure, from what was read to the report, and whether it holds.
//
// 1. It holds when every enabled account has an owner whose lease is live. A parked account has none,
//    and that is somebody's to put right.

import type { AccountId, CellId } from "../../protocol/ids.ts";
import type { AccountView, NodeView } from "../../protocol/ports/overview.ts";
import { totalLag, type PartitionLag } from "../writerLag.ts";

export type WriterStatus =
  | { readonly kind: "known"; readonly lag: number; readonly partitions: readonly PartitionLag[] }
  /** No Kafka was named or runs here, or it did not answer. */
  | { readonly kind: "unknown"; readonly why: string };

export interface StatusInput {
  readonly cell: CellId;
  readonly nodes: readonly NodeView[];
  readonly accounts: readonly AccountView[];
  readonly writers: readonly PartitionLag[] | string;
  readonly skips: readonly { readonly reason: string; readonly count: number }[];
}

export interface StatusReport {
  readonly cell: CellId;
  readonly holds: boolean;
  readonly nodes: readonly NodeView[];
  readonly accounts: readonly AccountStatus[];
  /** Enabled accounts that nobody serves now. */
  readonly unowned: readonly AccountId[];
  readonly parked: readonly { readonly account: AccountId; readonly reason: string }[];
  readonly writers: WriterStatus;
  readonly skipsOfLastHour: StatusInput["skips"];
}

export interface AccountStatus {
  readonly account: AccountId;
  readonly role: AccountView["role"];
  readonly platform: AccountView["platform"];
  readonly enabled: boolean;
  readonly epoch: number;
  /** Whoever its row names. */
  readonly node: string | null;
  /** Whether that one's lease is live. */
  readonly live: boolean;
}

export function statusReport({ cell, nodes, accounts, writers, skips }: StatusInput): StatusReport {
  const unowned = accounts.filter(({ enabled, owner }) => enabled && owner?.live !== true).map(({ id }) => id);
  return {
    cell,
    holds: unowned.length === 0, // (1)
    nodes,
    accounts: accounts.map(({ id, role, platform, enabled, epoch, owner }) => ({ account: id, role, platform, enabled, epoch, node: owner?.node ?? null, live: owner?.live ?? false })),
    unowned,
    parked: accounts.flatMap(({ id, parked }) => (parked === null ? [] : [{ account: id, reason: parked }])),
    writers: typeof writers === "string" ? { kind: "unknown", why: writers } : { kind: "known", lag: totalLag(writers), partitions: writers },
    skipsOfLastHour: skips,
  };
}
