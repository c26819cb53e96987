// Owns what became of the copier's requests as the copier could know it, and who brought a thing about.
//
// 1. A request whose answer was not sent, or said time-out, or came late, has an unknown outcome: its
//    trade is left alone until it has been looked for.

import type { Platform } from "../../../protocol/trades.ts";
import type { Fault } from "../../broker/faults.ts";
import type { AccountHistory, Caused, Request } from "./history.ts";
import type { Allowance } from "./patience.ts";
import type { Span } from "./periods.ts";

/** After these the order may have been executed. */
const UNKNOWN_CODES: Readonly<Record<Platform, ReadonlySet<number>>> = { mt4: new Set([2, 128, 142, 143]), mt5: new Set([10011, 10012]) };
const HIDING: ReadonlySet<Fault["kind"]> = new Set<Fault["kind"]>(["hang", "lose_answer", "execute_late", "answer_delay", "fill_in_part", "half_open"]);

export function isUnknown({ answer, faults }: Request, platform: Platform): boolean {
  if (answer === null || answer.notSent !== null || faults.some(({ kind }) => HIDING.has(kind))) return true; // 1
  return answer.code !== null && UNKNOWN_CODES[platform].has(answer.code);
}

/** Nobody says anything, and the connection stays: the copier waits for its own time-out. */
const isSilent = (fault: Fault): boolean => fault.kind === "hang" || fault.kind === "half_open" || (fault.kind === "execute_late" && fault.answer === "none");

/** From the request until its trade may be acted on again; null where its outcome was known (1). */
export function unsettledSpan(request: Request, platform: Platform, { settleMs, callTimeoutMs }: Allowance): Span | null {
  if (!isUnknown(request, platform)) return null;
  const { atMs, answer, late, faults } = request;
  const heardMs = faults.some(isSilent) ? atMs + callTimeoutMs : (answer?.atMs ?? atMs);
  return { fromMs: atMs, toMs: Math.max(heardMs, late?.atMs ?? 0) + settleMs };
}

/** `broker`: a quote, or the broker by itself. */
export function authorOf({ requests }: Pick<AccountHistory, "requests">, { causeN }: Caused): "copier" | "hand" | "broker" {
  const request = causeN === null ? undefined : requests.get(causeN);
  if (request === undefined) return "broker";
  return request.by.kind === "connection" ? "copier" : "hand";
}
