// Owns what differs between the platforms once an order is accepted.

import type { Ticket } from "../../../protocol/ids.ts";
import type { CloseReason, Position } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";

export interface PlatformRules {
  /** What is kept of the comment of a new position or pending. */
  storedComment(comment: string): string;
  /** Cuts a position in two. `volume` is the part that is closed, below the position's. */
  split(position: Position, volume: VolumeUnits, newTicket: Ticket): Split;
  /** The comment a wholly closed position has in the history. */
  historyComment(comment: string, reason: CloseReason): string;
  /** The position under another ticket, as server work leaves it; null where the ticket never changes so. */
  reticketed(position: Position, newTicket: Ticket): Position | null;
  /** Whether the answer to a close names a ticket. */
  readonly closeNamesTicket: boolean;
}

export interface Split {
  readonly part: Position;
  readonly rest: Position;
}

/** What a server keeps of a comment, on both platforms. */
export const COMMENT_CHARACTERS = 31;

export const keptComment = (comment: string): string => comment.slice(0, COMMENT_CHARACTERS);

/** The mark is whole even where the comment leaves no room: the comment's end gives way. */
export const markedComment = (comment: string, mark: string, characters: number): string => comment.slice(0, characters - mark.length) + mark;
