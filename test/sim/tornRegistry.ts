// Owns a registry as a process reaches it over a bad network, on a database whose statements take time.
//
// 1. As on Postgres a statement judges by the snapshot of its beginning, and changes rows at its end: a renewal judges its own
//    node's row then, a claim or take changes an account only at the epoch that its snapshot read.
// 2. A question can be lost, and so can an answer; either can be late. Whoever asked is told nothing of it.

import type { HeldAccount, Identity, OwnedAccount, Registry } from "../../protocol/ports/storage.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { MemoryCell } from "../../storage/memory/cells.ts";
import { memoryRegistry } from "../../storage/memory/registry.ts";
import type { MachineClock } from "./machineClock.ts";
import type { FakeScheduler } from "./scheduler.ts";

/** How things stand now on one connection. */
export interface Channel {
  /** Chances. */
  lostQuestions: number;
  lostAnswers: number;
  /** Each way takes up to this. */
  hopMs: number;
  /** From a statement's snapshot to its end, up to. */
  statementMs: number;
}

/** How things stand now between one process and the database: renewals have a connection of their own. */
export interface Link {
  readonly renewals: Channel;
  readonly claims: Channel;
  /** Asking fails at once. */
  down: boolean;
}

const goodChannel = (): Channel => ({ lostQuestions: 0, lostAnswers: 0, hopMs: 4, statementMs: 0 });

export const goodLink = (): Link => ({ renewals: goodChannel(), claims: goodChannel(), down: false });

export function heal(link: Link): void {
  for (const channel of [link.renewals, link.claims]) Object.assign(channel, goodChannel());
  link.down = false;
}

/** `onReleased`: at the moment the row is free. */
export function tornRegistry(cell: MemoryCell, clock: FakeScheduler, machine: MachineClock, link: Link, onReleased: (account: HeldAccount["account"]) => void): Registry {
  const whole = memoryRegistry(cell);
  const { random } = clock;
  const passed = (limitMs: number): Promise<void> => new Promise((resolve) => void clock.after(limitMs * random.next(), resolve));

  const isDown = (): boolean => link.down;
  const refused = <T>(): Promise<T> => heard(() => Promise.reject(new LockstepError("database_busy", "down")));

  async function asked<T>(channel: Channel, begin: () => Promise<() => Promise<T> | T>): Promise<T> {
    await passed(channel.hopMs);
    if (isDown()) return refused();
    if (random.next() < channel.lostQuestions) return new Promise(() => undefined);
    const end = await begin();
    if (channel.statementMs > 0) await passed(channel.statementMs);
    const result = await end();
    await passed(channel.hopMs);
    if (isDown()) return refused();
    if (random.next() < channel.lostAnswers) return new Promise(() => undefined);
    return heard(() => Promise.resolve(result));
  }

  /** A process that stands still hears it later, a dead one never. */
  const heard = <T>(answer: () => Promise<T>): Promise<T> => new Promise((resolve, reject) => machine.deliver(() => void answer().then(resolve, reject)));

  const snapshot = (): MemoryCell => ({ ...cell, nodes: new Map(cell.nodes), accounts: new Map(cell.accounts) });

  /** Acquires by the snapshot, and changes what is still at the epoch that was read (1). */
  const torn = (acquire: (registry: Registry) => Promise<readonly OwnedAccount[]>) => async (): Promise<() => readonly OwnedAccount[]> => {
    const [read, changed] = [snapshot(), snapshot()];
    const owned = await acquire(memoryRegistry(changed));
    return () => owned.filter(({ account }) => {
      const [row, now] = [changed.accounts.get(account), cell.accounts.get(account)];
      if (row === undefined || now === undefined || now.epoch !== read.accounts.get(account)?.epoch) return false;
      cell.accounts.set(account, row);
      return true;
    });
  };

  return {
    renew: (me, terms) =>
      asked(link.renewals, async () => {
        const { accounts } = await memoryRegistry(snapshot()).renew(me, terms);
        return async () => ({ ...(await whole.renew(me, terms)), accounts });
      }),
    claim: (me, terms) => asked(link.claims, torn((registry) => registry.claim(me, terms))),
    take: (me, accounts, terms) => asked(link.claims, torn((registry) => registry.take(me, accounts, terms))),
    release: (me: Identity, held, unsettledMs) =>
      asked(link.claims, () => Promise.resolve(async () => {
        const isReleased = await whole.release(me, held, unsettledMs);
        if (isReleased) onReleased(held.account);
        return isReleased;
      })),
    leave: (me) => asked(link.claims, () => Promise.resolve(() => whole.leave(me))),
    sweep: (deadForMs) => asked(link.claims, () => Promise.resolve(() => whole.sweep(deadForMs))),
  };
}
