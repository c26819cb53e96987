// Owns what a cluster shows at its end: the JSON object and the text for people.

import type { Violation } from "../demo/check/checkDemo.ts";
import type { Ownership } from "./judge.ts";
import type { OwnTimes } from "./ownTime.ts";

export interface ClusterReport extends Ownership {
  /** That reached the brokers, as their logs have it. */
  readonly orders: number;
  readonly ownTimeMs: OwnTimes;
  readonly violations: readonly Violation[];
  readonly verdict: "ok" | "failed";
}

export function clusterReport(ownership: Ownership, orders: number, ownTimeMs: OwnTimes, violations: readonly Violation[]): ClusterReport {
  return { ...ownership, orders, ownTimeMs, violations, verdict: violations.length === 0 ? "ok" : "failed" };
}

export function clusterText({ nodes, doubleOwned, unowned, lag, moves, orders, ownTimeMs: { p50, p95, count }, violations, verdict }: ClusterReport): string {
  return [
    ...nodes.map(({ node, accounts, writerPartitions }) => `${node.padEnd(10)} ${accounts.length} accounts, writes ${writerPartitions.length} partitions`),
    ...(doubleOwned.length === 0 ? [] : [`two owners ${doubleOwned.join(" ")}`]),
    ...(unowned.length === 0 ? [] : [`no owner   ${unowned.join(" ")}`]),
    `moves      ${moves}`,
    `lag        ${lag.writers} pair events`,
    `orders     ${orders}`,
    `own time   ${count === 0 ? "no orders" : `p50 ${p50} ms   p95 ${p95} ms   ${count} orders`}`,
    ...violations.map(({ rule, follower, detail }) => `VIOLATION  ${rule}${follower === null ? "" : ` at ${follower}`}: ${detail}`),
    `verdict    ${verdict}`,
  ].join("\n");
}
