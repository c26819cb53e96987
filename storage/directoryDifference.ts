// Owns what applying a file of accounts and links comes to, given what is stored: the difference
// in words, what is refused, and the rows to write. Pure; Postgres and its twin share it.
//
// 1. What is not named is switched off and its row kept; named again, it is what it was.
// 2. An account with open copies is not switched off: nobody would follow them to their end. Its links are
//    removed first.
// 3. What is as it should be is not written: applying twice changes nothing.

import { isDeepStrictEqual } from "node:util";
import type { Account, Link } from "../protocol/accounts.ts";
import type { AccountId, LinkId } from "../protocol/ids.ts";
import type { DirectoryDifference } from "../protocol/ports/storage.ts";
import { tryMerge, type Configured } from "./directoryRules.ts";

export interface StoredDirectory extends Configured {
  readonly parked: ReadonlyMap<AccountId, string>;
  /** Pairs that are Sending or Open. */
  readonly livePairs: ReadonlyMap<LinkId, number>;
}

export interface Applied {
  readonly difference: DirectoryDifference;
  /** The rows that change. */
  readonly write: Configured;
  readonly unpark: readonly AccountId[];
}

type Changed = DirectoryDifference["changed"];

export function apply(stored: StoredDirectory, wanted: Configured): Applied {
  const accounts = [...wanted.accounts, ...unnamed(stored.accounts, wanted.accounts)];
  const links = [...wanted.links, ...unnamed(stored.links, wanted.links)];
  const unpark = wanted.accounts.filter(({ id }) => stored.parked.has(id)).map(({ id }) => id);
  const changed = changesOf(stored, wanted);
  const removed = [...switchedOff("accounts", stored.accounts, wanted.accounts), ...switchedOff("links", stored.links, wanted.links)];
  const faults = tryMerge(stored, { accounts, links }).faults;
  return {
    difference: {
      added: [...addedPaths("accounts", stored.accounts, wanted.accounts), ...addedPaths("links", stored.links, wanted.links)],
      changed: [...changed, ...unpark.map((id) => ({ path: `accounts/${id}/parked`, from: stored.parked.get(id), to: null }))],
      removed,
      refused: [
        ...faults.map(({ kind, id, field, text }) => ({ path: `${kind}s/${id}${field === null ? "" : `/${field}`}`, why: text })),
        ...accounts.flatMap((account) => stillOpen(stored, account)),
      ],
    },
    write: { accounts: differing(stored.accounts, accounts), links: differing(stored.links, links) },
    unpark,
  };
}

/** Every field that differs, of accounts and links that are stored already. */
export function changesOf(stored: Configured, put: Configured): Changed {
  return [...fieldChanges("accounts", stored.accounts, put.accounts, accountFields), ...fieldChanges("links", stored.links, put.links, linkFields)];
}

/** The items that are not stored as they are (3). */
export function differing<T extends { readonly id: string }>(stored: readonly T[], put: readonly T[]): readonly T[] {
  const before = byId(stored);
  return put.filter((item) => !isDeepStrictEqual(before.get(item.id), item));
}

/** What can change, in the words of the file. Role, platform and login never do. */
const accountFields = ({ broker, credentialsRef: credentials, enabled }: Account): object => ({ broker, credentials, enabled });
const linkFields = ({ enabled, settings }: Link): object => ({ enabled, ...settings });

/** (1) */
function unnamed<T extends { readonly id: string; readonly enabled: boolean }>(stored: readonly T[], wanted: readonly T[]): readonly T[] {
  const named = byId(wanted);
  return stored.filter(({ id }) => !named.has(id)).map((item) => ({ ...item, enabled: false }));
}

function switchedOff<T extends { readonly id: string; readonly enabled: boolean }>(kind: string, stored: readonly T[], wanted: readonly T[]): readonly string[] {
  const named = byId(wanted);
  return stored.filter(({ id, enabled }) => enabled && !named.has(id)).map(({ id }) => `${kind}/${id}`);
}

function addedPaths<T extends { readonly id: string }>(kind: string, stored: readonly T[], wanted: readonly T[]): readonly string[] {
  const before = byId(stored);
  return wanted.filter(({ id }) => !before.has(id)).map(({ id }) => `${kind}/${id}`);
}

function fieldChanges<T extends { readonly id: string }>(kind: string, stored: readonly T[], put: readonly T[], fieldsOf: (item: T) => object): Changed {
  const before = byId(stored);
  return put.flatMap((item) => {
    const old = before.get(item.id);
    return old === undefined ? [] : valueChanges(`${kind}/${item.id}`, fieldsOf(old), fieldsOf(item));
  });
}

/** Field by field, but for a sizing: its mode and its number are one thing. */
function valueChanges(path: string, from: unknown, to: unknown): Changed {
  if (isDeepStrictEqual(from, to)) return [];
  if (!isRecord(from) || !isRecord(to) || path.endsWith("/sizing")) return [{ path, from: from ?? null, to: to ?? null }];
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...keys].flatMap((key) => valueChanges(`${path}/${key}`, from[key], to[key]));
}

/** (2) */
function stillOpen({ accounts, links, livePairs }: StoredDirectory, { id, enabled, role }: Account): DirectoryDifference["refused"] {
  const before = accounts.find((account) => account.id === id);
  if (enabled || before?.enabled !== true) return [];
  const copies = links.filter(({ master, follower }) => master === id || follower === id).reduce((sum, link) => sum + (livePairs.get(link.id) ?? 0), 0);
  if (copies === 0) return [];
  const what = role === "follower" ? (copies === 1 ? "1 copy is open" : `${copies} copies are open`) : copies === 1 ? "1 copy of its trades is open" : `${copies} copies of its trades are open`;
  return [{ path: `accounts/${id}`, why: `${what}: remove its links first, and the account when ${copies === 1 ? "it is" : "they are"} closed` }];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);
const byId = <T extends { readonly id: string }>(items: readonly T[]): ReadonlyMap<string, T> => new Map(items.map((item) => [item.id, item]));
