// Owns taking away what a cell has in Kafka, for cells that are made for a while: topics and groups.
//
// 1. A member that died without a word keeps its group until its session is over: it is waited for.

import type { GroupView } from "../../log/kafka/groupView.ts";
import type { KafkaLog } from "../../log/kafka/kafkaLog.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { topicSpecs } from "../../protocol/topics.ts";
import { pause } from "../../protocol/waiting.ts";

export interface CellInKafka {
  readonly cell: CellId;
  readonly partitions: number;
  readonly log: Pick<KafkaLog, "deleteTopics">;
  readonly groups: Pick<GroupView, "namesOf" | "remove">;
  readonly clock: Clock;
}

const GROUP_LIMIT_MS = 10_000;
const GROUP_POLL_MS = 500;

/** @throws LockstepError `unreachable` */
export async function clearCell({ cell, partitions, log, groups, clock }: CellInKafka): Promise<void> {
  await log.deleteTopics(topicSpecs(cell, partitions).map(({ name }) => name));
  const limitMs = clock.monotonicMs() + GROUP_LIMIT_MS;
  for (const group of await groups.namesOf(`lockstep.${cell}.`)) {
    while (!(await groups.remove(group)) && clock.monotonicMs() < limitMs) await pause(clock, GROUP_POLL_MS); // 1
  }
}
