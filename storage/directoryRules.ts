// Owns what may be put into the Directory: pure checks that the Postgres one and its twin share.
//
// 1. An account is one login at one broker for ever: its role, platform and login never change. Its
//    broker's address may move.
// 2. A link joins a master to a follower for ever, under one magic. That keeps a magic unique per
//    (broker, login), and never given twice.
// 3. One account of a cell per (broker, login).
// 4. A cell's partition count never changes while it lives.

import type { Account, Link } from "../protocol/accounts.ts";
import { LockstepError } from "../protocol/errors.ts";
import type { AccountId } from "../protocol/ids.ts";
import { DEFAULT_PARTITIONS, MAX_PARTITIONS } from "../protocol/topics.ts";

export interface Configured {
  readonly accounts: readonly Account[];
  readonly links: readonly Link[];
}

/** What of an account or a link breaks a rule; `field` is null where it is no single one. */
export interface DirectoryFault {
  readonly kind: "account" | "link";
  readonly id: string;
  readonly field: string | null;
  readonly text: string;
}

/**
 * The whole directory after `accounts` and `links` were put into it.
 * @throws LockstepError `configuration` naming the account or link that breaks a rule
 */
export function merged(before: Configured, accounts: readonly Account[], links: readonly Link[]): Configured {
  const { after, faults } = tryMerge(before, { accounts, links });
  const [first] = faults;
  if (first !== undefined) throw new LockstepError("configuration", `${first.kind} ${first.id}: ${first.text}`);
  return after;
}

/** The same, with every rule that is broken. */
export function tryMerge(before: Configured, put: Configured): { readonly after: Configured; readonly faults: readonly DirectoryFault[] } {
  const accounts = new Map([...before.accounts, ...put.accounts].map((account) => [account.id, account]));
  const links = new Map([...before.links, ...put.links].map((link) => [link.id, link]));
  const faults = [
    ...twins("account", put.accounts, (account) => `the id ${account.id}`),
    ...twins("link", put.links, (link) => `the id ${link.id}`),
    ...fixed("account", before.accounts, put.accounts, ["role", "platform", "login"]), // (1)
    ...fixed("link", before.links, put.links, ["master", "follower", "magic"]), // (2)
    ...twins("account", accounts.values(), (account) => `${account.login} at ${account.broker}`), // (3)
    ...twins("link", links.values(), (link) => `magic ${link.magic} on ${link.follower}`),
    ...[...links.values()].flatMap((link) => [...roleFault(accounts, link, link.master, "master"), ...roleFault(accounts, link, link.follower, "follower")]),
  ];
  return { after: { accounts: [...accounts.values()], links: [...links.values()] }, faults };
}

function fixed<T extends { readonly id: string }>(kind: DirectoryFault["kind"], before: readonly T[], put: readonly T[], fields: readonly (keyof T & string)[]): readonly DirectoryFault[] {
  const stored = new Map(before.map((item) => [item.id, item]));
  return put.flatMap((item) => {
    const old = stored.get(item.id);
    if (old === undefined) return [];
    return fields.filter((field) => old[field] !== item[field]).map((field) => ({ kind, id: item.id, field, text: `its ${field} is ${String(old[field])} for ever, not ${String(item[field])}` }));
  });
}

function twins<T extends { readonly id: string }>(kind: DirectoryFault["kind"], items: Iterable<T>, identity: (item: T) => string): readonly DirectoryFault[] {
  const owners = new Map<string, string>();
  const faults: DirectoryFault[] = [];
  for (const item of items) {
    const key = identity(item);
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, item.id);
    else faults.push({ kind, id: item.id, field: null, text: `${key} is ${owner}'s already` });
  }
  return faults;
}

function roleFault(accounts: ReadonlyMap<AccountId, Account>, link: Link, id: AccountId, role: Account["role"]): readonly DirectoryFault[] {
  const account = accounts.get(id);
  const fault = (text: string): readonly DirectoryFault[] => [{ kind: "link", id: link.id, field: null, text }];
  if (account === undefined) return fault(`there is no account ${id}`);
  return account.role === role ? [] : fault(`account ${id} is a ${account.role}, not a ${role}`);
}

/**
 * What is stored when a node asks for `wanted`.
 * @throws LockstepError `configuration`
 */
export function partitionsToStore(wanted: number | null): number {
  const partitions = wanted ?? DEFAULT_PARTITIONS;
  if (Number.isInteger(partitions) && partitions >= 1 && partitions <= MAX_PARTITIONS) return partitions;
  throw new LockstepError("configuration", `partitions: expected a whole number from 1 to ${MAX_PARTITIONS}, got ${partitions}`);
}

/** @throws LockstepError `configuration` (4) */
export function checkPartitions(cell: string, stored: number, wanted: number | null): number {
  if (wanted === null || wanted === stored) return stored;
  throw new LockstepError("configuration", `cell ${cell}: expected ${wanted} partitions, found ${stored}: the count is fixed for the cell's life, since a key that moves to another partition loses its order`);
}
