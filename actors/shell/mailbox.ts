// Owns an actor's mailbox: one message at a time, in order, with a bound.
//
// 1. A handler never runs inside another: what arrives meanwhile waits.
// 2. The system lane (trip, lift, session down, stop) overtakes the rest and has no bound of its
//    own: its senders are few and each sends only on a change.
// 3. Answers to an actor's own calls are bounded by the calls, so they are never refused.
// 4. Full is a typed answer to the sender, never a wait.

export type TellResult = "accepted" | "full" | "stopped";

export interface MailboxOptions<M> {
  /** Messages that may wait in the ordinary lane. */
  readonly capacity: number;
  readonly handle: (message: M) => void;
  /** A handler threw: the actor's state can no longer be trusted. No message is handled after it. */
  readonly onFailure: (error: unknown) => void;
}

export class Mailbox<M> {
  readonly #options: MailboxOptions<M>;
  readonly #system: M[] = [];
  #ordinary: M[] = [];
  /** Next message of `#ordinary`: shifting an array of thousands is slow. */
  #head = 0;
  #draining = false;
  #stopped = false;

  constructor(options: MailboxOptions<M>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#system.length + this.#ordinary.length - this.#head;
  }

  /** Handled at once when the mailbox is idle: no turn of the event loop stands in between. */
  tell(message: M): TellResult {
    if (this.#stopped) return "stopped";
    if (this.#ordinary.length - this.#head >= this.#options.capacity) return "full";
    this.#ordinary.push(message);
    this.#drain();
    return "accepted";
  }

  /** For the answer to a call that the actor itself made (invariant 3). */
  tellAnswer(message: M): void {
    if (this.#stopped) return;
    this.#ordinary.push(message);
    this.#drain();
  }

  tellSystem(message: M): void {
    if (this.#stopped) return;
    this.#system.push(message);
    this.#drain();
  }

  /** Drops what waits; nothing is handled after it. */
  stop(): void {
    this.#stopped = true;
    this.#system.length = 0;
    this.#ordinary = [];
    this.#head = 0;
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (let message = this.#next(); message !== undefined; message = this.#next()) this.#options.handle(message);
    } catch (error) {
      this.stop();
      this.#options.onFailure(error);
    } finally {
      this.#draining = false;
    }
  }

  #next(): M | undefined {
    const system = this.#system.shift();
    if (system !== undefined) return system;
    const message = this.#ordinary[this.#head];
    if (message === undefined) return undefined;
    this.#head++;
    if (this.#head === this.#ordinary.length) {
      this.#ordinary = [];
      this.#head = 0;
    }
    return message;
  }
}
