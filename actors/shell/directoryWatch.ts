// Owns noticing that accounts or links were changed: one number is read every second, and the whole
// when it is another one.
//
// 1. One look at a time: the next one begins after the last has ended, however it ended.
// 2. A database that does not answer changes nothing; it is said once, and looked again.
// 3. What was read is older than no version that was told before it: a change while it was read is
//    seen at the next look.

import { messageOf } from "../../protocol/errors.ts";
import type { Clock, Timer } from "../../protocol/ports/clock.ts";
import type { Logger } from "../../protocol/ports/logging.ts";
import type { Directory, DirectoryState } from "../../protocol/ports/storage.ts";

export interface DirectoryWatchOptions {
  readonly directory: Pick<Directory, "version" | "read">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly everyMs: number;
  /** With what is configured now; it may be what it was. */
  readonly onState: (state: DirectoryState) => void;
}

export class DirectoryWatch {
  readonly #options: DirectoryWatchOptions;
  #version: number | null = null;
  /** Read the whole, whatever the version. */
  #asked = false;
  #looking = false;
  #silent = false;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: DirectoryWatchOptions) {
    this.#options = options;
  }

  /** Reads and tells the first state; looks for later ones by itself. @throws LockstepError `database_busy`, `database_fault` */
  async start(): Promise<void> {
    await this.#read();
    this.#later();
  }

  /** Whoever is told next is told the whole, soon. */
  ask(): void {
    this.#asked = true;
    // A look that is under way may have read what is asked about already: another follows it.
    if (this.#looking || this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(0, () => void this.#look());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #later(): void {
    if (!this.#stopped) this.#timer = this.#options.clock.after(this.#asked && !this.#silent ? 0 : this.#options.everyMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { directory, logger } = this.#options;
    this.#looking = true; // (1)
    const asked = this.#asked;
    try {
      if (asked || (await directory.version()) !== this.#version) {
        this.#asked = false;
        await this.#read();
      }
      this.#silent = false;
    } catch (error) {
      this.#asked ||= asked;
      if (!this.#silent) logger.warn({ error: messageOf(error) }, "the directory cannot be read: what is configured is taken to be as it was"); // (2)
      this.#silent = true;
    }
    this.#looking = false;
    this.#later();
  }

  async #read(): Promise<void> {
    const state = await this.#options.directory.read();
    if (this.#stopped) return;
    this.#version = state.version; // (3)
    this.#options.onState(state);
  }
}
