// Owns what a drill amounts to: from what was seen to its report. Nothing here looks at anything but the record.
//
// 1. Each rule has a file; what it cannot judge for want of something in the record it says, as `not-judged`: a violation.

import type { DrillRecord } from "../record.ts";
import { reportTimeline, type DrillReport } from "../report.ts";
import { twoLiveCopies } from "./copies.ts";
import { equalityViolations } from "./equality.ts";
import { evidenceOf, isOwn, type Evidence } from "./evidence.ts";
import { fateViolations } from "./fate.ts";
import { gapsOf } from "./gap.ts";
import { lostOf } from "./lost.ts";
import { ownershipViolations } from "./ownership.ts";
import { silenceViolations } from "./silence.ts";
import { untouched } from "./untouched.ts";

export const judge = (record: DrillRecord): DrillReport => reportOf(evidenceOf(record));

export interface Judged {
  readonly record: DrillRecord;
  readonly report: DrillReport;
}

/** The records of one drill, which share what was seen: it is read once. */
export function judgeAll(records: readonly DrillRecord[]): Judged[] {
  const [first] = records;
  if (first === undefined) return [];
  const seen = evidenceOf(first);
  return records.map((record) => ({ record, report: reportOf({ ...seen, record }) }));
}

function reportOf(evidence: Evidence): DrillReport {
  const { record } = evidence;
  const gaps = gapsOf(evidence);
  const lost = lostOf(evidence);
  const others = untouched(evidence);
  const violations = [
    ...twoLiveCopies(evidence),
    ...ownershipViolations(evidence),
    ...silenceViolations(evidence),
    ...fateViolations(evidence),
    ...others.violations,
    ...gaps.violations,
    ...lost.violations,
    ...equalityViolations(evidence),
  ];
  return {
    drill: record.drill,
    profile: record.profile,
    timeline: reportTimeline(record),
    gapMs: { measured: gaps.measuredMs, arithmetic: gaps.arithmeticMs },
    lateOpenMs: gaps.lateOpenMs,
    lost: { events: lost.events, oldestMs: lost.oldestMs, adoptedByTag: lost.adoptedByTag },
    untouched: { followers: others.followers, orders: others.orders, failed: others.failed },
    dropped: droppedIn(record),
    violations,
    verdict: violations.length === 0 ? "ok" : "failed",
  };
}

/** Units of work; an entry without a count is one. */
function droppedIn(record: DrillRecord): number {
  return record.timeline.reduce((sum, { event, atMs, detail }) => {
    if (event !== "dropped" || !isOwn(record, atMs)) return sum;
    return sum + (typeof detail["count"] === "number" ? detail["count"] : 1);
  }, 0);
}
