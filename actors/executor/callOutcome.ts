// Owns what the end of a host's task means to whoever asked for it, and to the socket it used.
//
// 1. Not delivered is said only where no whole frame left this process.
// 2. A call that was written and not answered leaves its socket unusable: a late answer would be
//    taken for the next one's.

import { unreachable } from "../../protocol/errors.ts";
import type { DropCause } from "../../protocol/orders.ts";
import type { CallSocket } from "./callSocket.ts";
import type { TaskEnd } from "./hostPool.ts";

export type Dropped = { readonly kind: "dropped"; readonly cause: DropCause; readonly detail: string };

export type CallOutcome =
  | { readonly kind: "answered"; readonly message: Record<string, unknown>; readonly callMadeAtMs: number }
  /** Certain: no whole frame left this process. */
  | { readonly kind: "not_delivered"; readonly detail: string }
  /** `callMadeAtMs` is null when the host died and cannot say whether it was made. */
  | { readonly kind: "unknown"; readonly detail: string; readonly callMadeAtMs: number | null }
  | Dropped;

export type OpenOutcome = { readonly kind: "open"; readonly socket: CallSocket } | { readonly kind: "failed"; readonly detail: string } | Dropped;

/** A host that died may have made the call, and cannot say. `again`: nothing was written, offer it once more. */
export function callOutcome(socket: CallSocket, end: TaskEnd): CallOutcome | "again" {
  if (end.kind === "host_lost") return { kind: "unknown", detail: `the host thread died: ${end.detail}`, callMadeAtMs: null };
  const { result } = end;
  switch (result.kind) {
    case "answered":
      if (!result.reusable) socket.end();
      return { kind: "answered", message: result.message, callMadeAtMs: result.callMadeAtMs };
    case "refused":
      return { kind: "dropped", cause: "gate", detail: `gate 2: ${result.verdict}` };
    case "would_block":
      return socket.ended ? { kind: "not_delivered", detail: "the socket was reset before the call" } : "again";
    case "not_sent":
      socket.end(); // what was written of the frame must never be completed (1)
      return { kind: "not_delivered", detail: result.detail };
    case "unanswered":
      socket.end(); // (2)
      return { kind: "unknown", detail: result.detail, callMadeAtMs: result.callMadeAtMs };
    case "connected":
    case "not_connected":
    case "warm":
    case "counted":
      throw new Error(`a call ended as ${result.kind}`);
    default:
      return unreachable(result);
  }
}

export function openOutcome(socket: CallSocket, end: TaskEnd): OpenOutcome {
  if (end.kind === "result" && end.result.kind === "connected" && !socket.ended) return { kind: "open", socket };
  socket.end();
  if (end.kind === "host_lost") return { kind: "failed", detail: `the host thread died: ${end.detail}` };
  return { kind: "failed", detail: end.result.kind === "not_connected" ? end.result.detail : "the socket was reset while it was connected" };
}
