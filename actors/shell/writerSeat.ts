// Owns whether a node is one of its cell's writers: it is while its gate is open.
//
// 1. A node that cannot prove its lease does not reach the database. The partitions that it kept would get no rows
//    until it does, and whoever takes its accounts over would wait in vain for what it said of them: so it leaves the
//    group, and others read those partitions from where rows are committed.
// 2. One at a time: it comes back as a new writer when the one before has ended.
// 3. Before the gate was open for the first time it writes too: rows of others are nobody's in particular.

import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { WriterActor } from "./writerActor.ts";

export interface WriterSeatOptions {
  /** One that has not begun. */
  readonly make: () => Pick<WriterActor, "start" | "stop" | "drain" | "blockedPartitions" | "fetchedAtMs" | "waiting">;
  readonly isOpen: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Far below a lease's margin: who comes after us finds the partitions moved. */
const LOOK_EVERY_MS = 500;

export class WriterSeat {
  readonly #options: WriterSeatOptions;
  /** Null while it has left. */
  #writer: ReturnType<WriterSeatOptions["make"]> | null = null;
  #wasOpen = false;
  /** One is beginning or ending (2). */
  #changing = false;
  #leaving: Promise<void> = Promise.resolve();
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: WriterSeatOptions) {
    this.#options = options;
  }

  /** Begins to write. Same errors as the writer's. */
  async start(): Promise<void> {
    this.#writer = this.#options.make();
    await this.#writer.start();
    this.#look();
  }

  get blockedPartitions(): readonly number[] {
    return this.#writer?.blockedPartitions ?? [];
  }

  /** Monotonic: when it last heard of the log, null before its start. Nothing at all while it has left, on purpose: that is no silence of the log. */
  get heardAtMs(): readonly (number | null)[] {
    return this.#writer === null ? [] : [this.#writer.fetchedAtMs];
  }

  get waiting(): WriterActor["waiting"] {
    return this.#writer?.waiting ?? null;
  }

  async drain(limitMs: number): Promise<void> {
    await this.#writer?.drain(limitMs);
  }

  /** Resolves when it has left the group, also when it was about to. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await Promise.all([this.#writer?.stop(), this.#leaving]);
  }

  #look(): void {
    const { clock, isOpen, logger } = this.#options;
    if (this.#stopped) return;
    this.#timer = clock.after(LOOK_EVERY_MS, () => this.#look());
    const open = isOpen();
    this.#wasOpen ||= open; // 3
    if (this.#changing || !this.#wasOpen || open === (this.#writer !== null)) return;
    this.#changing = true;
    logger.info({}, open ? "writes rows again" : "leaves the writers: its lease is not proven");
    void (open ? this.#join() : (this.#leaving = this.#leave())).finally(() => (this.#changing = false));
  }

  /** Never rejects: what did not begin is tried again at the next look. */
  async #join(): Promise<void> {
    const writer = this.#options.make();
    this.#writer = writer;
    try {
      await writer.start();
      if (this.#stopped) await writer.stop();
    } catch (error) {
      this.#options.logger.warn({ error: messageOf(error) }, "not one of the writers yet");
      if (this.#writer === writer) this.#writer = null;
    }
  }

  /** Never rejects. */
  async #leave(): Promise<void> {
    const writer = this.#writer;
    this.#writer = null;
    try {
      await writer?.stop();
    } catch (error) {
      this.#options.logger.warn({ error: messageOf(error) }, "the group learns by its session that this writer has left");
    }
  }
}
