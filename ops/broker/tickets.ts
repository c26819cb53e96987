// Owns ticket numbers: one rising series for each company and platform.
//
// 1. Numbers rise across all accounts of a series and are never given twice.
// 2. The gaps between them look like other people's orders, and are the same in every run.

import type { Ticket } from "../../protocol/ids.ts";

export class TicketSeries {
  readonly #last: number;
  #current = 0;

  /** `last`: the largest number the platform can hold. */
  constructor(last: number) {
    this.#last = last;
  }

  /** The next number at or above `floor`; null when the platform's numbers are used up. */
  next(floor: number): Ticket | null {
    const gap = 1 + (Math.imul(this.#current, 0x9e37_79b1) >>> 29); // 2: from 1 to 8
    const next = Math.max(this.#current + gap, floor);
    if (next > this.#last) return null;
    this.#current = next; // 1
    return next as Ticket;
  }
}
