// Owns the rule `two-live-copies`: at no moment two copies of one master's trade stand on one link.
//
// 1. A copy is whose tag it was asked for with: what the broker made of the comment, and which ticket it gave the rest
//    of a part-close, changes nothing. A part-filled order and its position, a pending order and what it became, are one.
// 2. Entries of one broker's log are in order: no clock decides.

import type { Violation } from "../../demo/check/checkDemo.ts";
import { beginOf, endOf, type Trade } from "../../demo/check/history.ts";
import { taggedTicket } from "../../demo/check/names.ts";
import { isOwn, openedAs, tradeName, violation, wallMs, whenText, type Evidence, type FollowerEvidence } from "./evidence.ts";

export function twoLiveCopies(evidence: Evidence): Violation[] {
  return evidence.followers.flatMap((follower) => [...copiesByTag(follower)].flatMap(([tag, copies]) => overlaps(evidence, follower, tag, copies)));
}

function copiesByTag({ history, case: { link } }: FollowerEvidence): Map<number, Trade[]> {
  const byTag = new Map<number, Trade[]>();
  for (const trade of history.trades) {
    const { magic, comment } = openedAs(history, trade); // 1
    const tag = taggedTicket(comment);
    if (magic !== link.magic || tag === null) continue;
    const copies = byTag.get(tag);
    if (copies === undefined) byTag.set(tag, [trade]);
    else copies.push(trade);
  }
  return byTag;
}

function overlaps(evidence: Evidence, { id }: FollowerEvidence, tag: number, copies: readonly Trade[]): Violation[] {
  const { record } = evidence;
  return copies.flatMap((copy, index) => {
    const begin = beginOf(copy);
    const atMs = wallMs(evidence, begin.atMs);
    const rival = copies.slice(0, index).find((before) => (endOf(before)?.n ?? Infinity) > begin.n); // 2
    if (rival === undefined || !isOwn(record, atMs)) return [];
    return [violation("two-live-copies", id, `the master's ticket ${tag}: ${tradeName(copy)} was opened by entry ${begin.n} ${whenText(record, atMs)}, while ${tradeName(rival)} stood`)];
  });
}
