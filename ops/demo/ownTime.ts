// Owns the demo's numbers: own time of every order that a tick caused; what else is counted, a demo does not show.

import type { Metrics, OwnTime } from "../../protocol/ports/metrics.ts";

/** Trades while code is cold and sockets are new: reported apart. */
export const WARM_UP_TRADES = 20;

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  readonly count: number;
}

export class DemoMetrics implements Metrics {
  readonly #samples: number[] = [];

  count(): void {}

  factsWritten(): void {
    // A demo's own times are of its orders.
  }

  ownTime({ signalMs, decideMs, laneMs }: OwnTime): void {
    this.#samples.push(signalMs + decideMs + laneMs);
  }

  /** In milliseconds; `warmUp` are the first `warmUpSamples`, `steady` the rest. */
  quantiles(warmUpSamples: number): { readonly warmUp: Quantiles; readonly steady: Quantiles } {
    return { warmUp: quantilesOf(this.#samples.slice(0, warmUpSamples)), steady: quantilesOf(this.#samples.slice(warmUpSamples)) };
  }
}

function quantilesOf(samples: readonly number[]): Quantiles {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number): number => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { p50: at(0.5), p95: at(0.95), max: round(sorted.at(-1) ?? 0), count: sorted.length };
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
