// Owns reading a window of the replay topic: what was told of one follower, of its masters, and of the nodes
// that held it meanwhile.
//
// 1. Only reads: its group is its own, and gone afterwards.
// 2. Bounded: it ends at what was there when it began, with more entries than it may keep, or when the log is
//    silent.
// 3. A record of a newer release, or of nobody's, is counted and passed over: the rest is still worth reading.
// 4. A record whose answer was lost was sent again, and is there twice: what is the same to the byte is one.
// 5. Who holds the follower and whom it copies is read from what was told of it: the database may be what is
//    down. What a master is is told by every node that reads it; only the follower's own nodes matter.

import { decode, REPLAY } from "../../protocol/codec.ts";
import { isLockstepError, LockstepError } from "../../protocol/errors.ts";
import type { AccountId, CellId, NodeId } from "../../protocol/ids.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { EventLog, LogRecord, Position } from "../../protocol/ports/log.ts";
import type { TimelineEntry, TimelineEvent } from "../../protocol/timeline.ts";
import { partitionOf, postmortemGroup, topicName } from "../../protocol/topics.ts";
import { byTime, isEntry } from "./entries.ts";

export interface ReplayWindow {
  readonly log: EventLog;
  readonly cell: CellId;
  readonly follower: AccountId;
  /** Wall clock, both included. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Of this reading alone: its groups are named with it. */
  readonly id: string;
  readonly clock: Clock;
  readonly maxEntries?: number;
}

export interface ReplayFound {
  /** By time. */
  readonly entries: readonly TimelineEntry[];
  /** Nodes that told anything of the follower, and masters that were named with it. */
  readonly nodes: readonly NodeId[];
  readonly masters: readonly AccountId[];
  /** Records of a version that this release does not know, and records that are none (3). */
  readonly unknownVersions: number;
  readonly unreadable: number;
  /** There is more than could be kept: a shorter window shows the rest. */
  readonly cut: boolean;
}

/** A record is made when it is sent, a moment after its entry; nodes' clocks differ by a little. */
const SLACK_MS = 10_000;
const SILENT_MS = 20_000;
const MAX_ENTRIES = 200_000;

/** What is told of a master by whoever reads it, not by whoever owns it. */
const READERS_EVENTS: ReadonlySet<TimelineEvent> = new Set<TimelineEvent>(["gap", "stale", "refolded"]);

/** @throws LockstepError `configuration` (no such topic), `unreachable` */
export async function readReplay(window: ReplayWindow): Promise<ReplayFound> {
  const { follower } = window;
  const own = await new Reading(window, "follower", (entry) => entry.account === follower).read([follower]);
  const nodes = [...new Set(own.entries.flatMap(({ node }) => (node === null ? [] : [node])))].sort();
  const masters = [...new Set(own.entries.flatMap(({ detail: { master } }) => (typeof master === "string" ? [master as AccountId] : [])))].sort();
  const isOthers = ({ account, node, event }: TimelineEntry): boolean => {
    const isHolders = node !== null && nodes.includes(node);
    if (account === null) return isHolders;
    return masters.includes(account) && (!READERS_EVENTS.has(event) || isHolders); // 5
  };
  const others = await new Reading(window, "others", isOthers).read([...nodes, ...masters]);
  return {
    entries: byTime([...own.entries, ...others.entries]),
    nodes,
    masters,
    unknownVersions: new Set([...own.unknownVersions, ...others.unknownVersions]).size,
    unreadable: new Set([...own.unreadable, ...others.unreadable]).size,
    cut: own.cut || others.cut,
  };
}

/** One pass over the partitions of some keys. */
class Reading {
  readonly entries: TimelineEntry[] = [];
  /** Their places, since two passes may meet the same ones. */
  readonly unknownVersions = new Set<string>();
  readonly unreadable = new Set<string>();
  cut = false;
  /** What is kept, as it was written (4). */
  readonly #kept = new Set<string>();
  readonly #window: ReplayWindow;
  readonly #name: string;
  readonly #isWanted: (entry: TimelineEntry) => boolean;
  /** By partition: the offset up to which it is read. */
  readonly #ends = new Map<number, number>();

  constructor(window: ReplayWindow, name: string, isWanted: (entry: TimelineEntry) => boolean) {
    this.#window = window;
    this.#name = name;
    this.#isWanted = isWanted;
  }

  async read(keys: readonly string[]): Promise<this> {
    const from = await this.#span(keys);
    if (from.length === 0) return this;
    const { log, cell, id, clock } = this.#window;
    const group = postmortemGroup(cell, `${id}.${this.#name}`);
    let end: () => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const done = new Promise<void>((resolve, reject) => ([end, fail] = [resolve, reject]));
    // Whoever fails first is waited for below.
    done.catch(() => undefined);
    const patience = (): Timer => clock.after(SILENT_MS, () => fail(new LockstepError("unreachable", `the replay topic: nothing came for ${SILENT_MS} ms`)));
    let timer = patience();
    try {
      const subscription = await log.consume({
        group,
        topics: [topicName(cell, "replay")],
        from,
        onBatch: async ({ partition, records, next }) => {
          timer.cancel();
          timer = patience();
          if (this.#take(partition, records, next)) end();
        },
        // Retention took what lies before: the rest is read.
        onGap: () => undefined,
        onCrash: fail,
      });
      await done.finally(() => subscription.stop());
    } finally {
      timer.cancel();
      await log.deleteGroup(group); // 1
    }
    return this;
  }

  /** Where to begin in each partition that has anything of the window. */
  async #span(keys: readonly string[]): Promise<readonly Position[]> {
    const { log, cell, fromMs, toMs } = this.#window;
    const topic = topicName(cell, "replay");
    const bounds = await log.bounds(topic);
    // A topic whose partitions are not the cell's is refused when a node starts.
    const wanted = new Set(keys.map((key) => partitionOf(key, bounds.length)));
    const starts = await log.since(topic, fromMs - SLACK_MS);
    const ends = new Map((await log.since(topic, toMs + SLACK_MS)).map(({ partition, offset }) => [partition, offset]));
    return starts.filter(({ partition, offset }) => {
      const end = Math.min(ends.get(partition) ?? 0, bounds.find((each) => each.partition === partition)?.end ?? 0); // 2
      if (!wanted.has(partition) || offset >= end) return false;
      this.#ends.set(partition, end);
      return true;
    });
  }

  /** Whether everything is read. */
  #take(partition: number, records: readonly LogRecord[], next: number): boolean {
    const end = this.#ends.get(partition) ?? 0;
    for (const record of records) if (record.offset < end) this.#keep(record);
    if (next >= end) this.#ends.delete(partition);
    return this.#ends.size === 0 || this.cut;
  }

  #keep(record: LogRecord): void {
    const { fromMs, toMs, maxEntries = MAX_ENTRIES } = this.#window;
    const entry = this.#decode(record);
    if (entry === null || entry.atMs < fromMs || entry.atMs > toMs || !this.#isWanted(entry)) return;
    const written = Buffer.from(record.value ?? []).toString("latin1");
    if (this.#kept.has(written)) return;
    if (this.entries.length >= maxEntries) return void (this.cut = true);
    this.#kept.add(written);
    this.entries.push(entry);
  }

  #decode(record: LogRecord): TimelineEntry | null {
    const place = `${record.partition}/${record.offset}`;
    try {
      const entry = decode(REPLAY, record.value ?? new Uint8Array(0));
      if (isEntry(entry)) return entry;
      this.unreadable.add(place);
    } catch (error) {
      (isLockstepError(error, "unknown_schema") ? this.unknownVersions : this.unreadable).add(place); // 3
    }
    return null;
  }
}
