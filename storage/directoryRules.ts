// Owns what may be put into the Directory: pure checks that the Postgres one and its twin share.
//
// 1. An account is one login at one broker for ever: its role, platform and login never change. Its
//    broker's address may move.
// 2. A link joins a master to a follower for ever, under one magic. That keeps a magic unique per
//    (broker, login), and never given twice.
// 3. One account of a cell per (broker, login).

import type { Account, Link } from "../protocol/accounts.ts";
import { LockstepError } from "../protocol/errors.ts";
import type { AccountId } from "../protocol/ids.ts";

/**
 * The whole directory after `accounts` and `links` were put into it.
 * @throws LockstepError `configuration` naming the account or link that breaks a rule
 */
export function merged(
  before: { readonly accounts: readonly Account[]; readonly links: readonly Link[] },
  accounts: readonly Account[],
  links: readonly Link[],
): { readonly accounts: readonly Account[]; readonly links: readonly Link[] } {
  const allAccounts = merge("account", before.accounts, accounts, ["role", "platform", "login"]); // (1)
  const allLinks = merge("link", before.links, links, ["master", "follower", "magic"]); // (2)
  refuseTwins(allAccounts.values(), (account) => `${account.login} at ${account.broker}`, "account"); // (3)
  refuseTwins(allLinks.values(), (link) => `magic ${link.magic} on ${link.follower}`, "link");
  for (const link of allLinks.values()) {
    requireRole(allAccounts, link, link.master, "master");
    requireRole(allAccounts, link, link.follower, "follower");
  }
  return { accounts: [...allAccounts.values()], links: [...allLinks.values()] };
}

function merge<T extends { readonly id: string }>(kind: string, before: readonly T[], put: readonly T[], fixed: readonly (keyof T & string)[]): Map<string, T> {
  refuseTwins(put, (item) => `the id ${item.id}`, kind);
  const all = new Map(before.map((item) => [item.id, item]));
  for (const item of put) {
    const old = all.get(item.id);
    const changed = old === undefined ? undefined : fixed.find((field) => old[field] !== item[field]);
    if (old !== undefined && changed !== undefined) {
      throw new LockstepError("configuration", `${kind} ${item.id}: its ${changed} is ${String(old[changed])} for ever, not ${String(item[changed])}`);
    }
    all.set(item.id, item);
  }
  return all;
}

function refuseTwins<T extends { readonly id: string }>(items: Iterable<T>, identity: (item: T) => string, kind: string): void {
  const owners = new Map<string, string>();
  for (const item of items) {
    const key = identity(item);
    const owner = owners.get(key);
    if (owner !== undefined) throw new LockstepError("configuration", `${kind} ${item.id}: ${key} is ${owner}'s already`);
    owners.set(key, item.id);
  }
}

function requireRole(accounts: ReadonlyMap<string, Account>, link: Link, id: AccountId, role: Account["role"]): void {
  const account = accounts.get(id);
  if (account === undefined) throw new LockstepError("configuration", `link ${link.id}: there is no account ${id}`);
  if (account.role !== role) throw new LockstepError("configuration", `link ${link.id}: account ${id} is a ${account.role}, not a ${role}`);
}
