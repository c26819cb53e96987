// Owns what a file of accounts and links says: read whole, or refused with every fault.
//
// 1. `accounts` and `links` must both be there: a file in which one was forgotten would remove it all.
// 2. What is not named has its default: that of `linkDefaults` in the file, else DEFAULT_LINK_SETTINGS.
// 3. Magic 0 is no link's: it is what trades made by hand have, and they would be taken for copies.
// 4. Credentials are references. What stands there instead is not repeated.

import { brokerAddress } from "../../actors/drivers/brokerAddress.ts";
import { DEFAULT_LINK_SETTINGS, type Account, type AccountRole, type Link, type LinkSettings } from "../../protocol/accounts.ts";
import { isLockstepError } from "../../protocol/errors.ts";
import { accountId, linkId, magic, type AccountId } from "../../protocol/ids.ts";
import type { WantedDirectory } from "../../protocol/ports/storage.ts";
import { PLATFORMS } from "../config/choices.ts";
import { idOf, oneOf, reference, wholeNumber, type Reader } from "../config/readers.ts";
import { readSettings, SETTING_NAMES, yesOrNo } from "./settings.ts";
import { YamlValue, type Fault } from "./yamlValue.ts";

export type ReadFile = { readonly kind: "wanted"; readonly wanted: WantedDirectory } | { readonly kind: "faults"; readonly faults: readonly Fault[] };

const MAX_LOGIN = 999_999_999_999_999;
const MAX_MAGIC = 0x7fff_ffff;

/** An account or link as far as it could be read, and where its parts stand. */
interface Entry<T> {
  readonly at: Partial<Readonly<Record<string, YamlValue>>>;
  readonly read: Nullable<T>;
}
type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

const broker: Reader<string> = (text) => {
  try {
    brokerAddress(text);
    return { kind: "value", value: text };
  } catch (error) {
    if (!isLockstepError(error, "invalid_value")) throw error;
    return { kind: "expected", expected: "host:port" };
  }
};

export function readWanted(text: string): ReadFile {
  const faults: Fault[] = [];
  const fields = YamlValue.parse(text, faults)?.fields(["accounts", "links"], ["linkDefaults"]) ?? null; // (1)
  const defaults = readSettings(fields?.linkDefaults?.fields([], SETTING_NAMES) ?? {}, DEFAULT_LINK_SETTINGS); // (2)
  const accounts = (fields?.accounts?.list() ?? []).map(readAccount);
  const links = (fields?.links?.list() ?? []).map((value) => readLink(value, defaults));
  onlyOnce(accounts, "id", ({ id }) => id, "an id that no other account has");
  onlyOnce(accounts, "login", ({ broker: host, login }) => (host === null || login === null ? null : `${login} at ${host}`), "a login that no other account has at this broker");
  onlyOnce(links, "id", ({ id }) => id, "an id that no other link has");
  onlyOnce(links, "magic", ({ follower, magic: number }) => (follower === null || number === null ? null : `${number} on ${follower}`), "a magic that no other link has on this follower");
  const roles = new Map(accounts.flatMap(({ read }) => (read.id === null ? [] : [[read.id, read.role] as const])));
  for (const { at, read } of links) {
    checkEnd(roles, at["master"], read.master, "master");
    checkEnd(roles, at["follower"], read.follower, "follower");
  }
  if (faults.length > 0) return { kind: "faults", faults: faults.sort((a, b) => a.line - b.line) };
  return { kind: "wanted", wanted: { accounts: accounts.map(({ read }) => whole<Account>(read)), links: links.map(({ read }) => whole<Link>(read)) } };
}

function readAccount(item: YamlValue): Entry<Account> {
  const at = named(item, "accounts", ["id", "role", "platform", "broker", "login", "credentials"], ["enabled"]);
  return {
    at,
    read: {
      id: at.id?.read(idOf(accountId)) ?? null,
      role: at.role?.read(oneOf(["master", "follower"])) ?? null,
      platform: at.platform?.read(oneOf(PLATFORMS)) ?? null,
      broker: at.broker?.read(broker) ?? null,
      login: at.login?.read(wholeNumber(0, MAX_LOGIN)) ?? null,
      credentialsRef: at.credentials?.readSecretly(reference) ?? null, // (4)
      enabled: at.enabled === undefined ? true : at.enabled.read(yesOrNo),
    },
  };
}

function readLink(item: YamlValue, defaults: LinkSettings): Entry<Link> {
  const at = named(item, "links", ["id", "master", "follower", "magic"], ["enabled", ...SETTING_NAMES]);
  const number = at.magic?.read(wholeNumber(1, MAX_MAGIC)) ?? null; // (3)
  return {
    at,
    read: {
      id: at.id?.read(idOf(linkId)) ?? null,
      master: at.master?.read(idOf(accountId)) ?? null,
      follower: at.follower?.read(idOf(accountId)) ?? null,
      magic: number === null ? null : magic(number),
      enabled: at.enabled === undefined ? true : at.enabled.read(yesOrNo),
      settings: readSettings(at, defaults),
    },
  };
}

/** An item's fields, under the item's own id once that is known: `links/m-f1/magic`. */
function named<K extends string>(item: YamlValue, kind: string, required: readonly K[], optional: readonly K[]): Partial<Readonly<Record<K, YamlValue>>> {
  const id = item.peek("id");
  return (id === null ? item : item.named(`${kind}/${id}`)).fields(required, optional) ?? {};
}

function onlyOnce<T>(entries: readonly Entry<T>[], field: string, keyOf: (read: Nullable<T>) => string | null, expected: string): void {
  const lines = new Map<string, number>();
  for (const { at, read } of entries) {
    const key = keyOf(read);
    const value = at[field];
    if (key === null || value === undefined) continue;
    const first = lines.get(key);
    if (first === undefined) lines.set(key, value.line);
    else value.fault(expected, `${key}, as in line ${first}`);
  }
}

function checkEnd(roles: ReadonlyMap<AccountId, AccountRole | null>, value: YamlValue | undefined, id: AccountId | null, role: AccountRole): void {
  if (id === null) return;
  const found = roles.get(id);
  if (found === undefined) value?.fault(`a ${role} among the accounts of this file`, `${JSON.stringify(id)}, which is none`);
  else if (found !== null && found !== role) value?.fault(`a ${role}`, `${JSON.stringify(id)}, which is a ${found}`);
}

/** Without a fault nothing is null. */
const whole = <T>(read: Nullable<T>): T => read as T;
