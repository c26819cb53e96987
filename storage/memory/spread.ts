// Owns how accounts are spread over nodes, for the Registry's twin: `spread` of registrySql.ts.

import type { Identity } from "../../protocol/ports/storage.ts";
import type { Platform } from "../../protocol/trades.ts";
import type { AccountRow, MemoryCell, NodeRow } from "./cells.ts";

/** One platform of one node that is live and accepting. */
export interface Share {
  readonly node: string;
  readonly platform: Platform;
  readonly mine: number;
  readonly share: number;
  /** What the node's capacity leaves. */
  readonly room: number;
}

export const isTraded = (row: AccountRow): boolean => row.account.enabled && row.parked === null;

export const owns = (who: Identity, row: AccountRow): boolean => row.owner?.node === who.node && row.owner.boot === who.boot;

export const isLiveRow = (cell: MemoryCell, row: NodeRow): boolean => row.leaseUntilMs > cell.server.nowMs();

/** @param favoured who comes first among those that hold as much; without one it goes by name */
export function spread(cell: MemoryCell, favoured?: string): readonly Share[] {
  return (["mt4", "mt5"] as const).flatMap((platform) => spreadOf(cell, platform, favoured));
}

function spreadOf(cell: MemoryCell, platform: Platform, favoured: string | undefined): readonly Share[] {
  const accounts = [...cell.accounts.values()];
  const traded = accounts.filter((row) => isTraded(row) && row.account.platform === platform);
  if (traded.length === 0) return [];
  const sharing = [...cell.nodes]
    .filter(([, row]) => isLiveRow(cell, row) && row.report.accepting && row.report.platforms.includes(platform))
    .map(([node, row]) => {
      const isMine = (account: AccountRow): boolean => account.owner?.node === node && account.owner.boot === row.boot;
      return { node, platform, mine: traded.filter(isMine).length, room: row.report.capacity - accounts.filter(isMine).length };
    })
    .sort((a, b) => b.mine - a.mine || Number(b.node === favoured) - Number(a.node === favoured) || (a.node < b.node ? -1 : 1));
  const even = Math.floor(traded.length / sharing.length);
  return sharing.map((one, place) => ({ ...one, share: even + (place < traded.length % sharing.length ? 1 : 0) }));
}
