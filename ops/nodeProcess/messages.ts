// Owns what a node's parent and child say to each other: plain values over their channel.

import type { BootId } from "../../protocol/ids.ts";
import type { NodeConfig } from "../config/keys.ts";

/** The parent's first and only message: everything that was resolved, so that the child resolves nothing anew. */
export interface StartMessage {
  readonly kind: "start";
  readonly config: NodeConfig;
  /** For the log. */
  readonly settings: Readonly<Record<string, string>>;
  readonly boot: BootId;
}

/** From here on the child may hold a lease: when it dies, it is to be ended. */
export interface LeasingMessage {
  readonly kind: "leasing";
}

export const isStart = (message: unknown): message is StartMessage => (message as Partial<StartMessage> | null)?.kind === "start";
export const isLeasing = (message: unknown): message is LeasingMessage => (message as Partial<LeasingMessage> | null)?.kind === "leasing";
