// Owns what the options of `lockstep cluster` mean, and their bounds.

import { LockstepError } from "../../protocol/errors.ts";

export interface ClusterPlan {
  readonly nodes: number;
  readonly masters: number;
  /** Of all masters together. */
  readonly followers: number;
  readonly storyMs: number;
  /** In the middle of the story one node ends and another one starts. */
  readonly churn: boolean;
}

export interface ClusterTexts {
  readonly nodes: string;
  readonly followers: string;
  readonly masters: string;
  readonly for: string;
  readonly churn?: boolean | undefined;
}

export const CLUSTER_DEFAULTS = { nodes: "3", followers: "12", masters: "2", for: "30s" } as const satisfies ClusterTexts;

/** More processes than this help nobody on one machine. */
const MAX_NODES = 16;
const MAX_MASTERS = 50;
const MAX_FOLLOWERS = 1_000;
const SHORTEST_MS = 5_000;
const LONGEST_MS = 3_600_000;
const UNIT_MS = { s: 1_000, m: 60_000 } as const;

/** @throws LockstepError `configuration`: one line for each fault */
export function clusterPlan(texts: ClusterTexts): ClusterPlan {
  const faults: string[] = [];
  const number = (option: string, text: string, max: number): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > max) faults.push(`${option}: expected a whole number from 1 to ${max}, got ${JSON.stringify(text)}`);
    return value;
  };
  const nodes = number("--nodes", texts.nodes, MAX_NODES);
  const masters = number("--masters", texts.masters, MAX_MASTERS);
  const followers = number("--followers", texts.followers, MAX_FOLLOWERS);
  const storyMs = durationOf(texts.for);
  if (storyMs === null) faults.push(`--for: expected ${SHORTEST_MS / 1_000}s to ${LONGEST_MS / UNIT_MS.m}m, as in 30s or 2m, got ${JSON.stringify(texts.for)}`);
  if (faults.length === 0 && followers < masters) faults.push(`--followers: expected at least one for each of the ${masters} masters, got ${followers}`);
  if (faults.length > 0) throw new LockstepError("configuration", faults.join("\n"));
  return { nodes, masters, followers, storyMs: storyMs ?? 0, churn: texts.churn === true };
}

function durationOf(text: string): number | null {
  const [, digits, unit] = /^(\d{1,6})([sm])$/.exec(text) ?? [];
  const ms = Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return ms >= SHORTEST_MS && ms <= LONGEST_MS ? ms : null;
}
