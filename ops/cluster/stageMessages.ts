// Owns what the cluster and its brokers' process say to each other: plain values over their channel.

import type { PerformanceData } from "../demo/performance.ts";

/** One for each master, in order. */
export type StageCommand = { readonly kind: "open"; readonly performances: readonly PerformanceData[] } | { readonly kind: "play" } | { readonly kind: "close" };

export type StageReport =
  | { readonly kind: "listening"; readonly ports: readonly number[] }
  /** Of all scenes of all masters. */
  | { readonly kind: "scene"; readonly played: number }
  | { readonly kind: "played" }
  /** All logs are complete. */
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly message: string };
