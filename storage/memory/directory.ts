// Owns the Directory's twin; directoryRules.ts and directoryDifference.ts decide for both.

import type { Account } from "../../protocol/accounts.ts";
import type { AccountId, Epoch, LinkId } from "../../protocol/ids.ts";
import { isLive } from "../../protocol/pairs.ts";
import type { Directory, DirectoryState } from "../../protocol/ports/storage.ts";
import { apply, differing } from "../directoryDifference.ts";
import { checkPartitions, merged, partitionsToStore, type Configured } from "../directoryRules.ts";
import type { AccountRow, MemoryCell } from "./cells.ts";

export function memoryDirectory(cell: MemoryCell): Directory {
  const accounts = () => [...cell.accounts.values()].map((row) => row.account).sort(byId);
  const links = () => [...cell.links.values()].sort(byId);
  const parked = (): ReadonlyMap<AccountId, string> => new Map([...cell.accounts.values()].flatMap((row) => (row.parked === null ? [] : [[row.account.id, row.parked] as const])));
  const state = (): DirectoryState => ({ version: cell.version, accounts: accounts(), links: links(), parked: parked() });
  const livePairs = (): ReadonlyMap<LinkId, number> => {
    const counts = new Map<LinkId, number>();
    for (const { pair } of cell.pairs.values()) if (isLive(pair.status)) counts.set(pair.link, (counts.get(pair.link) ?? 0) + 1);
    return counts;
  };
  const write = (changed: Configured): void => {
    const unowned = { owner: null, epoch: 0 as Epoch, projectedEpoch: 0 as Epoch, parked: null, freedAtMs: 0, settleUntilMs: null };
    const rowOf = (account: Account): AccountRow => {
      const old = cell.accounts.get(account.id);
      const isSwitchedOn = account.enabled && old?.account.enabled !== true;
      return { ...(old ?? unowned), account, ...(isSwitchedOn ? { freedAtMs: cell.server.nowMs() } : {}) };
    };
    cell.accounts = new Map([...cell.accounts, ...changed.accounts.map((account) => [account.id, rowOf(account)] as const)]);
    cell.links = new Map([...cell.links, ...changed.links.map((link) => [link.id, link] as const)]);
    cell.version += 1;
  };
  return {
    accounts: async () => accounts(),
    links: async () => links(),
    version: async () => cell.version,
    read: async () => state(),
    async partitions(wanted) {
      const stored = partitionsToStore(wanted);
      return checkPartitions(cell.name, (cell.partitions ??= stored), wanted);
    },
    async put(newAccounts, newLinks) {
      merged(state(), newAccounts, newLinks);
      const changed = { accounts: differing(accounts(), newAccounts), links: differing(links(), newLinks) };
      if (changed.accounts.length + changed.links.length > 0) write(changed);
    },
    async apply(wanted, { dryRun }) {
      const { difference, write: changed, unpark } = apply({ ...state(), livePairs: livePairs() }, wanted);
      const nothing = changed.accounts.length + changed.links.length + unpark.length === 0;
      if (dryRun || difference.refused.length > 0 || nothing) return difference;
      for (const id of unpark) setParked(cell, id, null);
      write(changed);
      return difference;
    },
    async park(tried, epoch, reason) {
      const row = cell.accounts.get(tried.id);
      if (row?.epoch !== epoch || row.owner === null || row.account.broker !== tried.broker || row.account.credentialsRef !== tried.credentialsRef) return false;
      setParked(cell, tried.id, reason);
      cell.version += 1;
      return true;
    },
  };
}

function setParked(cell: MemoryCell, id: AccountId, parked: string | null): void {
  const row = cell.accounts.get(id);
  if (row !== undefined) cell.accounts.set(id, { ...row, parked, ...(parked === null ? { freedAtMs: cell.server.nowMs() } : {}) });
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);
