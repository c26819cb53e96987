// Owns a node's journal: what its actors tell becomes records of the replay topic, and a log line where
// it is of the life of a node or an account.
//
// 1. Telling is a push into an array; records are made in later turns, a bounded number in each, so that
//    no order waits for them.
// 2. It never fails and is never waited for: what finds no room, or what the log does not take, is counted.
// 3. The line of an event that is not of a single trade is written at once: the last words of a process
//    that is killed are in its log.

import { encode, REPLAY } from "../../protocol/codec.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import type { Journal, Subject } from "../../protocol/ports/journal.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Metrics } from "../../protocol/ports/metrics.ts";
import type { Identity } from "../../protocol/ports/storage.ts";
import { TIMELINE_EVENTS, TRADE_EVENTS, type TimelineDetail, type TimelineEntry, type TimelineEvent } from "../../protocol/timeline.ts";
import { partitionOf } from "../../protocol/topics.ts";
import type { WallMs } from "../../protocol/units.ts";
import { within } from "../../protocol/waiting.ts";

export interface ReplayJournalOptions {
  readonly me: Identity;
  /** Best effort: nothing waits for it. It is the journal's, which ends it. */
  readonly producer: Producer;
  readonly topic: string;
  readonly partitions: number;
  /** Entries that wait to be made records, at most. */
  readonly capacity: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Records made in one turn: about a quarter of a millisecond. */
const A_TURN = 64;
const CLOSE_LIMIT_MS = 2_000;

export class ReplayJournal implements Journal {
  readonly #options: ReplayJournalOptions;
  #waiting: TimelineEntry[] = [];
  /** Next of `#waiting`: shifting an array of thousands is slow. */
  #head = 0;
  #isMaking = false;
  #isClosed = false;

  constructor(options: ReplayJournalOptions) {
    this.#options = options;
  }

  note(subject: Subject | null, event: TimelineEvent, detail: TimelineDetail): void {
    const { me, clock, logger, metrics, capacity } = this.#options;
    const entry: TimelineEntry = { atMs: clock.wallMs() as WallMs, node: me.node, boot: me.boot, account: subject?.account ?? null, epoch: subject?.epoch ?? null, event, detail };
    if (!TRADE_EVENTS.has(event)) logger.info({ timeline: entry }, TIMELINE_EVENTS[event]); // 3
    if (this.#isClosed || this.#waiting.length - this.#head >= capacity) return metrics.count("replay_dropped");
    this.#waiting.push(entry);
    if (!this.#isMaking) this.#makeSoon();
  }

  /** Hands over what waits and ends the producer, or gives up after a while: what the log lacks then is lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { producer, clock, logger } = this.#options;
    while (this.#makeSome());
    try {
      await within(clock, CLOSE_LIMIT_MS, "the replay topic", producer.close());
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "the end of the timeline did not reach the replay topic");
    }
  }

  #makeSoon(): void {
    this.#isMaking = true;
    this.#options.clock.soon(() => {
      this.#isMaking = false;
      if (this.#makeSome()) this.#makeSoon(); // 1
    });
  }

  /** Whether there is more. */
  #makeSome(): boolean {
    const until = Math.min(this.#head + A_TURN, this.#waiting.length);
    for (const entry of this.#waiting.slice(this.#head, until)) this.#make(entry);
    this.#head = until;
    if (this.#head < this.#waiting.length) return true;
    this.#waiting = [];
    this.#head = 0;
    return false;
  }

  #make(entry: TimelineEntry): void {
    const { producer, topic, partitions, logger, metrics } = this.#options;
    if (TRADE_EVENTS.has(entry.event)) logger.debug({ timeline: entry }, TIMELINE_EVENTS[entry.event]);
    const key = entry.account ?? entry.node ?? "";
    try {
      const record = { topic, partition: partitionOf(key, partitions), key, value: encode(REPLAY, entry) };
      const result = producer.append(record, (error) => error !== null && metrics.count("replay_dropped"));
      if (result !== "accepted") metrics.count("replay_dropped"); // 2
    } catch (error) {
      metrics.count("replay_dropped");
      logger.error({ event: entry.event, error: messageOf(error) }, "an entry of the timeline cannot be told");
    }
  }
}
