// Owns the Overview's twin: the pages of storage/overview.ts, cut from the tables in memory.

import type { Identity } from "../../protocol/ports/storage.ts";
import type { AccountId } from "../../protocol/ids.ts";
import type { AccountView, Overview, OwnerView, PairKey } from "../../protocol/ports/overview.ts";
import type { PairRow } from "../../protocol/ports/storage.ts";
import type { AccountRow, MemoryCell } from "./cells.ts";

export function memoryOverview(cell: MemoryCell): Overview {
  const nowMs = (): number => cell.server.nowMs();

  function ownerOf(who: Identity): Omit<OwnerView, "epoch"> {
    const row = cell.nodes.get(who.node);
    const isItsBoot = row?.boot === who.boot;
    return { node: who.node, boot: who.boot, live: isItsBoot && row.leaseUntilMs > nowMs(), address: isItsBoot ? row.report.address : null };
  }
  const stateOf = (id: AccountId): AccountView["state"] => {
    const said = cell.states.get(id);
    return said === undefined ? null : { ...said.state, epoch: said.epoch };
  };
  const ownsRow = (who: Identity, { owner }: AccountRow): boolean => owner?.node === who.node && owner.boot === who.boot;

  return {
    async nodes() {
      return [...cell.nodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, row]) => {
        const who: Identity = { node: name as Identity["node"], boot: row.boot };
        return {
          ...who,
          live: row.leaseUntilMs > nowMs(),
          leaseLeftMs: Math.round(row.leaseUntilMs - nowMs()),
          accepting: row.report.accepting,
          logOk: row.report.logOk,
          address: row.report.address,
          capacity: row.report.capacity,
          platforms: row.report.platforms,
          accounts: [...cell.accounts.values()].filter((account) => ownsRow(who, account)).length,
        };
      });
    },
    async owner(account) {
      const row = cell.accounts.get(account);
      return row === undefined || row.owner === null ? null : { ...ownerOf(row.owner), epoch: row.epoch };
    },
    async accounts({ limit, after }) {
      const rows = [...cell.accounts.values()].filter(({ account }) => after === null || account.id > after);
      rows.sort((a, b) => (a.account.id < b.account.id ? -1 : 1));
      return rows.slice(0, limit).map(({ account, owner, epoch, projectedEpoch, parked }) => ({ ...account, epoch, projectedEpoch, parked, owner: owner === null ? null : ownerOf(owner), state: stateOf(account.id) }));
    },
    async links({ limit, after }) {
      const links = [...cell.links.values()].filter(({ id }) => after === null || id > after);
      return links.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
    },
    async pairs({ follower, link, status }, { limit, after }) {
      const isMeant = ({ pair }: PairRow): boolean => (follower === null || pair.follower === follower) && (link === null || pair.link === link) && (status === null || pair.status === status);
      const rows = [...cell.pairs.values()].filter((row) => isMeant(row) && (after === null || order(row.pair, after) > 0));
      return rows.sort((a, b) => order(a.pair, b.pair)).slice(0, limit);
    },
    async skips(sinceMs) {
      const fromMs = cell.clock.wallMs() - sinceMs;
      const counts = new Map<string, number>();
      for (const { pair } of cell.pairs.values()) {
        if (pair.status === "Skipped" && pair.reason !== null && pair.changedAtMs > fromMs) counts.set(pair.reason, (counts.get(pair.reason) ?? 0) + 1);
      }
      return [...counts].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
    },
  };
}

/** By link, then ticket, then opening. */
function order(a: PairKey, b: PairKey): number {
  if (a.link !== b.link) return a.link < b.link ? -1 : 1;
  return a.masterTicket - b.masterTicket || a.opening - b.opening;
}
