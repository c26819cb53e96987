// Owns one leased master: its broker session, and the ticks and books that come of what its broker
// reports. How a change becomes a tick is the core's (masterState).
//
// 1. Ticks are numbered without a hole; a tick the log did not take leaves one, and the next book
//    closes it.
// 2. A book follows its last tick within `bookDelayMs`, and every sync of the session.
// 3. While the master's state is known, `alive` repeats the last seq, so a lost last tick shows.
// 4. A snapshot that is not synced, that shows nothing at all, or whose history is too short for a
//    chain in it says nothing: until a better one is in, or it has been empty for a while, no tick is made of what the broker reports; the next book contains it.

import type { Account } from "../../protocol/accounts.ts";
import { BOOK, encode, TICK } from "../../protocol/codec.ts";
import type { Epoch, Seq } from "../../protocol/ids.ts";
import type { BrokerSession, SessionEvent } from "../../protocol/ports/broker.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Producer } from "../../protocol/ports/log.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Book, Tick, TickBody } from "../../protocol/ticks.ts";
import type { AccountChange, AccountSnapshot } from "../../protocol/trades.ts";
import { partitionOf } from "../../protocol/topics.ts";
import { messageOf, unreachable } from "../../protocol/errors.ts";
import type { BrokerMs, WallMs } from "../../protocol/units.ts";
import { emptySince, isEmptinessBelieved } from "../core/emptiness.ts";
import { EMPTY_MASTER, foldChange, hasUnknownChain, stateOfSnapshot, type MasterState } from "../core/masterState.ts";
import type { Counter } from "./counter.ts";
import { Mailbox } from "./mailbox.ts";

export interface MasterOptions {
  readonly account: Account;
  readonly epoch: Epoch;
  /** Of the ticks of this epoch. */
  readonly seqs: Counter;
  readonly session: BrokerSession;
  readonly producer: Producer;
  readonly topics: { readonly ticks: string; readonly books: string };
  readonly partitions: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: MasterLimits;
  readonly onFailure: (error: unknown) => void;
  /** The broker refused the login: the session tries no more. */
  readonly onLoginRefused: (reason: string) => void;
}

export interface MasterLimits {
  readonly mailboxCapacity: number;
  readonly heartbeatMs: number;
  readonly bookDelayMs: number;
}

/** The answer to our own asking, with the whole history. */
type MasterMessage = Exclude<SessionEvent, { kind: "refused" }> | { readonly kind: "snapshot"; readonly snapshot: AccountSnapshot };

const ASK_AGAIN_MS = 1_000;

export class MasterActor {
  readonly account: Account;
  readonly #options: MasterOptions;
  /** Of its ticks and books. */
  readonly #partition: number;
  readonly #mailbox: Mailbox<MasterMessage>;
  #state: MasterState = EMPTY_MASTER;
  /** While the state is not known (invariant 4): the changes that a snapshot on its way may not contain. */
  #unknown: AccountChange[] | null = [];
  /** Monotonic: since when every snapshot of this session has shown nothing. */
  #emptySinceMs: number | null = null;
  #connected = false;
  #askTimer: Timer | null = null;
  #bookTimer: Timer | null = null;
  #heartbeat: Timer | null = null;
  #stopped = false;

  constructor(options: MasterOptions) {
    this.account = options.account;
    this.#options = options;
    this.#partition = partitionOf(options.account.id, options.partitions);
    this.#mailbox = new Mailbox({ capacity: options.limits.mailboxCapacity, handle: (message) => this.#handle(message), onFailure: options.onFailure });
  }

  get connected(): boolean {
    return this.#connected;
  }

  start(): void {
    this.#options.session.open((event) => this.#onSession(event));
    this.#beat();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#mailbox.stop();
    for (const timer of [this.#heartbeat, this.#bookTimer, this.#askTimer]) timer?.cancel();
    await this.#options.session.close();
  }

  #onSession(event: SessionEvent): void {
    // Nothing comes after it.
    if (event.kind === "refused") return this.#options.onLoginRefused(event.detail);
    if (this.#mailbox.tell(event) !== "full") return;
    // An event is lost to us, so no tick may follow it: the whole state is read anew, after what waits.
    this.#options.logger.error({ master: this.account.id }, "mailbox full: the master is read anew");
    this.#unknown = [];
    this.#askAfter(this.#options.limits.bookDelayMs);
  }

  #handle(message: MasterMessage): void {
    switch (message.kind) {
      case "connected":
        this.#connected = true;
        return this.#take(message.snapshot, hasUnknownChain(this.#state, message.snapshot));
      case "snapshot":
        return this.#take(message.snapshot, false);
      case "disconnected":
        this.#connected = false;
        this.#emptySinceMs = null;
        this.#unknown = [];
        return this.#options.logger.warn({ master: this.account.id, detail: message.detail }, "broker session lost");
      case "changed":
        return this.#onChange(message.change, message.callbackAtMs as WallMs);
      default:
        return unreachable(message);
    }
  }

  #onChange(change: AccountChange, callbackAtMs: WallMs): void {
    if (this.#unknown !== null) {
      // One more than the bound: then the snapshot cannot be completed.
      if (this.#unknown.length <= this.#options.limits.mailboxCapacity) this.#unknown.push(change);
      return;
    }
    const step = foldChange(this.#state, change);
    this.#state = step.state;
    if (step.tick !== null) this.#publishTick(step.tick, change.brokerMs, callbackAtMs);
  }

  #take(snapshot: AccountSnapshot, isShort: boolean): void {
    const since = this.#unknown ?? [];
    const isDoubtful = !snapshot.synced || this.#isDoubtfullyEmpty(snapshot);
    if (isDoubtful || isShort || since.length > this.#options.limits.mailboxCapacity) {
      this.#unknown ??= [];
      return this.#askAfter(isDoubtful ? this.#options.limits.bookDelayMs : 0);
    }
    this.#state = since.reduce((state, change) => foldChange(state, change).state, stateOfSnapshot(snapshot, this.#state));
    this.#unknown = null;
    // Whatever is new in it takes a seq of its own: readers see the hole and wait for this book.
    this.#options.seqs.next();
    this.#publishBook();
  }

  /** Invariant 4. */
  #isDoubtfullyEmpty(snapshot: AccountSnapshot): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    this.#emptySinceMs = emptySince(this.#emptySinceMs, snapshot, nowMs);
    return this.#emptySinceMs !== null && !isEmptinessBelieved(this.#emptySinceMs, nowMs);
  }

  #askAfter(delayMs: number): void {
    this.#askTimer?.cancel();
    this.#askTimer = this.#options.clock.after(delayMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const { session, logger } = this.#options;
    // The answer contains what came before the question.
    this.#unknown = [];
    try {
      const snapshot = await session.snapshot(0 as BrokerMs);
      this.#mailbox.tellSystem({ kind: "snapshot", snapshot });
    } catch (error) {
      // Without a connection the next `connected` brings a snapshot by itself.
      if (this.#connected && !this.#stopped) this.#askAfter(ASK_AGAIN_MS);
      logger.warn({ master: this.account.id, error: messageOf(error) }, "no snapshot of the master");
    }
  }

  #publishTick(body: TickBody, occurredAtMs: BrokerMs, callbackAtMs: WallMs): void {
    const { account, epoch, seqs, producer, topics, session, logger } = this.#options;
    const seq = (body.kind === "alive" ? seqs.last : seqs.next()) as Seq;
    const tick: Tick = { master: account.id, epoch, seq, occurredAtMs, brokerNowMs: session.brokerNowMs() ?? occurredAtMs, callbackAtMs, body };
    const record = { topic: topics.ticks, partition: this.#partition, key: account.id, value: encode(TICK, tick) };
    const result = producer.append(record, (error) => {
      if (error === null) return;
      logger.error({ master: account.id, seq, error: error.message }, "tick lost: the next book closes the gap");
      this.#bookSoon();
    });
    if (result !== "accepted") logger.error({ master: account.id, seq, result }, "tick not taken by the log: the next book closes the gap");
    if (body.kind !== "alive") this.#bookSoon();
  }

  #bookSoon(): void {
    if (!this.#stopped) this.#bookTimer ??= this.#options.clock.after(this.#options.limits.bookDelayMs, () => this.#publishBook());
  }

  /** Until the log has one: without it a reader that met a hole would wait until the master trades again. */
  #publishBook(): void {
    this.#bookTimer?.cancel();
    this.#bookTimer = null;
    const { account, epoch, seqs, producer, topics, session, logger } = this.#options;
    const book: Book = {
      master: account.id,
      epoch,
      seq: seqs.last as Seq,
      brokerNowMs: session.brokerNowMs() ?? (0 as BrokerMs),
      positions: [...this.#state.positions.values()],
      pendings: [...this.#state.pendings.values()],
    };
    const lost = (why: string): void => {
      logger.error({ master: account.id, seq: book.seq, why }, "book not taken by the log");
      this.#bookSoon();
    };
    const record = { topic: topics.books, partition: this.#partition, key: `${account.id}/${epoch}`, value: encode(BOOK, book) };
    const result = producer.append(record, (error) => (error === null ? undefined : lost(error.message)));
    if (result !== "accepted") lost(result);
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.after(this.#options.limits.heartbeatMs, () => {
      const { session, clock, seqs } = this.#options;
      const nowMs = session.brokerNowMs();
      if (this.#connected && this.#unknown === null && seqs.last > 0 && nowMs !== null) this.#publishTick({ kind: "alive" }, nowMs, clock.wallMs() as WallMs);
      this.#beat();
    });
  }
}
