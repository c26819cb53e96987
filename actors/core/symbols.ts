// Owns how a master's symbol is spelt at the follower's broker.

import type { SymbolRules } from "../../protocol/accounts.ts";
import type { SymbolName } from "../../protocol/ids.ts";

/**
 * The follower's spelling of a master's symbol. An exact entry of the map overrules; else the
 * master's prefix and suffix come off where they stand and the follower's are put on. Whether the
 * follower's broker has such a symbol is for its session to say.
 */
export function followerSymbol(rules: SymbolRules, master: SymbolName): SymbolName {
  const mapped = Object.hasOwn(rules.map, master) ? rules.map[master] : undefined;
  if (mapped !== undefined) return mapped;
  const plain = withoutSuffix(withoutPrefix(master, rules.masterPrefix), rules.masterSuffix);
  return `${rules.followerPrefix}${plain}${rules.followerSuffix}` as SymbolName;
}

// A symbol that is nothing but its prefix or suffix keeps it: an empty name is no symbol.

const withoutPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) && text.length > prefix.length ? text.slice(prefix.length) : text;

const withoutSuffix = (text: string, suffix: string): string =>
  suffix !== "" && text.endsWith(suffix) && text.length > suffix.length ? text.slice(0, -suffix.length) : text;
