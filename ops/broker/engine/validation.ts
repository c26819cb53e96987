// Owns which volumes, stops and prices the broker accepts. Each function returns why not, or null.

import type { PendingKind, Quote, Side, SymbolSpec } from "../../../protocol/trades.ts";
import type { Points, VolumeUnits } from "../../../protocol/units.ts";
import type { Refusal } from "./refusals.ts";

export interface Stops {
  readonly stopLoss: Points | null;
  readonly takeProfit: Points | null;
}

/** The volume of a new order: on the grid `min + k * step`, at most the maximum. */
export function volumeFault(spec: SymbolSpec, volume: VolumeUnits): Refusal | null {
  const onGrid = volume >= spec.volumeMin && volume <= spec.volumeMax && (volume - spec.volumeMin) % spec.volumeStep === 0;
  return onGrid ? null : "invalid_volume";
}

/** The volume of a close: all of it, or a part that stands on the grid and leaves at least the minimum. */
export function closeVolumeFault(spec: SymbolSpec, open: VolumeUnits, volume: VolumeUnits): Refusal | null {
  if (volume === open) return null;
  if (volume > open || open - volume < spec.volumeMin) return "invalid_volume";
  return volumeFault(spec, volume);
}

/** At least one point, also without a stop level: a stop at the market would fire at once. */
const stopLevel = (spec: SymbolSpec): number => Math.max(spec.stopLevelPoints, 1);

/**
 * Stops of a trade on `side`, judged from `reference`: the price a position would be closed at now, or a pending's own.
 * A stop that is null is not judged.
 */
export function stopsFault(spec: SymbolSpec, side: Side, reference: Points, stops: Stops): Refusal | null {
  const direction = side === "buy" ? 1 : -1;
  const tooNear = (stop: Points | null, distance: number): boolean => stop !== null && (stop <= 0 || distance < stopLevel(spec));
  const lossFault = tooNear(stops.stopLoss, (reference - (stops.stopLoss ?? 0)) * direction);
  const profitFault = tooNear(stops.takeProfit, ((stops.takeProfit ?? 0) - reference) * direction);
  return lossFault || profitFault ? "invalid_stops" : null;
}

type Prices = Pick<Quote, "bid" | "ask">;

/** How far a pending's price is from the market, on the side where it belongs; negative on the other. */
function distanceFromMarket(kind: PendingKind, price: Points, quote: Prices): number {
  switch (kind) {
    case "buy_limit":
      return quote.ask - price;
    case "buy_stop":
      return price - quote.ask;
    case "sell_limit":
      return price - quote.bid;
    case "sell_stop":
      return quote.bid - price;
  }
}

export function pendingPriceFault(spec: SymbolSpec, kind: PendingKind, price: Points, quote: Quote): Refusal | null {
  if (price <= 0) return "invalid_price";
  return distanceFromMarket(kind, price, quote) < stopLevel(spec) ? "invalid_pending_price" : null;
}

/** The market has come to a pending's price, or through it. */
export function isReached(kind: PendingKind, price: Points, quote: Prices): boolean {
  return distanceFromMarket(kind, price, quote) <= 0;
}
