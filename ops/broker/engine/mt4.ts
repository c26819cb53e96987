// Owns MetaTrader 4's ways: a part-close gives the rest a new ticket and takes its text comment,
// stops leave their mark in the comment, and a close answers nothing but success.

import type { CloseReason } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import { COMMENT_CHARACTERS, type PlatformRules } from "./platform.ts";

const MARK: Readonly<Record<CloseReason, string>> = { manual: "", stop_loss: "[sl]", take_profit: "[tp]", stop_out: "[so]" };

export const MT4: PlatformRules = {
  split: (position, volume, newTicket) => ({
    part: { ...position, volume, comment: `to #${newTicket}` },
    rest: { ...position, volume: (position.volume - volume) as VolumeUnits, ticket: newTicket, comment: `from #${position.ticket}` },
  }),
  // The mark is whole even where the comment leaves no room: the comment's end gives way.
  historyComment: (comment, reason) => comment.slice(0, COMMENT_CHARACTERS - MARK[reason].length) + MARK[reason],
  closeNamesTicket: false,
};
