// Owns the two places a broker's log goes to: a file of JSON lines, and an array for checkers in
// the same process.
//
// 1. The file holds one run: an existing file is never added to and never overwritten.
// 2. Memory is bounded on both: the file's buffer is written out when full, the array takes no
//    more when full and counts what it did not take. What it has is a whole beginning of the log.

import { closeSync, openSync, writeSync } from "node:fs";
import { LockstepError, messageOf } from "../../protocol/errors.ts";
import type { BrokerLogEntry, BrokerLogSink } from "./log.ts";

const BUFFER_BYTES = 64 * 1024;

/**
 * Writes in the turn of the call: what a checker is to believe must not depend on a queue. A file that cannot be written
 * throws there, which ends the broker: it must not trade unrecorded.
 */
export class FileLogSink implements BrokerLogSink {
  readonly #file: number;
  #lines: string[] = [];
  #characters = 0;

  /** @throws LockstepError `configuration` when the file exists or cannot be made */
  constructor(path: string) {
    try {
      this.#file = openSync(path, "ax"); // 1
    } catch (error) {
      throw new LockstepError("configuration", `broker log ${path}: expected a file that can be made and is not there yet: ${messageOf(error)}`, error);
    }
  }

  write(entry: BrokerLogEntry): void {
    const line = `${JSON.stringify(entry)}\n`;
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= BUFFER_BYTES) this.flush(); // 2
  }

  flush(): void {
    let bytes = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#characters = 0;
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(this.#file, bytes));
  }

  close(): void {
    this.flush();
    closeSync(this.#file);
  }
}

export class MemoryLogSink implements BrokerLogSink {
  readonly #maxEntries: number;
  readonly #entries: BrokerLogEntry[] = [];
  #missed = 0;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get entries(): readonly BrokerLogEntry[] {
    return this.#entries;
  }

  /** Entries it was too full for. A checker must see 0 here before it believes an absence. */
  get missed(): number {
    return this.#missed;
  }

  write(entry: BrokerLogEntry): void {
    if (this.#entries.length < this.#maxEntries) this.#entries.push(entry);
    else this.#missed += 1; // 2
  }

  flush(): void {}

  close(): void {}
}
