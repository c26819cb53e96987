// Owns the words in which trades, prices and times stand in a violation.

import { lotsText, priceText, type Points } from "../../../protocol/units.ts";
import { beginOf, endOf, firstTicketOf, initialVolumeOf, sideOf, type Levels, type Trade } from "./history.ts";

/** `14:03:07.250` on the broker's clock. */
export const timeText = (atMs: number): string => new Date(atMs).toISOString().slice(11, 23);

export const levelText = (level: Points | null, digits: number): string => (level === null ? "none" : priceText(level, digits));
export const levelsText = ({ stopLoss, takeProfit }: Levels, digits: number): string => `stop ${levelText(stopLoss, digits)}, target ${levelText(takeProfit, digits)}`;

/** `1000001 (s50001023) buy 0.10 eurusd. from 14:03:07.250 to 14:03:09.000`. */
export function tradeText(trade: Trade): string {
  const end = endOf(trade);
  const kind = trade.position === null ? (trade.pending?.kind ?? "") : sideOf(trade);
  const until = end === null ? "on" : `to ${timeText(end.atMs)}`;
  return `${firstTicketOf(trade)} (${trade.comment}) ${kind} ${lotsText(initialVolumeOf(trade))} ${trade.symbol} from ${timeText(beginOf(trade).atMs)} ${until}`;
}
