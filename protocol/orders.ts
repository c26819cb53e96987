// Owns what is asked of a broker and what can come back.
//
// 1. An order carries everything its execution needs; whoever sends it chooses nothing.
// 2. Unknown is an answer of its own: the order may or may not have been executed, and only the
//    broker's own record (tag, ticket, history) settles it. It is never sent again on hope.

import type { Epoch, Magic, SymbolName, Ticket } from "./ids.ts";
import type { PendingKind, Side } from "./trades.ts";
import type { BrokerMs, Points, VolumeUnits } from "./units.ts";

export type Order =
  | {
      readonly kind: "open";
      readonly symbol: SymbolName;
      readonly side: Side;
      readonly volume: VolumeUnits;
      /** The worst price that is still accepted; null takes any. */
      readonly priceLimit: Points | null;
      readonly stopLoss: Points | null;
      readonly takeProfit: Points | null;
      readonly magic: Magic;
      readonly comment: string;
    }
  /** `volume` below the position's is a part-close. */
  | { readonly kind: "close"; readonly ticket: Ticket; readonly symbol: SymbolName; readonly volume: VolumeUnits; readonly part: boolean }
  | { readonly kind: "modify"; readonly ticket: Ticket; readonly symbol: SymbolName; readonly stopLoss: Points | null; readonly takeProfit: Points | null }
  | {
      readonly kind: "place";
      readonly symbol: SymbolName;
      readonly pending: PendingKind;
      readonly volume: VolumeUnits;
      readonly price: Points;
      readonly stopLoss: Points | null;
      readonly takeProfit: Points | null;
      readonly magic: Magic;
      readonly comment: string;
    }
  | {
      readonly kind: "change";
      readonly ticket: Ticket;
      readonly symbol: SymbolName;
      readonly price: Points;
      readonly stopLoss: Points | null;
      readonly takeProfit: Points | null;
    }
  | { readonly kind: "cancel"; readonly ticket: Ticket; readonly symbol: SymbolName };

/** What may be done about a refusal. The vendors' codes are mapped to these once, in the drivers. */
export type RefusalClass =
  /** What was asked is so already (closed, unchanged): as good as done. */
  | "already"
  /** Ask again with a new quote, a few times, slippage and age checked again. */
  | "fresh_price"
  /** Ask again after a pause with jitter, a few times. */
  | "wait"
  /** Ask again once, adjusted: stops, volume or filling mode. */
  | "adjust"
  /** The market is closed: a close is asked again when it opens, anything else is final. */
  | "market_closed"
  | "final";

export type Answer =
  | {
      readonly kind: "done";
      /** The position or pending it left: MT4 gives a new one after a part-close. Null when it could not be learnt yet. */
      readonly ticket: Ticket | null;
      /** Executed volume. */
      readonly volume: VolumeUnits;
      /** Fill price in the symbol's points; null where nothing was filled. */
      readonly price: Points | null;
      readonly brokerMs: BrokerMs;
    }
  | { readonly kind: "done_in_part"; readonly ticket: Ticket | null; readonly volume: VolumeUnits; readonly price: Points | null; readonly brokerMs: BrokerMs }
  | { readonly kind: "refused"; readonly refusal: RefusalClass; readonly code: number; readonly text: string }
  /** It certainly did not reach the broker. */
  | { readonly kind: "not_delivered"; readonly detail: string }
  /** It may have been executed. */
  | { readonly kind: "unknown"; readonly detail: string };

/** Who may send, checked at the gate in the turn of the call: this account's slot must still hold this epoch. */
export interface Permit {
  /** Given to one holding of one account; where its epoch stands in the gate's shared memory. */
  readonly slot: number;
  readonly epoch: Epoch;
}

/** Why an order was dropped before the call was made. Dropped work is counted, never queued for later. */
export type DropCause = "gate" | "cancelled" | "queue_full" | "session_down" | "stopped";

export type Execution =
  /** `callMadeAtMs`: monotonic clock at the hand-over to the operating system. */
  | { readonly kind: "answered"; readonly answer: Answer; readonly callMadeAtMs: number | null }
  | { readonly kind: "dropped"; readonly cause: DropCause; readonly detail: string };
