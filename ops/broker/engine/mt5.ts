// Owns MetaTrader 5's ways on a hedging account: a position keeps ticket and comment through
// part-closes; the mark of a stop stands in the closing deal, not in the position; server work may
// give a position another ticket, never another identifier.

import type { VolumeUnits } from "../../../protocol/units.ts";
import { keptComment, type PlatformRules } from "./platform.ts";

export const MT5: PlatformRules = {
  storedComment: keptComment,
  split: (position, volume) => ({
    part: { ...position, volume },
    rest: { ...position, volume: (position.volume - volume) as VolumeUnits },
  }),
  historyComment: (comment) => comment,
  reticketed: (position, newTicket) => ({ ...position, ticket: newTicket }),
  closeNamesTicket: true,
};
