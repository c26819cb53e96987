// Owns how far the writers of a cell are behind: events that are in the log and not in the database.

import type { CellId } from "../protocol/ids.ts";
import type { EventLog } from "../protocol/ports/log.ts";
import { topicName, writersGroup } from "../protocol/topics.ts";

export interface PartitionLag {
  readonly partition: number;
  readonly lag: number;
}

export interface PartitionStand extends PartitionLag {
  /** Pair events that were ever said. */
  readonly end: number;
}

/** By partition. */
export async function writerStand(log: Pick<EventLog, "bounds" | "committed">, cell: CellId): Promise<readonly PartitionStand[]> {
  const topic = topicName(cell, "pair-events");
  // The positions first: what is written meanwhile makes the lag too large, never too small.
  const committed = new Map((await log.committed(writersGroup(cell), topic)).map(({ partition, offset }) => [partition, offset]));
  const bounds = await log.bounds(topic);
  return bounds.map(({ partition, start, end }) => ({ partition, end, lag: end - Math.max(start, committed.get(partition) ?? start) }));
}

/** By partition. */
export const writerLag = async (log: Pick<EventLog, "bounds" | "committed">, cell: CellId): Promise<readonly PartitionLag[]> => (await writerStand(log, cell)).map(({ partition, lag }) => ({ partition, lag }));

export const totalLag = (lags: readonly PartitionLag[]): number => lags.reduce((sum, { lag }) => sum + lag, 0);
export const totalEvents = (stand: readonly PartitionStand[]): number => stand.reduce((sum, { end }) => sum + end, 0);
