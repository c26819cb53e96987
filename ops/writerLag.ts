// Owns how far the writers of a cell are behind: events that are in the log and not in the database.

import type { CellId } from "../protocol/ids.ts";
import type { EventLog } from "../protocol/ports/log.ts";
import { topicName, writersGroup } from "../protocol/topics.ts";

export interface PartitionLag {
  readonly partition: number;
  readonly lag: number;
}

/** By partition. A topic that is not there yet has none. */
export async function writerLag(log: Pick<EventLog, "bounds" | "committed">, cell: CellId): Promise<readonly PartitionLag[]> {
  const topic = topicName(cell, "pair-events");
  // The positions first: what is written meanwhile makes the lag too large, never too small.
  const committed = new Map((await log.committed(writersGroup(cell), topic)).map(({ partition, offset }) => [partition, offset]));
  const bounds = await log.bounds(topic);
  return bounds.map(({ partition, start, end }) => ({ partition, lag: end - Math.max(start, committed.get(partition) ?? start) }));
}

export const totalLag = (lags: readonly PartitionLag[]): number => lags.reduce((sum, { lag }) => sum + lag, 0);
