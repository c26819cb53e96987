// Owns what a drill shows at its end: the JSON object, and which of the timeline belongs to it.
//
// 1. Times in a report are milliseconds from the fault: what came before it is negative.

import type { Violation } from "../demo/check/checkDemo.ts";
import type { ProfileName } from "../nodeLimits.ts";
import { aboutText, detailText } from "../timeline/render.ts";
import type { DrillRecord } from "./record.ts";

export interface ReportEntry {
  /** From the fault (1). */
  readonly atMs: number;
  readonly node: string | null;
  readonly event: string;
  readonly detail: string;
}

/** What one fault came to. */
export interface DrillReport {
  readonly drill: string;
  readonly profile: ProfileName;
  readonly timeline: readonly ReportEntry[];
  /** The longest of the accounts' gaps; null: there was none to be measured. */
  readonly gapMs: { readonly measured: number | null; readonly arithmetic: number | null };
  /** Null: nothing was opened late. */
  readonly lateOpenMs: number | null;
  /** What those that were struck did at the broker and the log never heard of. */
  readonly lost: { readonly events: number; readonly oldestMs: number; readonly adoptedByTag: number };
  readonly untouched: { readonly followers: number; readonly orders: number; readonly failed: number };
  /** Units of work that were dropped at a gate. */
  readonly dropped: number;
  readonly violations: readonly Violation[];
  readonly verdict: "ok" | "failed";
}

/** Of a whole drill: its only fault's, or one for each. */
export type WholeReport = DrillReport | { readonly drill: string; readonly profile: ProfileName; readonly rounds: readonly DrillReport[]; readonly verdict: "ok" | "failed" };

export function wholeReport(reports: readonly DrillReport[]): WholeReport {
  const [first, ...more] = reports;
  if (first === undefined) throw new Error("a drill without a round");
  if (more.length === 0) return first;
  return { drill: first.drill, profile: first.profile, rounds: reports, verdict: reports.every(({ verdict }) => verdict === "ok") ? "ok" : "failed" };
}

/** The record's own part of the timeline, for its report. */
export function reportTimeline({ timeline, fromMs, faultAtMs, endAtMs }: DrillRecord): ReportEntry[] {
  return timeline.filter(({ atMs }) => atMs >= fromMs && atMs < endAtMs).map((entry) => ({ atMs: Math.round(entry.atMs - faultAtMs), node: entry.node, event: entry.event, detail: [aboutText(entry), detailText(entry.detail)].filter((text) => text !== "").join(" ") }));
}
