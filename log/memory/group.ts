// Owns one consumer group: who is in it, which member holds which partition, how far the group has
// committed, and the handing over of batches.
//
// 1. A partition has one hold at a time. What arrives for an earlier hold finds nothing to change.
// 2. The next batch of a hold comes after the promise of the one before; partitions do not wait for
//    one another.
// 3. A partition that must move does so when its batch has settled, or when `handoverMs` is over; its
//    new holder begins at the committed offset. So work is repeated, never left out.
// 4. A member that is leaving is handed nothing more; its leave is done when it holds nothing.
// 5. Every batch begins in a turn of its own, on the clock of the member that gets it.

import { LockstepError } from "../../protocol/errors.ts";
import type { Clock, Random, Timer } from "../../protocol/ports/clock.ts";
import type { ConsumeOptions, Position } from "../../protocol/ports/log.ts";
import { assign } from "./assignment.ts";
import type { MemoryLogLimits } from "./limits.ts";
import type { Partition } from "./partition.ts";

/** One subscription. `clock` is that of its process. */
export interface Member {
  readonly options: ConsumeOptions;
  readonly topics: readonly string[];
  readonly clock: Clock;
}

/** One member's possession of one partition. */
interface Hold {
  readonly member: Member;
  /** The next offset to be read. */
  cursor: number;
  /** `due`: a delivery is scheduled. `busy`: a batch is with the member. */
  state: "idle" | "due" | "busy";
  deadline: Timer | null;
}

interface Slot {
  readonly partition: Partition;
  /** Who should hold it. */
  wanted: Member | null;
  hold: Hold | null;
}

export interface GroupOptions {
  readonly name: string;
  readonly clock: Clock;
  /** With it batches are cut at random lengths: nothing may depend on where they end. */
  readonly random: Random | null;
  readonly limits: MemoryLogLimits;
  readonly partitionsOf: (topic: string) => readonly Partition[];
}

export class Group {
  readonly #options: GroupOptions;
  readonly #slots = new Map<Partition, Slot>();
  readonly #committed = new Map<Partition, number>();
  readonly #leaving = new Map<Member, { readonly done: Promise<void>; readonly resolve: () => void }>();
  readonly #crashed = new WeakSet<Member>();
  /** Those that have joined before. */
  readonly #known = new WeakSet<Member>();
  #members: readonly Member[] = [];

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#members.length === 0 && this.#leaving.size === 0;
  }

  /**
   * Positions become what the group has committed: they are for a group of one's own, and for its first join.
   * @throws LockstepError `invalid_value`
   */
  join(member: Member): void {
    const { from } = member.options;
    if (from !== "committed" && !this.#known.has(member)) this.#startAt(member.topics, from);
    this.#known.add(member);
    this.#members = [...this.#members, member];
    this.#rebalance();
  }

  /** Resolves when the member holds nothing any more. */
  leave(member: Member): Promise<void> {
    if (this.#members.includes(member)) {
      let resolve = () => {};
      const done = new Promise<void>((settle) => (resolve = settle));
      this.#leaving.set(member, { done, resolve }); // 4
      this.#members = this.#members.filter((other) => other !== member);
      this.#rebalance();
      return done;
    }
    return this.#leaving.get(member)?.done ?? Promise.resolve();
  }

  /** Takes everything from a member that vanished. */
  expel(member: Member): void {
    void this.leave(member);
    for (const slot of this.#slots.values()) if (slot.hold?.member === member) this.#handOver(slot);
  }

  /**
   * Takes over what the member still holds of it.
   * @throws LockstepError `stopped`, naming the partitions it holds no more; `invalid_value`
   */
  commit(member: Member, positions: readonly Position[]): void {
    const lost: string[] = [];
    const found = positions.map((position) => ({ position, partition: this.#find(position, member.topics) }));
    for (const { position, partition } of found) {
      if (this.#slots.get(partition)?.hold?.member === member) this.#committed.set(partition, position.offset);
      else lost.push(`${position.topic}/${position.partition}`);
    }
    if (lost.length > 0) throw new LockstepError("stopped", `group ${this.#options.name}: ${lost.join(", ")} is no longer held by this member`);
  }

  committed(topic: string): readonly Position[] {
    return this.#options.partitionsOf(topic).flatMap((partition) => {
      const offset = this.#committed.get(partition);
      return offset === undefined ? [] : [{ topic, partition: partition.index, offset }];
    });
  }

  /** Something was appended to that partition. */
  wake(partition: Partition): void {
    const hold = this.#slots.get(partition)?.hold;
    if (hold !== undefined && hold !== null) this.#schedule(partition, hold);
  }

  #startAt(topics: readonly string[], positions: readonly Position[]): void {
    if (!this.isEmpty) {
      throw new LockstepError("invalid_value", `group ${this.#options.name} has members: only a group of one's own can be started from given positions`);
    }
    const named = new Map(positions.map((position) => [this.#find(position, topics), position.offset]));
    for (const topic of topics) {
      for (const partition of this.#options.partitionsOf(topic)) this.#committed.set(partition, named.get(partition) ?? partition.end);
    }
  }

  /** The partition of a position that a member of these topics may name. */
  #find(position: Position, topics: readonly string[]): Partition {
    const partition = topics.includes(position.topic) ? this.#options.partitionsOf(position.topic)[position.partition] : undefined;
    if (partition === undefined || !Number.isInteger(position.offset) || position.offset < 0 || position.offset > partition.end) {
      const expected = partition === undefined ? `a partition of ${topics.join(", ")}` : `an offset from 0 to ${partition.end}`;
      throw new LockstepError("invalid_value", `group ${this.#options.name}: expected ${expected}, got ${position.topic}/${position.partition} at ${position.offset}`);
    }
    return partition;
  }

  #rebalance(): void {
    for (const topic of new Set(this.#members.flatMap((member) => member.topics))) {
      for (const partition of this.#options.partitionsOf(topic)) {
        if (!this.#slots.has(partition)) this.#slots.set(partition, { partition, wanted: null, hold: null });
      }
    }
    const slots = [...this.#slots.values()];
    const places = slots.map((slot) => ({ topic: slot.partition.spec.name, partition: slot.partition.index }));
    const wanted = assign(this.#members, places);
    slots.forEach((slot, index) => {
      slot.wanted = wanted[index] ?? null;
      this.#settle(slot);
    });
    for (const member of this.#leaving.keys()) this.#finishLeave(member);
  }

  /** Moves a slot to who should hold it: now, or when the batch under way has ended. */
  #settle(slot: Slot): void {
    const { hold } = slot;
    if ((hold?.member ?? null) === slot.wanted) {
      if (hold !== null) cancelDeadline(hold);
    } else if (hold?.state !== "busy") {
      this.#handOver(slot);
    } else {
      hold.deadline ??= this.#options.clock.after(this.#options.limits.handoverMs, () => {
        if (slot.hold === hold) this.#handOver(slot);
      });
    }
  }

  #handOver(slot: Slot): void {
    const { hold: before, wanted: member, partition } = slot;
    if (before !== null) cancelDeadline(before);
    slot.hold = member === null ? null : { member, cursor: this.#committed.get(partition) ?? partition.start, state: "idle", deadline: null }; // 3
    if (slot.hold !== null) this.#schedule(partition, slot.hold);
    if (before !== null) this.#finishLeave(before.member);
  }

  #finishLeave(member: Member): void {
    const leaving = this.#leaving.get(member);
    if (leaving === undefined || [...this.#slots.values()].some((slot) => slot.hold?.member === member)) return;
    this.#leaving.delete(member);
    leaving.resolve();
  }

  #schedule(partition: Partition, hold: Hold): void {
    if (hold.state !== "idle") return;
    hold.state = "due";
    hold.member.clock.soon(() => this.#deliver(partition, hold)); // 5
  }

  #deliver(partition: Partition, hold: Hold): void {
    const slot = this.#slots.get(partition);
    if (slot?.hold !== hold) return; // 1
    hold.state = "idle";
    const { options } = hold.member;
    partition.expire(this.#options.clock.wallMs());
    const at = { topic: partition.spec.name, partition: partition.index };
    if (hold.cursor < partition.start) {
      const wanted = hold.cursor;
      hold.cursor = partition.start;
      options.onGap({ ...at, wanted, start: partition.start });
      if (slot.hold !== hold) return; // It may have left on hearing that.
    }
    const records = partition.read(hold.cursor, this.#batchLength(), this.#options.limits.maxBatchBytes);
    const last = records.at(-1);
    if (last === undefined) return;
    hold.cursor = last.offset + 1;
    hold.state = "busy"; // 2
    handle(options, { ...at, records, next: hold.cursor, end: partition.end }).then(
      () => this.#batchEnded(slot, hold),
      (error: unknown) => this.#batchFailed(slot, hold, error),
    );
  }

  #batchEnded(slot: Slot, hold: Hold): void {
    hold.state = "idle";
    this.#settle(slot);
    this.#schedule(slot.partition, hold);
  }

  #batchFailed(slot: Slot, hold: Hold, error: unknown): void {
    void this.leave(hold.member);
    this.#batchEnded(slot, hold);
    if (this.#crashed.has(hold.member)) return;
    this.#crashed.add(hold.member);
    hold.member.options.onCrash(error instanceof Error ? error : new Error(String(error)));
  }

  #batchLength(): number {
    const { random, limits } = this.#options;
    return random === null ? limits.maxBatchRecords : 1 + Math.floor(random.next() * limits.maxBatchRecords);
  }
}

/** A handler that throws before its first await fails like one that rejects. */
async function handle(options: ConsumeOptions, batch: Parameters<ConsumeOptions["onBatch"]>[0]): Promise<void> {
  await options.onBatch(batch);
}

function cancelDeadline(hold: Hold): void {
  hold.deadline?.cancel();
  hold.deadline = null;
}
