// Owns MetaTrader 4's ways: a part-close gives the rest a new ticket and takes its text comment,
// stops leave their mark in the comment, a stop-out replaces it, and a close answers nothing but
// success.

import type { CloseReason } from "../../../protocol/trades.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import { COMMENT_CHARACTERS, keptComment, markedComment, type PlatformRules } from "./platform.ts";

const MARK: Readonly<Record<Exclude<CloseReason, "stop_out">, string>> = { manual: "", stop_loss: "[sl]", take_profit: "[tp]" };

/** Margin level, equity and margin: always the same here, where there is no money. */
const STOP_OUT_COMMENT = "so: 49.90%/99.80/200.00";

export const MT4: PlatformRules = {
  storedComment: keptComment,
  split: (position, volume, newTicket) => ({
    part: { ...position, volume, comment: `to #${newTicket}` },
    rest: { ...position, volume: (position.volume - volume) as VolumeUnits, ticket: newTicket, identifier: newTicket, comment: `from #${position.ticket}` },
  }),
  historyComment: (comment, reason) => (reason === "stop_out" ? STOP_OUT_COMMENT : markedComment(comment, MARK[reason], COMMENT_CHARACTERS)),
  reticketed: () => null,
  closeNamesTicket: false,
};
