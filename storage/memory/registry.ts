// Owns the Registry's twin. The rules are those of storage/registry.ts.

import type { AccountId, Epoch } from "../../protocol/ids.ts";
import type { ClaimTerms, ExpectedDatabase, HeldAccount, Identity, OwnedAccount, PlatformShare, Registry } from "../../protocol/ports/storage.ts";
import type { AccountRow, MemoryCell, NodeRow } from "./cells.ts";
import { isLiveRow, isTraded, owns, spread, type Share } from "./spread.ts";

export function memoryRegistry(cell: MemoryCell): Registry {
  const nowMs = (): number => cell.server.nowMs();
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
      const clock = { nowMs: nowMs(), timeline: cell.server.timeline };
      return { held, wasLive, accounts: sorted(cell.accounts).filter((row) => owns(me, row)).map(heldOf), othersLogOk, shares, clock };
    },
    async claim(me, terms) {
      const mine = isLive(me) && isExpected(cell, terms.expected) ? spread(cell, me.node).filter(({ node }) => node === me.node) : [];
      const chosen = mine.flatMap((share) => claimable(cell, me, share, terms));
      const room = Math.max(0, Math.min(terms.limit, mine[0]?.room ?? 0));
      return inOrder(chosen.slice(0, room).map((row) => acquire(cell, me, row, terms.settleMs)));
    },
    async take(me, accounts, { settleMs, expected }) {
      if (!isLive(me) || !isExpected(cell, expected)) return [];
      const rows = accounts.flatMap(({ account, epoch }) => {
        const row = cell.accounts.get(account);
        if (row === undefined || row.epoch !== epoch) return [];
        return owns(me, row) || row.owner === null || !isLive(row.owner) ? [row] : [];
      });
      return inOrder(rows.map((row) => acquire(cell, me, row, settleMs)));
    },
    async release(me, held, unsettledMs) {
      const row = cell.accounts.get(held.account);
      if (row === undefined || !owns(me, row) || row.epoch !== held.epoch) return false;
      const settleUntilMs = unsettledMs > 0 ? later(row.settleUntilMs, nowMs() + unsettledMs) : row.settleUntilMs;
      cell.accounts.set(held.account, { ...row, owner: null, freedAtMs: nowMs(), settleUntilMs });
      return true;
    },
    async leave(me) {
      const row = rowOf(me);
      if (row !== null) cell.nodes.set(me.node, { ...row, leaseUntilMs: Math.min(row.leaseUntilMs, nowMs()), endedBoot: me.boot });
    },
    async sweep(deadForMs) {
      const owners = new Set([...cell.accounts.values()].map(({ owner }) => owner?.node));
      const dead = [...cell.nodes].filter(([node, row]) => row.leaseUntilMs < nowMs() - deadForMs && ![...owners].some((owner) => owner === node));
      for (const [node] of dead) cell.nodes.delete(node);
      return dead.length;
    },
  };
}

function isExpected({ server }: MemoryCell, { clock, toleranceMs }: ExpectedDatabase): boolean {
  return Math.abs(server.nowMs() - clock.nowMs) <= toleranceMs && (clock.timeline === null || clock.timeline === server.timeline);
}

function acquire(cell: MemoryCell, me: Identity, row: AccountRow, settleMs: number): OwnedAccount {
  const { server } = cell;
  const sentAtMs = owns(me, row) ? null : lastSendMs(cell, row);
  const settleUntilMs = sentAtMs === null ? row.settleUntilMs : later(row.settleUntilMs, sentAtMs + settleMs);
  const epoch = Math.max(row.epoch + 1, (server.timeline - 1) * 2 ** 32 + 1) as Epoch;
  cell.accounts.set(row.account.id, { ...row, owner: { node: me.node, boot: me.boot }, epoch, settleUntilMs });
  return { account: row.account.id, epoch, settleLeftMs: Math.max(0, (settleUntilMs ?? 0) - server.nowMs()) };
}

/** When the last order of an account's owner can have been sent; null: it has none. */
function lastSendMs({ nodes, server }: MemoryCell, { owner }: AccountRow): number | null {
  const row = owner === null ? undefined : nodes.get(owner.node);
  if (row === undefined) return null;
  return row.boot === owner?.boot ? Math.min(row.leaseUntilMs, server.nowMs()) : row.startedAtMs;
}

const later = (before: number | null, atMs: number): number => Math.max(before ?? atMs, atMs);

/** The free accounts of a platform that may be claimed: those free for long, then others up to the share. */
function claimable(cell: MemoryCell, me: Identity, share: Share, { freeForMs, liveForMs, avoid, leaveLapsed }: ClaimTerms): readonly AccountRow[] {
  const nowMs = cell.server.nowMs();
  const free = sorted(cell.accounts)
    .filter((row) => isTraded(row) && row.account.platform === share.platform && !avoid.includes(row.account.id) && !(leaveLapsed && mayReturn(cell, row)))
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
  return Math.max(row.freedAtMs, owner.leaseUntilMs, liveSinceMs + (mayReturn(cell, row) ? liveForMs : 0));
}

/** Its owner has neither left nor been replaced. */
function mayReturn({ nodes }: MemoryCell, { owner }: AccountRow): boolean {
  const row = owner === null ? undefined : nodes.get(owner.node);
  return row !== undefined && row.boot === owner?.boot && row.endedBoot !== row.boot;
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

const byId = (id: AccountId, other: AccountId): number => (id < other ? -1 : 1);

const inOrder = (owned: readonly OwnedAccount[]): readonly OwnedAccount[] => [...owned].sort((a, b) => byId(a.account, b.account));

function sorted(accounts: ReadonlyMap<string, AccountRow>): AccountRow[] {
  return [...accounts.values()].sort((a, b) => byId(a.account.id, b.account.id));
}
