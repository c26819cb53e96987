// Owns MetaTrader 5's ways on a hedging account: a position keeps ticket and comment through
// part-closes; the mark of a stop stands in the closing deal, not in the position.

import type { VolumeUnits } from "../../../protocol/units.ts";
import type { PlatformRules } from "./platform.ts";

export const MT5: PlatformRules = {
  split: (position, volume) => ({
    part: { ...position, volume },
    rest: { ...position, volume: (position.volume - volume) as VolumeUnits },
  }),
  historyComment: (comment) => comment,
  closeNamesTicket: true,
};
