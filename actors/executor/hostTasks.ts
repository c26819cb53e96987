// Owns what the main thread and a host thread say to each other.

import type { Permit } from "../../protocol/orders.ts";
import type { GateVerdict } from "../../protocol/ports/gate.ts";
import type { SocketAddress } from "./native.ts";

export type HostTask =
  /** Proves that the host is loaded. */
  | { readonly kind: "warm" }
  /** Counts the pool's threads; `asked` is only how many calls to offer them. */
  | { readonly kind: "count"; readonly asked: number }
  | { readonly kind: "connect"; readonly fd: number; readonly address: SocketAddress; readonly timeoutMs: number }
  | {
      readonly kind: "call";
      readonly fd: number;
      readonly frame: Uint8Array;
      /** Null for what is no order (a login): nothing is traded, so no gate is asked. */
      readonly permit: Permit | null;
      /** From the moment the call is made. */
      readonly timeoutMs: number;
    };

export type ConnectResult = { readonly kind: "connected" } | { readonly kind: "not_connected"; readonly detail: string };

export type CallResult =
  /** `reusable` is false when more came than the one answer. */
  | { readonly kind: "answered"; readonly message: Record<string, unknown>; readonly callMadeAtMs: number; readonly reusable: boolean }
  /** Gate 2 was not open; nothing was written. */
  | { readonly kind: "refused"; readonly verdict: Exclude<GateVerdict, "open"> }
  /** The socket's buffer is full; nothing was written. */
  | { readonly kind: "would_block" }
  /** No whole frame was written, so nothing can be executed. */
  | { readonly kind: "not_sent"; readonly detail: string }
  /** Sent, and no answer came that can be read. */
  | { readonly kind: "unanswered"; readonly detail: string; readonly callMadeAtMs: number };

export type HostResult = { readonly kind: "warm" } | { readonly kind: "counted"; readonly threads: number } | ConnectResult | CallResult;

/** What a host is born with. */
export interface HostData {
  readonly gate: SharedArrayBuffer;
}
