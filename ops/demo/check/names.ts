// Owns how the checker reads names: whose copy a comment says it is, which statement row a master's
// trade plays, and what a follower's broker calls a master's symbol.

import type { SymbolRules } from "../../../protocol/accounts.ts";
import type { SymbolName } from "../../../protocol/ids.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";

const TAG = /^mc([1-9][0-9]*)$/;
const TAG_BEFORE_OTHER_TEXT = /^mc[0-9]+(?![0-9])/;
const PLAYED_ROW = /^s([1-9][0-9]*)$/;

const numberIn = (pattern: RegExp, text: string): number | null => {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
};

/** The master's first ticket in a comment that is a tag and nothing else. */
export const taggedTicket = (comment: string): number | null => numberIn(TAG, comment);
/** Whether a broker may have added to what was once a tag. */
export const looksTagged = (comment: string): boolean => TAG_BEFORE_OTHER_TEXT.test(comment);
/** The ticket of the statement's row that the player plays. */
export const playedTicket = (comment: string): number | null => numberIn(PLAYED_ROW, comment);

/** The follower's symbol for a master's; null where its broker has none. */
export function followerSymbol(master: SymbolName, rules: SymbolRules, symbols: ReadonlyMap<SymbolName, BrokerSymbol>): BrokerSymbol | null {
  const wanted = Object.hasOwn(rules.map, master) ? (rules.map[master] ?? master) : translated(master, rules);
  const exact = symbols.get(wanted as SymbolName);
  if (exact !== undefined) return exact;
  const alike = [...symbols.values()].filter(({ symbol }) => symbol.toLowerCase() === wanted.toLowerCase());
  return alike.length === 1 ? (alike[0] ?? null) : null;
}

function translated(master: string, rules: SymbolRules): string {
  let plain = master;
  if (plain.startsWith(rules.masterPrefix)) plain = plain.slice(rules.masterPrefix.length);
  if (plain.endsWith(rules.masterSuffix)) plain = plain.slice(0, plain.length - rules.masterSuffix.length);
  return rules.followerPrefix + plain + rules.followerSuffix;
}
