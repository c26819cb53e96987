// Owns how an event of the engine is told to the account's session.

import { unreachable } from "../../../protocol/errors.ts";
import type { AccountChange } from "../../../protocol/trades.ts";
import type { BrokerMs } from "../../../protocol/units.ts";
import type { TradeEvent } from "../log.ts";

export function changesOf(event: TradeEvent, brokerMs: BrokerMs): AccountChange[] {
  switch (event.kind) {
    case "deal":
      return dealChanges(event, brokerMs);
    case "modified":
    case "reticketed":
      return [{ kind: "position_changed", brokerMs, position: event.position }];
    case "grown":
      // All of it is new: the position had been closed, and stands again.
      return [{ kind: event.volume === event.position.volume ? "position_opened" : "position_changed", brokerMs, position: event.position }];
    case "pending":
      return [pendingChange(event, brokerMs)];
    default:
      return unreachable(event);
  }
}

function dealChanges(event: Extract<TradeEvent, { kind: "deal" }>, brokerMs: BrokerMs): AccountChange[] {
  switch (event.deal) {
    case "opened":
      return [{ kind: "position_opened", brokerMs, position: event.position }];
    case "closed":
      return [{ kind: "position_closed", brokerMs, closed: event.closed }];
    case "part_closed":
      // The old ticket lives on (MT5), or is gone and the rest stands under a new one (MT4).
      if (event.rest.ticket === event.closed.position.ticket) return [{ kind: "position_changed", brokerMs, position: event.rest }];
      return [
        { kind: "position_closed", brokerMs, closed: event.closed },
        { kind: "position_opened", brokerMs, position: event.rest },
      ];
    default:
      return unreachable(event);
  }
}

function pendingChange(event: Extract<TradeEvent, { kind: "pending" }>, brokerMs: BrokerMs): AccountChange {
  switch (event.step) {
    case "placed":
      return { kind: "pending_placed", brokerMs, pending: event.pending };
    case "changed":
      return { kind: "pending_changed", brokerMs, pending: event.pending };
    case "removed":
      return { kind: "pending_removed", brokerMs, removed: event.removed };
    case "filled":
      return { kind: "pending_filled", brokerMs, pendingTicket: event.pending.ticket, position: event.position };
    default:
      return unreachable(event);
  }
}
