// Owns what the cluster and its brokers' process say to each other: plain values over their channel.

import type { PerformanceData, StageAct } from "../demo/performance.ts";
import type { AccountId } from "../../protocol/ids.ts";

/** Servers of this machine in which the brokers' process has its part too: it ends after us, and stops what nobody else uses. */
export type KeptServer = "database" | "kafka";

/** One performance for each master, in order. */
export type StageCommand =
  | { readonly kind: "open"; readonly performances: readonly PerformanceData[]; readonly keeps: readonly KeptServer[] }
  | { readonly kind: "play" }
  | { readonly kind: "act"; readonly act: StageAct }
  /** Reported once an order of one of these has come. */
  | { readonly kind: "await_order"; readonly accounts: readonly AccountId[] }
  | { readonly kind: "close" };

export type StageReport =
  | { readonly kind: "listening"; readonly ports: readonly number[] }
  /** Of all scenes of all masters. */
  | { readonly kind: "scene"; readonly played: number }
  | { readonly kind: "played" }
  | { readonly kind: "acted" }
  /** It waits for its answer now. */
  | { readonly kind: "order"; readonly account: AccountId }
  /** All logs are complete. */
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };
