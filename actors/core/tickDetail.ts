// Owns how a tick looks in the timeline: flat, with what decisions on it may rest on.

import type { Seq } from "../../protocol/ids.ts";
import type { TickBody } from "../../protocol/ticks.ts";
import type { TimelineDetail } from "../../protocol/timeline.ts";
import { unreachable } from "../../protocol/errors.ts";

export function tickDetail(seq: Seq, body: TickBody): TimelineDetail {
  const { kind } = body;
  switch (kind) {
    case "opened":
    case "part_closed":
    case "modified":
    case "pending_filled": {
      const { masterTicket, symbol, side, volume, openPrice, stopLoss, takeProfit } = body.position;
      return { seq, kind, masterTicket, symbol, side, volume, openPrice, stopLoss, takeProfit };
    }
    case "pending_placed":
    case "pending_changed": {
      const { masterTicket, symbol, volume, price, stopLoss, takeProfit } = body.pending;
      return { seq, kind, masterTicket, symbol, pending: body.pending.kind, volume, price, stopLoss, takeProfit };
    }
    case "closed":
      return { seq, kind, masterTicket: body.masterTicket, reason: body.reason, closePrice: body.closePrice };
    case "pending_cancelled":
      return { seq, kind, masterTicket: body.masterTicket, reason: body.reason };
    case "alive":
      return { seq, kind };
    default:
      return unreachable(body);
  }
}
