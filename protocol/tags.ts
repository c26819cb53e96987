// Owns the tag: an order's own identity at the broker, the link's magic number and the comment
// `mc<masterTicket>`. Also reads MT4's chain comments. Comments are untrusted bytes: a match is
// whole or none.

import type { Ticket } from "./ids.ts";

/** `mc` and the master ticket: 14 characters at most for MT4, below every known cut (26, 27, 31). */
export const tagComment = (masterTicket: Ticket): string => `mc${masterTicket}`;

const TAG = /^mc(\d{1,16})(?!\d)/;
const CHAIN_FROM = /^from #(\d{1,16})(?!\d)/;
const CHAIN_TO = /^to #(\d{1,16})(?!\d)/;

function number(pattern: RegExp, comment: string): Ticket | null {
  const digits = pattern.exec(comment)?.[1];
  const value = Number(digits);
  return digits === undefined || !Number.isSafeInteger(value) ? null : (value as Ticket);
}

/** The master ticket a comment names. `mc12` is not `mc123`; what follows the digits may be anything but a digit. */
export const masterTicketOfComment = (comment: string): Ticket | null => number(TAG, comment);
/** MT4: the ticket that this position is the rest of. */
export const chainFrom = (comment: string): Ticket | null => number(CHAIN_FROM, comment);
/** MT4: the ticket that the rest of this closed part lives on under. */
export const chainTo = (comment: string): Ticket | null => number(CHAIN_TO, comment);
