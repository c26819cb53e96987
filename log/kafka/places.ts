// Owns where a member begins to read each of its partitions.
//
// 1. In a group that commits, where the group stands is what it has committed: another member may have
//    gone further meanwhile. In a group of one's own it is what this reader has handled.
// 2. A place that the log has no more (retention passed it, the log was made anew, its tail was lost) is
//    replaced by the log's start, and both are told.

import { LockstepError } from "../../protocol/errors.ts";
import type { ConsumeOptions, PartitionBounds, Position } from "../../protocol/ports/log.ts";
import type { Place } from "./member.ts";
import type { Questions } from "./questions.ts";

export interface Beginning extends Place {
  /** Equal to `start` where nothing is missing. */
  readonly wanted: number;
  readonly start: number;
}

export type PlaceQuestions = Pick<Questions, "bounds" | "committed">;

/** Invariant 2. */
export const isThere = (offset: number, { start, end }: Pick<PartitionBounds, "start" | "end">): boolean => offset >= start && offset <= end;

/** @throws LockstepError `configuration`, `unreachable` */
export async function beginningOf(places: readonly Place[], { from, group }: ConsumeOptions, questions: PlaceQuestions, handled: (place: Place) => number | null): Promise<readonly Beginning[]> {
  const found: Beginning[] = [];
  for (const topic of new Set(places.map((place) => place.topic))) {
    const bounds = new Map((await questions.bounds(topic)).map((one) => [one.partition, one]));
    const known = from === "committed" ? await questions.committed(group, topic) : from.filter((position) => position.topic === topic);
    const offsets = new Map(known.map(({ partition, offset }) => [partition, offset]));
    for (const { partition } of places.filter((place) => place.topic === topic)) {
      const { start, end } = bounds.get(partition) ?? { start: 0, end: 0 };
      // Invariant 1.
      const wanted = from === "committed" ? (offsets.get(partition) ?? start) : (handled({ topic, partition }) ?? offsets.get(partition) ?? end);
      found.push({ topic, partition, wanted, start: isThere(wanted, { start, end }) ? wanted : start }); // 2
    }
  }
  return found;
}

/** @throws LockstepError `invalid_value`: positions that nobody can begin at; `configuration`: no such topic */
export async function checkPositions({ group, topics, from }: ConsumeOptions, questions: PlaceQuestions): Promise<void> {
  if (topics.length === 0) throw new LockstepError("invalid_value", `group ${group}: expected at least one topic`);
  const refuse = (expected: string, { topic, partition, offset }: Position): never => {
    throw new LockstepError("invalid_value", `group ${group}: expected ${expected}, got ${topic}/${partition} at ${offset}`);
  };
  const positions = from === "committed" ? [] : from;
  for (const position of positions) if (!topics.includes(position.topic)) refuse(`a partition of ${topics.join(", ")}`, position);
  for (const topic of new Set(topics)) {
    const ends = new Map((await questions.bounds(topic)).map(({ partition, end }) => [partition, end]));
    for (const position of positions.filter((one) => one.topic === topic)) {
      const end = ends.get(position.partition);
      if (end === undefined) return refuse(`a partition of ${topic}`, position);
      if (!Number.isInteger(position.offset) || position.offset < 0 || position.offset > end) refuse(`an offset from 0 to ${end}`, position);
    }
  }
}
