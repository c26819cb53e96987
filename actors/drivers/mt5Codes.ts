// Owns what MT5's result codes mean. Every code that is not named here is final: it is never retried.

import type { Answer, Order, RefusalClass } from "../../protocol/orders.ts";
import type { WireResult } from "../../protocol/wire.ts";

const PLACED = 10008;
const DONE = 10009;
const DONE_IN_PART = 10010;

const NOT_DELIVERED: ReadonlySet<number> = new Set([10031]);
/** It may have been executed: a common error, a time-out. */
const UNKNOWN: ReadonlySet<number> = new Set([10011, 10012]);

const REFUSALS: ReadonlyMap<number, RefusalClass> = new Map([
  [10025, "already"], // no changes
  [10036, "already"], // position closed
  [10004, "fresh_price"], // requote
  [10015, "fresh_price"], // invalid price
  [10020, "fresh_price"], // price changed
  [10021, "fresh_price"], // no quotes
  [10024, "wait"], // too many requests
  [10028, "wait"], // locked for processing
  [10014, "adjust"], // invalid volume
  [10016, "adjust"], // invalid stops
  [10022, "adjust"], // invalid expiration
  [10029, "adjust"], // frozen
  [10030, "adjust"], // filling mode
  [10018, "market_closed"],
]);

/** 10008 is only "accepted": done for what rests at the server, unknown for what should have been executed. */
export function mt5Answer(order: Order, result: WireResult): Answer {
  const { code, text, ticket, volume, price, brokerMs } = result;
  const detail = `MT5 ${code}: ${text}`;
  if (code === DONE) return { kind: "done", ticket, volume, price, brokerMs };
  if (code === DONE_IN_PART) return { kind: "done_in_part", ticket, volume, price, brokerMs };
  if (code === PLACED) {
    return order.kind === "open" || order.kind === "close" ? { kind: "unknown", detail } : { kind: "done", ticket, volume, price, brokerMs };
  }
  if (NOT_DELIVERED.has(code)) return { kind: "not_delivered", detail };
  if (UNKNOWN.has(code)) return { kind: "unknown", detail };
  return { kind: "refused", refusal: REFUSALS.get(code) ?? "final", code, text };
}
