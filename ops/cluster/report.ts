// Owns what a cluster shows at its end: the JSON object and the text for people.

import type { Violation } from "../demo/check/checkDemo.ts";
import type { Ownership } from "./judge.ts";
import type { Times } from "./ownTime.ts";

export interface ClusterReport extends Ownership {
  /** That reached the brokers, as their logs have it. */
  readonly orders: number;
  readonly ownTimeMs: Times;
  /** From when a fact's owner heard of it, in the answer of its broker, to its committed row. */
  readonly factToRowMs: Times;
  readonly violations: readonly Violation[];
  readonly verdict: "ok" | "failed";
}

export function clusterReport(ownership: Ownership, orders: number, times: Pick<ClusterReport, "ownTimeMs" | "factToRowMs">, violations: readonly Violation[]): ClusterReport {
  return { ...ownership, orders, ...times, violations, verdict: violations.length === 0 ? "ok" : "failed" };
}

export function clusterText({ nodes, doubleOwned, unowned, lag, moves, orders, ownTimeMs: { p50, p95, count }, factToRowMs: rows, violations, verdict }: ClusterReport): string {
  return [
    ...nodes.map(({ node, accounts, writerPartitions }) => `${node.padEnd(10)} ${accounts.length} accounts, writes ${writerPartitions.length} partitions`),
    ...(doubleOwned.length === 0 ? [] : [`two owners ${doubleOwned.join(" ")}`]),
    ...(unowned.length === 0 ? [] : [`no owner   ${unowned.join(" ")}`]),
    `moves      ${moves}`,
    `lag        ${lag.writers} pair events`,
    `orders     ${orders}`,
    `own time   ${count === 0 ? "no orders" : `p50 ${p50} ms   p95 ${p95} ms   ${count} orders`}`,
    `rows       ${rows.count === 0 ? "none" : `p50 ${rows.p50} ms   p95 ${rows.p95} ms after the fact   ${rows.count} facts`}`,
    ...violations.map(({ rule, follower, detail }) => `VIOLATION  ${rule}${follower === null ? "" : ` at ${follower}`}: ${detail}`),
    `verdict    ${verdict}`,
  ].join("\n");
}
