// Owns what MT4 writes into the comment of a trade, apart from what the trader wrote. Comments are
// untrusted: only a whole mark counts.
//
// 1. The server's marks stand at the end (`[sl]`, `cancelled`), or in place of the whole comment
//    (`Filled SL`, `to #12`, `close hedge by #12`); the trader's text is what is left.

import type { Magic, Ticket } from "../../protocol/ids.ts";
import { chainFrom, chainTo } from "../../protocol/tags.ts";
import type { RemovalReason } from "../../protocol/trades.ts";
import type { CloseMark } from "./raw.ts";

export interface TradeComment {
  readonly magic: Magic | null;
  /** The trader's own text. */
  readonly own: string;
  /** Null where no mark says why it was closed. */
  readonly mark: CloseMark | null;
  readonly chainFrom: Ticket | null;
  readonly chainTo: Ticket | null;
  /** The counterpart of a close-by: its volume and profit are in the other row. */
  readonly closeBy: boolean;
}

export interface PendingComment {
  readonly magic: Magic | null;
  readonly own: string;
  /** The broker's words on why it ended; empty where there are none. */
  readonly reasonText: string;
}

const MAGIC = /^#(\d{1,10})(?:\s+|$)/;
const MAX_MAGIC = 0x7fff_ffff;
const STOP_OR_TARGET = /\[(sl|tp)(\/gap)?\]$/i;
const FILLED_STOP_OR_TARGET = /^Filled (SL|TP)$/i;
const STOP_OUT = /(?:^|[\s[])so: ?\d.*$/i;
const CLOSE_BY = /^close hedge by #\d+/i;
const REMOVED = /(?:^|\s)((?:cancelled|canceled|deleted|expired|expiration)(?:\s*\[[^\]]*\])?)$/i;

function magicAndRest(text: string): { readonly magic: Magic | null; readonly rest: string } {
  const match = MAGIC.exec(text);
  const value = Number(match?.[1]);
  if (match === null || value > MAX_MAGIC) return { magic: null, rest: text.trim() };
  return { magic: value as Magic, rest: text.slice(match[0].length).trim() };
}

export function readTradeComment(text: string): TradeComment {
  const { magic, rest } = magicAndRest(text);
  const level = STOP_OR_TARGET.exec(rest) ?? FILLED_STOP_OR_TARGET.exec(rest);
  const stopOut = level === null ? STOP_OUT.exec(rest) : null;
  const before = rest.slice(0, (level ?? stopOut)?.index).trim();
  const from = chainFrom(before);
  const to = chainTo(before);
  const closeBy = CLOSE_BY.test(before);
  let mark: CloseMark | null = null;
  if (level !== null) mark = { reason: level[1]?.toLowerCase() === "sl" ? "stop_loss" : "take_profit", gap: level[2] !== undefined };
  else if (stopOut !== null) mark = { reason: "stop_out", gap: false };
  return { magic, own: from !== null || to !== null || closeBy ? "" : before, mark, chainFrom: from, chainTo: to, closeBy };
}

/** `outcome`: the words in the row's own outcome cell, empty where it has none. */
export function readPendingComment(text: string, outcome: string): PendingComment {
  const { magic, rest } = magicAndRest(text);
  const mark = REMOVED.exec(rest);
  if (mark !== null) return { magic, own: rest.slice(0, mark.index).trim(), reasonText: outcome === "" ? (mark[1] ?? "") : outcome };
  // Words of another language are the same in the cell and at the comment's end.
  const own = outcome !== "" && rest.endsWith(outcome) ? rest.slice(0, -outcome.length).trim() : rest;
  return { magic, own, reasonText: outcome };
}

/** Words that say nothing else mean that somebody cancelled it. */
export function removalReason(reasonText: string): RemovalReason {
  if (/expir/i.test(reasonText)) return "expired";
  return /delet/i.test(reasonText) ? "deleted" : "cancelled";
}
