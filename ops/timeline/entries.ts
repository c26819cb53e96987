// Owns telling a timeline's entry from any other value, and the order in which entries are shown.
//
// 1. An event that this build does not know is an entry all the same: it was told by a newer release.

import type { TimelineEntry } from "../../protocol/timeline.ts";

type Fields = Partial<Record<keyof TimelineEntry, unknown>>;

export function isEntry(value: unknown): value is TimelineEntry {
  if (!isObject(value)) return false;
  const { atMs, node, boot, account, epoch, event, detail }: Fields = value;
  const isTextOrNull = [node, boot, account].every((text) => text === null || typeof text === "string");
  return Number.isFinite(atMs) && isTextOrNull && (epoch === null || typeof epoch === "number") && typeof event === "string" && isObject(detail);
}

/** By time; what was told at the same moment stays as it was. */
export const byTime = (entries: readonly TimelineEntry[]): TimelineEntry[] => [...entries].sort((a, b) => a.atMs - b.atMs);

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);
