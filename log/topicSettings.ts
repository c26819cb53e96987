// Owns what a topic's settings must be: which specs make sense, and in what a topic that exists
// differs from the one that is wanted.

import { LockstepError } from "../protocol/errors.ts";
import type { TopicSpec } from "../protocol/topics.ts";

/**
 * A compacted topic must keep for ever: with a retention its only record of a quiet key goes too.
 * @throws LockstepError `configuration`
 */
export function checkTopicSpec(spec: TopicSpec): void {
  const refuse = (what: string) => {
    throw new LockstepError("configuration", `topic ${JSON.stringify(spec.name)}: ${what}`);
  };
  if (spec.name === "") refuse("expected a name");
  if (!Number.isInteger(spec.partitions) || spec.partitions < 1) refuse(`expected at least one partition, got ${spec.partitions}`);
  if (spec.retentionMs !== null && !(spec.retentionMs > 0)) refuse(`expected a positive retentionMs or none, got ${spec.retentionMs}`);
  if (spec.cleanup === "compact" && spec.retentionMs !== null) refuse(`a compacted topic keeps for ever, got retentionMs ${spec.retentionMs}`);
}

/** What a topic that exists is like. A real log's `cleanup` may be anything. */
export interface FoundTopic {
  readonly partitions: number;
  readonly cleanup: string;
  readonly retentionMs: number | null;
}

/** @throws LockstepError `configuration`, naming each setting with what was expected and what was found. */
export function refuseDifferingTopic(expected: TopicSpec, found: FoundTopic): void {
  const settings = ["partitions", "cleanup", "retentionMs"] as const;
  const differing = settings.filter((setting) => expected[setting] !== found[setting]);
  if (differing.length === 0) return;
  const text = differing.map((setting) => `${setting}: expected ${expected[setting] ?? "none"}, found ${found[setting] ?? "none"}`);
  throw new LockstepError("configuration", `topic ${JSON.stringify(expected.name)} exists with other settings: ${text.join("; ")}`);
}
