// Owns one round of the writer's bench: events into a real Kafka, and how long until they are committed rows.

import { WriterActor } from "../../actors/shell/writerActor.ts";
import { encode, PAIR_EVENT } from "../../protocol/codec.ts";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock, Random } from "../../protocol/ports/clock.ts";
import type { EventLog } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { CounterName, Metrics } from "../../protocol/ports/metrics.ts";
import type { PairStore } from "../../protocol/ports/storage.ts";
import { partitionOf, topicName, writersGroup } from "../../protocol/topics.ts";
import { pause } from "../../protocol/waiting.ts";
import { DEFAULT_NODE_LIMITS } from "../nodeLimits.ts";
import { eventOf } from "./writerEvents.ts";

export interface RoundOptions {
  readonly cell: CellId;
  readonly partitions: number;
  readonly log: EventLog;
  readonly pairs: PairStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Rows {
  readonly from: number;
  readonly count: number;
  /** One in so many is bad; null: none. */
  readonly badEvery: number | null;
}

const BUFFERED = 10_000;
const FULL_PAUSE_MS = 5;
/** A writer that gets no further for so long has failed. */
const STUCK_MS = 60_000;
const LOOK_MS = 100;

/** What of the events is settled: a row, kept out, or kept aside. */
class Settled implements Metrics {
  total = 0;
  onMore: () => void = () => undefined;

  count(name: CounterName, by = 1): void {
    if (name !== "rows_written" && name !== "rows_rejected" && name !== "rows_fenced") return;
    this.total += by;
    this.onMore();
  }

  ownTime(): void {
    // No order is sent here.
  }

  factsWritten(): void {
    // The bench's facts are of another time.
  }
}

/** Resolves when the log has all of them. */
export async function produce({ cell, partitions, log, clock }: RoundOptions, { from, count, badEvery }: Rows): Promise<void> {
  const topic = topicName(cell, "pair-events");
  const producer = log.producer({ maxBuffered: BUFFERED, delivery: "critical" });
  const lost: Error[] = [];
  const onSettled = (error: Error | null): void => {
    if (error !== null) lost.push(error);
  };
  for (let index = from; index < from + count; index++) {
    const event = eventOf(index, badEvery);
    const record = { topic, partition: partitionOf(event.follower, partitions), key: event.follower, value: encode(PAIR_EVENT, event) };
    while (producer.append(record, onSettled) === "full") await pause(clock, FULL_PAUSE_MS);
  }
  await producer.flush();
  await producer.close();
  if (lost.length > 0) throw new LockstepError("unreachable", `the log lost ${lost.length} events: ${messageOf(lost[0])}`, lost[0]);
}

/**
 * Runs a writer until everything is settled; `alongside` begins when it has its partitions. Resolves with how long it took from then,
 * in milliseconds. `onEvery`: whenever `every` more are settled.
 * @throws LockstepError `unreachable`: it does not get on
 */
export async function writeAll(options: RoundOptions, count: number, alongside: () => Promise<void>, every: number, onEvery: () => void): Promise<number> {
  const { cell, log, pairs, clock, random, logger } = options;
  const metrics = new Settled();
  const crashes: Error[] = [];
  const writer = new WriterActor({
    log, pairs, clock, random, logger, metrics,
    group: writersGroup(cell),
    topic: topicName(cell, "pair-events"),
    batchRows: DEFAULT_NODE_LIMITS.writerRows,
    batchMs: DEFAULT_NODE_LIMITS.writerMs,
    onCrash: (error) => void crashes.push(error),
  });
  await writer.start();
  const startedMs = clock.monotonicMs();
  let [endedMs, told] = [startedMs, 0];
  metrics.onMore = () => {
    endedMs = clock.monotonicMs();
    for (; metrics.total >= told + every; told += every) onEvery();
  };
  try {
    await alongside();
    while (metrics.total < count) {
      const [crash] = crashes;
      if (crash !== undefined) throw crash;
      if (clock.monotonicMs() - endedMs > STUCK_MS) throw new LockstepError("unreachable", `the writer has settled ${metrics.total} of ${count} events and gets no further`);
      await pause(clock, LOOK_MS);
    }
    await writer.drain(STUCK_MS);
    return endedMs - startedMs;
  } finally {
    await writer.stop();
  }
}
