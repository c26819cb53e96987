// Owns the Registry's twin. The rules are those of storage/registry.ts; the database's clock is
// the injected one's monotonic time.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { ClaimTerms, HeldAccount, Identity, PlatformShare, Registry } from "../../protocol/ports/storage.ts";
import type { AccountRow, MemoryCell, NodeRow } from "./cells.ts";
import { isLiveRow, isTraded, owns, spread, type Share } from "./spread.ts";

export function memoryRegistry(cell: MemoryCell): Registry {
  const nowMs = (): number => cell.clock.monotonicMs();
  const rowOf = (who: Identity): NodeRow | null => {
    const row = cell.nodes.get(who.node);
    return row?.boot === who.boot ? row : null;
  };
  const isLive = (who: Identity): boolean => {
    const row = rowOf(who);
    return row !== null && isLiveRow(cell, row);
  };

  return {
    async renew(me, { ttlMs, report }) {
      const old = cell.nodes.get(me.node);
      const shares = sharesOf(me.node, isLive(me) ? spread(cell) : []);
      const held = old === undefined || (old.endedBoot !== me.boot && (old.boot === me.boot || !isLiveRow(cell, old)));
      const wasLive = held && isLive(me);
      if (held) {
        cell.nodes.set(me.node, {
          boot: me.boot,
          leaseUntilMs: nowMs() + ttlMs,
          startedAtMs: old?.boot === me.boot ? old.startedAtMs : nowMs(),
          liveSinceMs: wasLive && old !== undefined ? old.liveSinceMs : nowMs(),
          endedBoot: old?.endedBoot ?? null,
          report,
        });
      }
      const othersLogOk = [...cell.nodes].some(([node, row]) => node !== me.node && row.report.logOk && isLiveRow(cell, row));
      return { held, wasLive, accounts: sorted(cell.accounts).filter((row) => owns(me, row)).map(heldOf), othersLogOk, shares };
    },
    async claim(me, terms) {
      const mine = isLive(me) ? spread(cell).filter(({ node }) => node === me.node) : [];
      const chosen = mine.flatMap((share) => claimable(cell, me, share, terms));
      const room = Math.max(0, Math.min(terms.limit, mine[0]?.room ?? 0));
      return chosen.slice(0, room).map((row) => {
        const claimed: AccountRow = { ...row, owner: { node: me.node, boot: me.boot }, epoch: (row.epoch + 1) as Epoch };
        cell.accounts.set(row.account.id, claimed);
        return heldOf(claimed);
      });
    },
    async release(me, held) {
      const row = cell.accounts.get(held.account);
      if (row === undefined || !owns(me, row) || row.epoch !== held.epoch) return false;
      cell.accounts.set(held.account, { ...row, owner: null, freedAtMs: nowMs() });
      return true;
    },
    async leave(me) {
      const row = rowOf(me);
      if (row !== null) cell.nodes.set(me.node, { ...row, leaseUntilMs: Math.min(row.leaseUntilMs, nowMs()), endedBoot: me.boot });
    },
  };
}

/** The free accounts of a platform that may be claimed: those free for long, then others up to the share. */
function claimable(cell: MemoryCell, me: Identity, share: Share, { freeForMs, liveForMs, avoid }: ClaimTerms): readonly AccountRow[] {
  const nowMs = cell.clock.monotonicMs();
  const free = sorted(cell.accounts)
    .filter((row) => isTraded(row) && row.account.platform === share.platform && !avoid.includes(row.account.id))
    .map((row) => ({ row, sinceMs: freeSinceMs(cell, me, row, liveForMs) }))
    .filter(({ sinceMs }) => sinceMs <= nowMs);
  const byCapacity = free.filter(({ sinceMs }) => sinceMs <= nowMs - freeForMs);
  const byShare = free.filter((one) => !byCapacity.includes(one)).slice(0, Math.max(0, share.share - share.mine - byCapacity.length));
  return [...byCapacity, ...byShare].map(({ row }) => row);
}

/** Since when the account is this node's to claim; while its owner is live that lies ahead. */
function freeSinceMs(cell: MemoryCell, me: Identity, row: AccountRow, liveForMs: number): number {
  const liveSinceMs = cell.nodes.get(me.node)?.liveSinceMs ?? Infinity;
  const owner = row.owner === null ? undefined : cell.nodes.get(row.owner.node);
  if (owner === undefined) return Math.max(row.freedAtMs, liveSinceMs);
  if (owner.boot !== row.owner?.boot) return Math.max(row.freedAtMs, owner.startedAtMs, liveSinceMs);
  const mayReturn = owner.endedBoot !== owner.boot;
  return Math.max(row.freedAtMs, owner.leaseUntilMs, liveSinceMs + (mayReturn ? liveForMs : 0));
}

function sharesOf(node: string, all: readonly Share[]): readonly PlatformShare[] {
  const hasRoom = (share: Share, platform: Share["platform"]): boolean => share.platform === platform && share.node !== node && share.mine < share.share && share.room > 0;
  return all
    .filter((share) => share.node === node)
    .map(({ platform, share, mine }) => ({ platform, share, mine, othersHaveRoom: all.some((other) => hasRoom(other, platform)) }));
}

function heldOf(row: AccountRow): HeldAccount {
  return { account: row.account.id, epoch: row.epoch };
}

function sorted(accounts: ReadonlyMap<string, AccountRow>): AccountRow[] {
  const order = (id: AccountId, other: AccountId): number => (id < other ? -1 : 1);
  return [...accounts.values()].sort((a, b) => order(a.account.id, b.account.id));
}
