// Owns what MT4's result codes mean. Every code that is not named here is final: it is never retried.

import type { Answer, Order, RefusalClass } from "../../protocol/orders.ts";
import type { WireResult } from "../../protocol/wire.ts";

/** The server did not get it (6, no connection). */
const NOT_DELIVERED: ReadonlySet<number> = new Set([6]);
/** It may have been executed: common error, time-out, and the two states in which an order is out of our hands. */
const UNKNOWN: ReadonlySet<number> = new Set([2, 128, 142, 143]);

const REFUSALS: ReadonlyMap<number, RefusalClass> = new Map([
  [1, "already"], // no error, but nothing changed
  [129, "fresh_price"], // invalid price
  [135, "fresh_price"], // price changed
  [136, "fresh_price"], // off quotes
  [138, "fresh_price"], // requote
  [4, "wait"], // server busy
  [8, "wait"], // too frequent requests
  [137, "wait"], // broker busy
  [141, "wait"], // too many requests
  [146, "wait"], // trade context busy
  [130, "adjust"], // invalid stops
  [131, "adjust"], // invalid volume
  [145, "adjust"], // too close to the market
  [147, "adjust"], // expiration denied
  [132, "market_closed"],
]);

/** Invalid ticket: what was to be ended stands no more. Its history says why; only a close or cancel can be done with that. */
const NO_SUCH_TICKET = 4108;

/** A part-close names no new ticket: its `ticket` is null here, and the session looks again. */
export function mt4Answer(order: Order, result: WireResult): Answer {
  const { code, text } = result;
  if (code === 0) {
    const ticket = order.kind === "close" && order.part ? null : result.ticket;
    return { kind: "done", ticket, volume: result.volume, price: result.price, brokerMs: result.brokerMs };
  }
  if (NOT_DELIVERED.has(code)) return { kind: "not_delivered", detail: `MT4 ${code}: ${text}` };
  if (UNKNOWN.has(code)) return { kind: "unknown", detail: `MT4 ${code}: ${text}` };
  const ended = code === NO_SUCH_TICKET && (order.kind === "close" || order.kind === "cancel");
  return { kind: "refused", refusal: ended ? "already" : (REFUSALS.get(code) ?? "final"), code, text };
}
