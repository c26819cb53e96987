// Owns what a demo shows at its end: the JSON object and the table for people.

import Table from "cli-table3";
import { summarise, type StatementSummary } from "../statement/summary.ts";
import type { Statement } from "../statement/model.ts";
import type { CheckReport, FollowerReport, Violation } from "./check/checkDemo.ts";
import { WARM_UP_TRADES, type Quantiles } from "./ownTime.ts";

export interface DemoReport {
  readonly statement: StatementSummary;
  readonly followers: readonly FollowerReport[];
  /** After the warm-up. */
  readonly ownTimeMs: Quantiles;
  readonly warmUpMs: Quantiles;
  readonly rows: { readonly pairs: number; readonly rejected: number };
  readonly violations: readonly Violation[];
  readonly verdict: CheckReport["verdict"];
}

export function demoReport(
  statement: Statement,
  check: CheckReport,
  ownTime: { readonly warmUp: Quantiles; readonly steady: Quantiles },
  rows: DemoReport["rows"],
): DemoReport {
  return {
    statement: summarise(statement),
    followers: check.followers,
    ownTimeMs: ownTime.steady,
    warmUpMs: ownTime.warmUp,
    rows,
    violations: check.violations,
    verdict: check.verdict,
  };
}

export function demoText(report: DemoReport): string {
  const table = new Table({ head: ["follower", "platform", "copied", "part-closed", "modified", "pendings", "skipped", "open at end"], style: { head: [], border: [] }, chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" } });
  for (const follower of report.followers) {
    table.push([follower.id, follower.platform, follower.copied, follower.partClosed, follower.modified, follower.pendings, skippedText(follower.skipped), follower.openAtEnd]);
  }
  const { ownTimeMs: own, warmUpMs: warm, rows, violations } = report;
  return [
    table.toString(),
    `own time   ${quantilesText(own)}`,
    `warm-up    ${quantilesText(warm)}, of the first ${WARM_UP_TRADES} trades`,
    `rows       ${rows.pairs} pairs, ${rows.rejected} rejected`,
    ...violations.map((violation) => `VIOLATION  ${violation.rule}${violation.follower === null ? "" : ` at ${violation.follower}`}: ${violation.detail}`),
    `verdict    ${report.verdict}`,
  ].join("\n");
}

const quantilesText = ({ p50, p95, max, count }: Quantiles): string => (count === 0 ? "no orders" : `p50 ${p50} ms   p95 ${p95} ms   max ${max} ms   ${count} orders`);

function skippedText(skipped: Readonly<Record<string, number>>): string {
  return Object.entries(skipped).map(([reason, count]) => `${count} ${reason.replaceAll("_", " ")}`).join("\n");
}
