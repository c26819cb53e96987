// Owns what a failed run of the simulator shows: the end of its nodes' timeline, as an operator would see it.

import { byTime } from "../../ops/timeline/entries.ts";
import { timelineLines } from "../../ops/timeline/render.ts";
import type { RecordingJournal } from "../support/recordingJournal.ts";

/** Enough to see what led to it. */
const SHOWN = 80;

/** Seconds count from the first entry. */
export function traceOf(nodes: readonly { readonly journal: RecordingJournal }[]): string {
  const entries = byTime(nodes.flatMap(({ journal }) => journal.entries));
  return timelineLines(entries.slice(-SHOWN), { kind: "at", atMs: entries[0]?.atMs ?? 0 }).join("\n");
}
