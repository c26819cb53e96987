// Owns what differs between the platforms once an order is accepted.

import type { Ticket } from "../../../protocol/ids.ts";
import type { CloseReason, Position } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";

export interface PlatformRules {
  /** Cuts a position in two. `volume` is the part that is closed, below the position's. */
  split(position: Position, volume: VolumeUnits, newTicket: Ticket): { readonly part: Position; readonly rest: Position };
  /** The comment a wholly closed position has in the history. */
  historyComment(comment: string, reason: CloseReason): string;
  /** Whether the answer to a close names a ticket. */
  readonly closeNamesTicket: boolean;
}

/** What a server keeps of a comment, on both platforms. */
export const COMMENT_CHARACTERS = 31;
