// Owns how a response of the wire protocol to an order becomes an Answer, for both platforms.
//
// 1. An error of the protocol itself means that the server did not carry the order out.
// 2. Anything that is no answer to this order leaves it unknown.

import { unreachable } from "../../protocol/errors.ts";
import type { Answer, Order } from "../../protocol/orders.ts";
import type { WireErrorCode, WireMessage, WireResult } from "../../protocol/wire.ts";

/** How a platform's result codes are read. */
export type PlatformAnswer = (order: Order, result: WireResult) => Answer;

export function answerOf(order: Order, response: WireMessage, platformAnswer: PlatformAnswer): Answer {
  if (response.t === "result") return platformAnswer(order, response);
  if (response.t === "error") return answerOfError(response.code, response.text); // (1)
  return { kind: "unknown", detail: `the broker answered an order with ${response.t}` }; // (2)
}

/** The errors carry no code of the platform. */
const NO_CODE = -1;

function answerOfError(code: WireErrorCode, text: string): Answer {
  switch (code) {
    case "flood":
    case "bad_login":
    case "not_logged_in":
      return { kind: "not_delivered", detail: `${code}: ${text}` };
    case "malformed":
    case "unsupported":
      // The same order would be refused again.
      return { kind: "refused", refusal: "final", code: NO_CODE, text: `${code}: ${text}` };
    default:
      return unreachable(code);
  }
}
