// Owns what the log's contract suite needs of a log under test, and the small tools its cases use.
// Names are unique per case, so that cases may share one real log.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { Batch, ConsumeOptions, EventLog, LogRecord, OutgoingRecord, Position, Subscription } from "../../protocol/ports/log.ts";
import type { TopicSpec } from "../../protocol/topics.ts";

/** A log under test, made for one case. */
export interface LogFixture {
  readonly log: EventLog;
  /** A second connection, as another process would have it. */
  another(): Promise<EventLog>;
  /** Lets go what is below the position, as retention does. */
  trim(position: Position): Promise<void>;
  /** Compacts a topic: all that is there when it is called. `last` appends what no compaction touches, being the newest. */
  compact(topic: string, last: () => Promise<void>): Promise<void>;
  /** A member of a group in a process of its own, which can die and stand still. It commits each batch after its handler is done. */
  member(options: MemberOptions): Promise<GroupMember>;
}

export interface MemberOptions {
  readonly group: string;
  readonly topic: string;
  /** The handler ends when it is told to; else at once. */
  readonly holds: boolean;
}

export interface GroupMember {
  /** In the order in which its handler got them, repeats included. */
  readonly got: readonly SeenRecord[];
  /** What became of its commits, in their order: null, or the error's code. */
  readonly commits: readonly (string | null)[];
  /** Lets the handler of a member that holds end, for all batches. */
  release(): void;
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export interface SeenRecord {
  readonly partition: number;
  readonly offset: number;
  readonly text: string;
}

export interface LogUnderTest {
  /** Registers its own cleaning up with `t.after`. */
  create(t: TestContext): Promise<LogFixture>;
  /** How long a case waits for what must come. */
  readonly patienceMs: number;
}

export interface Read extends Subscription {
  readonly records: LogRecord[];
  readonly batches: Batch[];
  readonly gaps: Parameters<ConsumeOptions["onGap"]>[0][];
  readonly crashes: Error[];
  texts(partition?: number): string[];
}

const DAY_MS = 86_400_000;

/** One case's log with the tools to write to it and read from it. */
export class LogCase {
  readonly fixture: LogFixture;
  readonly log: EventLog;
  readonly #patienceMs: number;
  readonly #ends: (() => Promise<unknown>)[] = [];
  #failure: Error | null = null;

  constructor(fixture: LogFixture, patienceMs: number) {
    this.fixture = fixture;
    this.log = fixture.log;
    this.#patienceMs = patienceMs;
  }

  /** Done when the case is over, before its connections are closed. */
  afterwards(work: () => Promise<unknown>): void {
    this.#ends.push(work);
  }

  async end(): Promise<void> {
    for (const work of this.#ends.splice(0)) await work();
  }

  /** Ends the next wait with this. */
  fail(error: Error): void {
    this.#failure ??= error;
  }

  /** Appends one record and waits until the log has it. */
  async append(record: OutgoingRecord): Promise<void> {
    const producer = this.log.producer({ maxBuffered: 1, delivery: "critical" });
    const failure = await new Promise<Error | null>((settled) => producer.append(record, settled));
    await producer.close();
    if (failure !== null) throw failure;
  }

  groupName = (): string => `contract.group.${randomUUID()}`;
  spec = (settings: Partial<TopicSpec> = {}): TopicSpec => ({ name: `contract.${randomUUID()}`, partitions: 2, cleanup: "delete", retentionMs: 7 * DAY_MS, ...settings });

  async topic(settings: Partial<TopicSpec> = {}): Promise<string> {
    const spec = this.spec(settings);
    await this.log.ensureTopics([spec]);
    return spec.name;
  }

  /** Appends the texts, each as its own key unless one is given, and waits until the log has them. */
  async write(topic: string, partition: number, texts: readonly (string | null)[], key?: string): Promise<void> {
    const producer = this.log.producer({ maxBuffered: texts.length, delivery: "critical" });
    const failures: Error[] = [];
    for (const text of texts) {
      const value = text === null ? null : bytesOf(text);
      producer.append({ topic, partition, key: key ?? text ?? "", value }, (error) => error !== null && failures.push(error));
    }
    await producer.close();
    if (failures[0] !== undefined) throw failures[0];
  }

  /** Subscribes and collects. `onBatch` runs after the batch was collected. */
  async read(options: Pick<ConsumeOptions, "group" | "topics" | "from">, onBatch: (batch: Batch) => Promise<void> = async () => {}, log = this.log): Promise<Read> {
    const records: LogRecord[] = [];
    const batches: Batch[] = [];
    const gaps: Read["gaps"] = [];
    const crashes: Error[] = [];
    const subscription = await log.consume({
      ...options,
      async onBatch(batch) {
        batches.push(batch);
        records.push(...batch.records);
        await onBatch(batch);
      },
      onGap: (gap) => gaps.push(gap),
      onCrash: (error) => crashes.push(error),
    });
    const texts = (partition?: number) => records.filter((record) => partition === undefined || record.partition === partition).map(textOf);
    return { records, batches, gaps, crashes, texts, commit: (positions) => subscription.commit(positions), fetchedAtMs: () => subscription.fetchedAtMs(), stop: () => subscription.stop() };
  }

  /** Waits until the condition holds, with patience; what it waited for is named when it never does. */
  async eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + this.#patienceMs;
    while (!(await condition())) {
      if (this.#failure !== null) throw this.#failure;
      if (performance.now() > untilMs) assert.fail(`not within ${this.#patienceMs} ms: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (record: LogRecord): string => (record.value === null ? "(tombstone)" : new TextDecoder().decode(record.value));
/** `a-0` to `a-(count-1)`. */
export const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** A promise and the means to end it: a handler that takes as long as the case wants. */
export function latch(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
