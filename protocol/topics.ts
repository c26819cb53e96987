// Owns the names of topics and groups, and which partition a key belongs to.
//
// 1. The partition count is a number stored with the cell, never the log's own: a key never moves
//    because somebody altered a topic.

import type { BootId, CellId, NodeId } from "./ids.ts";

export type Topic = "master-ticks" | "master-books" | "pair-events" | "replay";

export const topicName = (cell: CellId, topic: Topic): string => `lockstep.${cell}.${topic}`;
/** Every boot of a node reads all ticks in a group of its own. */
export const tickGroup = (cell: CellId, node: NodeId, boot: BootId): string => `lockstep.${cell}.ticks.${node}.${boot}`;
/** All writers of a cell share one group. */
export const writersGroup = (cell: CellId): string => `lockstep.${cell}.writers`;

/** Of one postmortem, deleted afterwards. */
export const postmortemGroup = (cell: CellId, id: string): string => `lockstep.${cell}.postmortem.${id}`;

/** What a cell gets whose first node asks for no other: the writers of a small cell, with room to grow. */
export const DEFAULT_PARTITIONS = 16;
export const MAX_PARTITIONS = 10_000;

const DAY_MS = 86_400_000;

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly cleanup: "delete" | "compact";
  /** Null keeps for ever. */
  readonly retentionMs: number | null;
}

export function topicSpecs(cell: CellId, partitions: number): TopicSpec[] {
  const spec = (topic: Topic, cleanup: TopicSpec["cleanup"], retentionMs: number | null): TopicSpec => ({ name: topicName(cell, topic), partitions, cleanup, retentionMs });
  return [
    spec("master-ticks", "delete", 7 * DAY_MS),
    spec("master-books", "compact", null),
    spec("pair-events", "delete", 7 * DAY_MS),
    spec("replay", "delete", 14 * DAY_MS),
  ];
}

const encoder = new TextEncoder();

/** FNV-1a over the key's UTF-8 bytes: fixed here for ever, since moving a key breaks its order. */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash % partitions;
}
