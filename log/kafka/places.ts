// Owns where a member begins to read each of its partitions.
//
// 1. In a group that commits, where the group stands is what it has committed: another member may have
//    gone further meanwhile. In a group of one's own it is what this reader has handled.
// 2. A place that the log does not have any more, or not yet, is replaced by the log's start, and both are told.

import type { ConsumeOptions, PartitionBounds, Position } from "../../protocol/ports/log.ts";

type Place = Pick<Position, "topic" | "partition">;

export interface Beginning extends Place {
  /** Equal to `start` where nothing is missing. */
  readonly wanted: number;
  readonly start: number;
}

export interface PlacesAsked {
  readonly consume: ConsumeOptions;
  readonly bounds: (topic: string) => Promise<readonly PartitionBounds[]>;
  readonly committed: (group: string, topic: string) => Promise<readonly Position[]>;
  readonly handled: (place: Place) => number | null;
}

/** @throws LockstepError `configuration`, `unreachable` */
export async function beginningOf(places: readonly Place[], { consume, bounds, committed, handled }: PlacesAsked): Promise<readonly Beginning[]> {
  const { from, group } = consume;
  const found: Beginning[] = [];
  for (const topic of new Set(places.map((place) => place.topic))) {
    const ends = new Map((await bounds(topic)).map((one) => [one.partition, one]));
    const known = from === "committed" ? await committed(group, topic) : from.filter((position) => position.topic === topic);
    const offsets = new Map(known.map(({ partition, offset }) => [partition, offset]));
    for (const { partition } of places.filter((place) => place.topic === topic)) {
      const { start, end } = ends.get(partition) ?? { start: 0, end: 0 };
      // Invariant 1.
      const wanted = from === "committed" ? (offsets.get(partition) ?? start) : (handled({ topic, partition }) ?? offsets.get(partition) ?? end);
      const isThere = wanted >= start && wanted <= end;
      found.push({ topic, partition, wanted, start: isThere ? wanted : start }); // 2
    }
  }
  return found;
}
