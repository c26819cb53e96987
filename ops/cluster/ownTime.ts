// Owns the times of a whole cluster, own times and facts' ways to their rows: the histograms that its nodes
// show, added up, and what they say of a quantile.
//
// 1. A histogram knows how many are at most so much: between two borders a quantile is interpolated,
//    as Prometheus does it; beyond the last border only that border is known.

const BUCKET = /^(\w+)_bucket\{([^}]*)\} ([0-9.e+]+)$/;
const BORDER = /(?:^|,)le="([^"]+)"/;

/** Border in seconds, and how many are at most that; the last one is Infinity. */
export type Histogram = ReadonlyMap<number, number>;

export interface Times {
  readonly p50: number;
  readonly p95: number;
  readonly count: number;
}

/** Of one page of a node's metrics: own times, the whole span, warm-up included. */
export const ownTimesIn = (page: string): Histogram => histogramIn(page, "lockstep_own_time_seconds", 'span="total"');

/** Of one page of a node's metrics: from when a fact's owner heard of it to its committed row. */
export const factsToRowsIn = (page: string): Histogram => histogramIn(page, "lockstep_fact_to_row_seconds", "");

function histogramIn(page: string, wanted: string, label: string): Histogram {
  const counts = new Map<number, number>();
  for (const line of page.split("\n")) {
    const [, name, labels, value] = BUCKET.exec(line) ?? [];
    if (name !== wanted || labels === undefined || !labels.includes(label)) continue;
    const border = BORDER.exec(labels)?.[1] ?? "";
    const seconds = border === "+Inf" ? Infinity : Number(border);
    counts.set(seconds, (counts.get(seconds) ?? 0) + Number(value));
  }
  return counts;
}

export function merged(histograms: readonly Histogram[]): Histogram {
  const sum = new Map<number, number>();
  for (const histogram of histograms) for (const [border, count] of histogram) sum.set(border, (sum.get(border) ?? 0) + count);
  return new Map([...sum].sort(([a], [b]) => a - b));
}

/** In milliseconds. */
export function timesOf(histogram: Histogram): Times {
  return { p50: quantile(histogram, 0.5), p95: quantile(histogram, 0.95), count: histogram.get(Infinity) ?? 0 };
}

function quantile(histogram: Histogram, share: number): number {
  const wanted = (histogram.get(Infinity) ?? 0) * share;
  let [fromS, below] = [0, 0];
  for (const [toS, upTo] of histogram) {
    // (1)
    if (upTo >= wanted && upTo > below) return round(toS === Infinity ? fromS : fromS + ((toS - fromS) * (wanted - below)) / (upTo - below));
    [fromS, below] = [toS, upTo];
  }
  return 0;
}

const round = (seconds: number): number => Math.round(seconds * 1e5) / 100;
