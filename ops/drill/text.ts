// Owns how a drill's result is written for people: the timeline, and below it what it amounts to.

import { timelineLines } from "../timeline/render.ts";
import type { DrillRecord } from "./record.ts";
import type { DrillReport } from "./report.ts";
import type { StaleReport } from "./staleWriter.ts";

export function roundText(record: DrillRecord, report: DrillReport): string {
  const { timeline, fromMs, faultAtMs, endAtMs, round, rounds } = record;
  const { gapMs, lateOpenMs, lost, untouched, dropped, violations, verdict } = report;
  const own = timeline.filter(({ atMs }) => atMs >= fromMs && atMs < endAtMs);
  return [
    ...(rounds === 1 ? [] : [`round ${round} of ${rounds}`]),
    ...timelineLines(own, { kind: "at", atMs: faultAtMs }),
    `gap        ${gapMs.measured === null ? "none to be measured" : `${seconds(gapMs.measured)} measured, ${seconds(gapMs.arithmetic)} by arithmetic`}`,
    `late opens ${lateOpenMs === null ? "none" : `the last after ${seconds(lateOpenMs)}`}`,
    `lost       ${lost.events === 0 ? "nothing" : `${lost.events} events, the oldest ${lost.oldestMs} ms old; ${lost.adoptedByTag} copies adopted by their tags`}`,
    `untouched  ${untouched.followers} followers, ${untouched.orders} orders, ${untouched.failed} failed`,
    `dropped    ${dropped} at a gate`,
    ...violations.map(({ rule, follower, detail }) => `VIOLATION  ${rule}${follower === null ? "" : ` at ${follower}`}: ${detail}`),
    `verdict    ${verdict}`,
  ].join("\n");
}

export function staleText({ rounds, verdict }: StaleReport): string {
  const lines = rounds.flatMap(({ order, barrier, rows, writer, violations }) => [
    order,
    `  barrier  ${barrier.passed ? "passed" : "timed out"} after ${seconds(barrier.waitedMs)}`,
    `  before   ${rows.before.join(", ")}`,
    `  after    ${rows.after.join(", ")}`,
    `  writer   of ${writer.of}: lag ${writer.lag}, ${writer.written} written, ${writer.fenced} kept out, ${writer.rejected} kept aside`,
    ...violations.map((violation) => `  VIOLATION  ${violation}`),
  ]);
  return [...lines, `verdict    ${verdict}`].join("\n");
}

const seconds = (ms: number | null): string => (ms === null ? "unknown" : `${(ms / 1_000).toFixed(1)} s`);
