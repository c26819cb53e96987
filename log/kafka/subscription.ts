// Owns one subscription on Kafka: where each partition begins, gaps, commits, and its end.
//
// 1. The client never chooses where to begin: at each join all partitions are held until their place
//    is known and compared with the log's start. What lies between is told, never skipped in silence.
// 2. A commit counts only for a partition that is held.
// 3. A sign of life counts only while this stay's partitions are placed: a member that is alive and does not know where to read
//    hears nothing of the log.
// 4. A subscription ends once: by `stop`, or by `onCrash`.

import type { Kafka } from "kafkajs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { ConsumeOptions, PartitionBounds, Position, Subscription } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import { pause, within } from "../../protocol/waiting.ts";
import { isNoMember, logError } from "./errors.ts";
import { Feed } from "./feed.ts";
import type { KafkaLogLimits } from "./limits.ts";
import { keyOf, Member, type Place } from "./member.ts";
import { beginningOf, isThere, type PlaceQuestions } from "./places.ts";

export interface SubscriptionOptions {
  readonly kafka: Kafka;
  readonly consume: ConsumeOptions;
  readonly questions: PlaceQuestions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: KafkaLogLimits;
  readonly onEnded: () => void;
}

const PLACE_RETRY_MS = 500;

export class KafkaSubscription implements Subscription {
  readonly #options: SubscriptionOptions;
  readonly #member: Member;
  readonly #feeds = new Map<string, Feed>();
  /** Of this stay in the group; empty between two. */
  #held: ReadonlyMap<string, Place> = new Map();
  /** Rises at each join and each loss: what was asked before it has no say any more. */
  #stay = 0;
  /** The stay whose partitions are placed (3). */
  #placedStay: number | null = null;
  #state: "joining" | "open" | "stopping" | "ended" = "joining";
  #heardAtMs: number;
  #hasCrashed = false;
  #startCheck: Timer | null = null;
  #onJoined: (outcome: Error | null) => void = () => undefined;
  #stopping: Promise<void> | null = null;

  constructor(options: SubscriptionOptions) {
    const { consume, clock } = options;
    this.#options = options;
    this.#heardAtMs = clock.monotonicMs();
    this.#member = new Member({
      ...options,
      group: consume.group,
      isWanted: () => this.#isLive,
      onJoined: (places) => this.#joined(places),
      onLost: () => this.#lose(),
      onCrashed: (error) => this.#crash(logError(`group ${consume.group}`, error), false),
      onBatch: (batch) => this.#feeds.get(keyOf(batch))?.offer(batch),
      onHeard: () => {
        if (this.#placedStay === this.#stay) this.#heardAtMs = clock.monotonicMs();
      },
    });
  }

  /** Joins the group; resolves when each partition's beginning is known. No batch comes before the caller has its subscription. */
  async start(): Promise<void> {
    const { consume, clock, limits } = this.#options;
    const joined = new Promise<Error | null>((resolve) => (this.#onJoined = resolve));
    const joining = async (): Promise<void> => {
      await this.#member.join(consume.topics);
      const failure = await joined;
      if (failure !== null) throw failure;
    };
    try {
      await within(clock, limits.joinMs, `joining group ${consume.group}`, joining());
    } catch (error) {
      this.#state = "ended";
      void this.#leave();
      throw logError(`group ${consume.group}`, error);
    }
    this.#state = "open";
    clock.soon(() => this.#releaseAll());
    this.#watchStart();
  }

  fetchedAtMs(): number {
    return this.#heardAtMs;
  }

  async commit(positions: readonly Position[]): Promise<void> {
    const { consume: { group }, clock, limits } = this.#options;
    const isHeld = (position: Position): boolean => this.#state !== "ended" && this.#held.has(keyOf(position));
    const kept = positions.filter(isHeld);
    const lost = positions.filter((position) => !kept.includes(position));
    const refusal = (of: readonly Position[]): LockstepError => new LockstepError("stopped", `group ${group}: ${of.map(keyOf).join(", ")} is no longer held by this member`);
    try {
      if (kept.length > 0) await within(clock, limits.sendMs, "commit", this.#member.commit(kept));
    } catch (error) {
      throw isNoMember(error) ? refusal(positions) : logError(`group ${group}: commit`, error);
    }
    if (lost.length > 0) throw refusal(lost); // 2
  }

  /** A batch under way may end and commit; but not for longer than `handoverMs`. */
  stop(): Promise<void> {
    if (this.#state === "ended" && this.#stopping === null) return Promise.resolve();
    return (this.#stopping ??= this.#stop());
  }

  /** Ends as a process that dies does, as far as the client lets us: nothing is handed over any more, nothing waited for. */
  kill(): void {
    this.#state = "ended";
    this.#mute();
    void this.#leave();
  }

  get #isLive(): boolean {
    return this.#state === "joining" || this.#state === "open";
  }

  async #stop(): Promise<void> {
    const { clock, limits } = this.#options;
    if (this.#isLive) this.#state = "stopping";
    this.#mute();
    this.#member.hold([...this.#held.values()]);
    const busy = [...this.#feeds.values()].flatMap((feed) => feed.busy ?? []);
    // A timer that is left would keep a process that has nothing more to do.
    if (busy.length > 0) await within(clock, limits.handoverMs, "a batch under way", Promise.all(busy)).catch(() => undefined);
    this.#state = "ended";
    await this.#leave();
  }

  #mute(): void {
    this.#startCheck?.cancel();
    for (const feed of this.#feeds.values()) feed.mute();
  }

  async #leave(): Promise<void> {
    const { clock, limits, logger, consume, onEnded } = this.#options;
    this.#stay += 1;
    await within(clock, limits.closeMs, `leaving group ${consume.group}`, this.#member.leave()).catch((error: unknown) => logger.warn({ group: consume.group, error: messageOf(error) }, "left a group without its answer"));
    this.#held = new Map();
    onEnded();
  }

  /** The client gave up, or a handler failed: also one whose subscription was being stopped. */
  #crash(error: Error, isHandler: boolean): void {
    this.#onJoined(error);
    if (this.#hasCrashed || !(this.#state === "open" || (this.#state === "stopping" && isHandler))) return;
    this.#hasCrashed = true; // 4
    this.#mute();
    if (this.#state === "open") {
      this.#state = "ended";
      void this.#leave();
    }
    this.#options.consume.onCrash(error);
  }

  #lose(): void {
    this.#stay += 1;
    this.#held = new Map();
    for (const feed of this.#feeds.values()) feed.lose();
  }

  #joined(places: readonly Place[]): void {
    this.#lose();
    if (this.#state === "ended") return;
    this.#held = new Map(places.map((place) => [keyOf(place), place]));
    this.#member.hold(places); // 1
    if (this.#isLive) void this.#place(places, this.#stay);
  }

  /** Asks where each partition begins, until it knows or the stay is over. */
  async #place(places: readonly Place[], stay: number): Promise<void> {
    const { consume, questions } = this.#options;
    const found = await this.#untilKnown(stay, () => beginningOf(places, consume, questions, (place) => this.#feeds.get(keyOf(place))?.handled ?? null));
    if (found === null) return;
    for (const { topic, partition, wanted, start } of found) this.#begin({ topic, partition }, wanted, start);
    this.#placedStay = stay;
    this.#heardAtMs = this.#options.clock.monotonicMs();
    this.#onJoined(null);
    this.#releaseAll();
  }

  /** Asks until there is an answer; null: the stay was over first. */
  async #untilKnown<T>(stay: number, ask: () => Promise<T>): Promise<T | null> {
    const { clock, logger, consume } = this.#options;
    while (stay === this.#stay) {
      try {
        const answer = await ask();
        return stay === this.#stay ? answer : null;
      } catch (error) {
        logger.warn({ group: consume.group, error: messageOf(error) }, "where partitions begin is not known yet");
        await pause(clock, PLACE_RETRY_MS);
      }
    }
    return null;
  }

  /** What lies between `wanted` and `start` is lost to this reader. */
  #begin(place: Place, wanted: number, start: number): void {
    if (wanted !== start) this.#gap(place, wanted, start);
    this.#member.seek({ ...place, offset: start });
    this.#feedOf(place).begin(start);
  }

  #gap(place: Place, wanted: number, start: number): void {
    this.#options.consume.onGap({ ...place, wanted, start });
  }

  #release(places: readonly Place[]): void {
    if (this.#state === "open") this.#member.release(places);
  }

  #releaseAll(): void {
    this.#release([...this.#held.values()].filter((place) => this.#feedOf(place).fetched !== null));
  }

  #feedOf(place: Place): Feed {
    const key = keyOf(place);
    const { limits, consume } = this.#options;
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new Feed({
        ...place,
        ...limits,
        handle: async (batch) => consume.onBatch(batch),
        checkJump: (expected) => this.#checkJump(place, expected),
        onBack: () => void this.#goBack(place),
        onFailed: (error) => this.#crash(error instanceof Error ? error : new Error(String(error)), true),
        pause: () => this.#member.hold([place]),
        resume: () => this.#release([place]),
      });
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  /** A hole that compaction left is no gap; one that the log's start has passed is. */
  async #checkJump(place: Place, expected: number): Promise<void> {
    const bounds = await this.#untilKnown(this.#stay, () => this.#boundsOf(place));
    if (bounds !== null && bounds.start > expected) this.#gap(place, expected, bounds.start);
  }

  /** The log is shorter than it was, or another one under the same name: what it has is read from its start. */
  async #goBack(place: Place): Promise<void> {
    const feed = this.#feedOf(place);
    const before = feed.fetched;
    feed.lose();
    this.#member.hold([place]);
    const bounds = await this.#untilKnown(this.#stay, () => this.#boundsOf(place));
    if (bounds === null || before === null) return;
    this.#begin(place, before, bounds.start);
    this.#release([place]);
  }

  async #boundsOf({ topic, partition }: Place): Promise<PartitionBounds> {
    const bounds = await this.#options.questions.bounds(topic);
    return bounds.find((found) => found.partition === partition) ?? { partition, start: 0, end: 0 };
  }

  /**
   * A gap that nothing new follows would else be told only when something does, and a log that became shorter never: the
   * client begins anew where nobody asked it to, and what it brings lies below where we stand.
   */
  #watchStart(): void {
    const { clock, limits, logger } = this.#options;
    if (!this.#isLive) return;
    this.#startCheck = clock.after(limits.startCheckMs, () => {
      this.#checkStarts()
        .catch((error: unknown) => logger.debug({ error: messageOf(error) }, "the log's start is not known now"))
        .finally(() => this.#watchStart());
    });
  }

  async #checkStarts(): Promise<void> {
    for (const place of this.#held.values()) {
      const stay = this.#stay;
      const feed = this.#feedOf(place);
      const before = feed.fetched;
      if (before === null) continue;
      const bounds = await this.#boundsOf(place);
      if (stay !== this.#stay || feed.fetched !== before || isThere(before, bounds) || !this.#isLive) continue;
      this.#begin(place, before, bounds.start);
    }
  }
}
