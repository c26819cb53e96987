// Owns reading what the owners said in a cell's `pair-events`, whole, once all is at rest.

import { decodeOwnerEvent } from "../../protocol/codec.ts";
import { LockstepError } from "../../protocol/errors.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import { topicName } from "../../protocol/topics.ts";
import { within } from "../../protocol/waiting.ts";
import type { SaidEvent } from "./record.ts";

const READ_LIMIT_MS = 60_000;

/** In the order of each partition. @throws LockstepError `unreachable`, `unknown_schema` */
export async function readSaid(log: EventLog, cell: CellId, clock: Clock): Promise<SaidEvent[]> {
  const topic = topicName(cell, "pair-events");
  const bounds = await log.bounds(topic);
  const ends = new Map(bounds.filter(({ start, end }) => end > start).map(({ partition, end }) => [partition, end]));
  if (ends.size === 0) return [];
  const said: SaidEvent[] = [];
  let [done, failed]: [() => void, (error: Error) => void] = [() => undefined, () => undefined];
  const read = new Promise<void>((resolve, reject) => ([done, failed] = [resolve, reject]));
  read.catch(() => undefined); // waited for below
  const subscription = await log.consume({
    group: `lockstep.${cell}.drill`, // goes with the cell's other groups
    topics: [topic],
    from: bounds.map(({ partition, start }) => ({ topic, partition, offset: start })),
    onGap: () => failed(new LockstepError("unreachable", `${topic} has lost records of this run`)),
    onCrash: failed,
    async onBatch({ partition, records, next }) {
      for (const { value, timestampMs } of records) {
        const event = value === null ? null : decodeOwnerEvent(value);
        if (event !== null && event.kind !== "account") said.push({ atMs: timestampMs, event });
      }
      if (next >= (ends.get(partition) ?? Infinity)) ends.delete(partition);
      if (ends.size === 0) done();
    },
  });
  await within(clock, READ_LIMIT_MS, topic, read).finally(() => subscription.stop());
  return said;
}
