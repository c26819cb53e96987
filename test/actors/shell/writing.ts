// Owns the setting of the writer's cases: fake time, the in-memory log, and a store that does what it is told.

import { WriterActor } from "../../../actors/shell/writerActor.ts";
import { MEMORY_LOG_LIMITS } from "../../../log/memory/limits.ts";
import { MemoryLog } from "../../../log/memory/memoryLog.ts";
import { encode, PAIR_EVENT } from "../../../protocol/codec.ts";
import { LockstepError } from "../../../protocol/errors.ts";
import { accountId, type Epoch } from "../../../protocol/ids.ts";
import type { PairEvent } from "../../../protocol/pairs.ts";
import type { PairRow, PairStore } from "../../../protocol/ports/storage.ts";
import type { UnknownCommit } from "../../../protocol/unknownCommit.ts";
import { topicName, topicSpecs } from "../../../protocol/topics.ts";
import { pair, ticket } from "../core/examples.ts";
import { CELL, CountingMetrics, elapsed } from "../../sim/cell.ts";
import { FakeScheduler } from "../../sim/scheduler.ts";
import { recordingLogger } from "../../support/recordingLogger.ts";

export const TOPIC = topicName(CELL, "pair-events");
const FOLLOWER = accountId("follower1");

/** Rows by master ticket and how often each was written; some rows are bad, and the database may be down. */
export class ScriptedStore implements PairStore {
  readonly rows = new Map<number, number>();
  readonly batches: number[][] = [];
  readonly rejected: { readonly masterTicket: number; readonly code: string }[] = [];
  readonly bad = new Set<number>();
  /** Rows that are refused by a class that blames nobody. */
  suspects: (number: number) => boolean = () => false;
  readonly suspicion = new LockstepError("row_suspect", "P0001: not today", Object.assign(new Error("not today"), { code: "P0001" }));
  down = false;
  rejectsFail = 0;

  write(events: readonly PairEvent[]): Promise<{ written: number; fenced: number }> {
    const tickets = events.map((event) => (event.kind === "pair" ? event.pair.masterTicket : 0));
    if (this.down) return Promise.reject(new LockstepError("database_busy", "no connection"));
    if (tickets.some((number) => this.bad.has(number))) return Promise.reject(new LockstepError("row_fault", "refused", Object.assign(new Error("refused"), { code: "23514" })));
    if (tickets.some((number) => this.suspects(number))) return Promise.reject(this.suspicion);
    this.batches.push(tickets);
    for (const number of tickets) this.rows.set(number, (this.rows.get(number) ?? 0) + 1);
    return Promise.resolve({ written: events.length, fenced: 0 });
  }

  projectedEpoch = (): Promise<never> => Promise.reject(new Error("a writer asks for no barrier"));

  reject(event: PairEvent, { code }: { readonly code: string }): Promise<void> {
    if (this.rejectsFail-- > 0) return Promise.reject(new LockstepError("database_busy", "no connection"));
    this.rejected.push({ masterTicket: event.kind === "pair" ? event.pair.masterTicket : 0, code });
    return Promise.resolve();
  }

  readonly rehearsed: number[] = [];

  tryOut(events: readonly PairEvent[]): Promise<{ written: number; fenced: number }> {
    const tickets = events.map((event) => (event.kind === "pair" ? event.pair.masterTicket : 0));
    this.rehearsed.push(...tickets);
    const suspect = this.suspects;
    return tickets.some((number) => suspect(number)) ? Promise.reject(this.suspicion) : Promise.resolve({ written: events.length, fenced: 0 });
  }

  /** Whether a commit in doubt was done: what is in the rows. */
  isDone({ events }: UnknownCommit): Promise<boolean> {
    return this.down ? Promise.reject(new LockstepError("database_busy", "no connection")) : Promise.resolve(events.every((event) => event.kind !== "pair" || this.rows.has(event.pair.masterTicket)));
  }

  rowsOf(): Promise<PairRow[]> {
    return Promise.resolve([...this.rows.keys()].map((number) => ({ epoch: 1 as Epoch, n: 1, pair: pair({ masterTicket: ticket(number) }) })));
  }

  counts(): Promise<{ pairs: number; rejected: number }> {
    return Promise.resolve({ pairs: this.rows.size, rejected: this.rejected.length });
  }
}

export async function writing(seed = 1, partitions = 1) {
  const clock = new FakeScheduler(seed);
  const log = new MemoryLog({ clock, random: clock.random, limits: MEMORY_LOG_LIMITS });
  await elapsed(clock, log.ensureTopics(topicSpecs(CELL, partitions)));
  const producer = log.producer({ maxBuffered: 1_000, delivery: "critical" });
  const store = new ScriptedStore();
  const metrics = new CountingMetrics();
  const crashes: Error[] = [];
  const writer = (): WriterActor => new WriterActor({ log, group: "writers", topic: TOPIC, pairs: store, clock, random: clock.random, logger: recordingLogger(), metrics, batchRows: 50, batchMs: 100, onCrash: (error) => crashes.push(error) });
  const append = (value: Uint8Array, partition = 0): void => void producer.append({ topic: TOPIC, partition, key: FOLLOWER, value });
  const event = (number: number): Uint8Array => encode(PAIR_EVENT, { kind: "pair", follower: FOLLOWER, epoch: 1 as Epoch, n: number, pair: pair({ masterTicket: ticket(number) }) });
  return {
    clock, log, store, metrics, crashes, writer, append, event,
    events: (...tickets: readonly number[]) => {
      for (const number of tickets) append(event(number));
    },
    start: async (made = writer()) => {
      await elapsed(clock, made.start());
      return made;
    },
    committed: async (partition = 0) => (await elapsed(clock, log.committed("writers", TOPIC))).find((position) => position.partition === partition)?.offset ?? 0,
  };
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
