// Owns reading what a node told from its log file: the lines of pino that carry an entry of the timeline.
//
// 1. A process that was killed may have torn its last line: what is no line of ours is passed over.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { TimelineEntry } from "../../protocol/timeline.ts";
import { isEntry } from "./entries.ts";

/** In the order of the file. A file that is not there rejects. */
export async function readTimelineLog(path: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for await (const line of createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity })) {
    const entry = entryOfLine(line);
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

/** Null: a line without one, or none at all (1). */
export function entryOfLine(line: string): TimelineEntry | null {
  if (!line.includes('"timeline"')) return null;
  try {
    const { timeline } = JSON.parse(line) as { readonly timeline?: unknown };
    return isEntry(timeline) ? timeline : null;
  } catch {
    return null;
  }
}
