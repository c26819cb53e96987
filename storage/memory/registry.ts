// Owns the Registry's twin. The rules are those of storage/registry.ts; the database's clock is
// the injected one's monotonic time.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { HeldAccount, Identity, Registry } from "../../protocol/ports/storage.ts";
import type { AccountRow, MemoryCell } from "./cells.ts";

export function memoryRegistry(cell: MemoryCell): Registry {
  const isLive = (who: Identity | null): boolean => {
    const row = who === null ? undefined : cell.nodes.get(who.node);
    return row !== undefined && row.boot === who?.boot && row.leaseUntilMs > cell.clock.monotonicMs();
  };
  const owns = (me: Identity, row: AccountRow): boolean => row.owner?.node === me.node && row.owner.boot === me.boot;

  return {
    async renew(me, ttlMs) {
      const old = cell.nodes.get(me.node);
      const held = old === undefined || (old.endedBoot !== me.boot && (old.boot === me.boot || !isLive({ node: me.node, boot: old.boot })));
      const wasLive = held && isLive(me);
      if (held) cell.nodes.set(me.node, { boot: me.boot, leaseUntilMs: cell.clock.monotonicMs() + ttlMs, endedBoot: old?.endedBoot ?? null });
      return { held, wasLive, accounts: sorted(cell.accounts).filter((row) => owns(me, row)).map(heldOf) };
    },
    async claim(me, limit) {
      if (!isLive(me)) return [];
      const free = sorted(cell.accounts).filter((row) => row.account.enabled && !isLive(row.owner));
      return free.slice(0, limit).map((row) => {
        const claimed: AccountRow = { ...row, owner: { node: me.node, boot: me.boot }, epoch: (row.epoch + 1) as Epoch };
        cell.accounts.set(row.account.id, claimed);
        return heldOf(claimed);
      });
    },
    async release(me, held) {
      const row = cell.accounts.get(held.account);
      if (row === undefined || !owns(me, row) || row.epoch !== held.epoch) return false;
      cell.accounts.set(held.account, { ...row, owner: null });
      return true;
    },
    async leave(me) {
      const row = cell.nodes.get(me.node);
      if (row?.boot !== me.boot) return;
      cell.nodes.set(me.node, { boot: me.boot, leaseUntilMs: Math.min(row.leaseUntilMs, cell.clock.monotonicMs()), endedBoot: me.boot });
    },
  };
}

function heldOf(row: AccountRow): HeldAccount {
  return { account: row.account.id, epoch: row.epoch };
}

function sorted(accounts: ReadonlyMap<string, AccountRow>): AccountRow[] {
  const order = (id: AccountId, other: AccountId): number => (id < other ? -1 : 1);
  return [...accounts.values()].sort((a, b) => order(a.account.id, b.account.id));
}
