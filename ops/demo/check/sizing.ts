// Owns the checker's own computation of a follower's volumes, in whole numbers throughout.
//
// 1. Volumes stand on the grid min + k * step, rounded down to it.
// 2. Shares come from the volumes at the opening, never from one share to the next.
// 3. A copy keeps at least the minimum as long as its master holds anything, and a part that is
//    smaller than the minimum is not closed.

import type { LinkSettings } from "../../../protocol/accounts.ts";
import type { VolumeUnits } from "../../../protocol/units.ts";
import type { BrokerSymbol } from "../../broker/accounts.ts";

type Grid = Pick<BrokerSymbol, "volumeMin" | "volumeStep" | "volumeMax">;

export type Size = { readonly kind: "volume"; readonly volume: VolumeUnits } | { readonly kind: "below" } | { readonly kind: "above" };

/** The largest volume of the grid that is not above `volume`; null below the minimum (1). */
function onGrid(volume: bigint, grid: Grid): bigint | null {
  const min = BigInt(grid.volumeMin);
  const step = BigInt(grid.volumeStep);
  return volume < min ? null : min + ((volume - min) / step) * step;
}

/** What a master's volume becomes at the follower's opening. */
export function sizeOf(master: VolumeUnits, settings: LinkSettings, grid: Grid): Size {
  const { sizing } = settings;
  const raw = sizing.mode === "fixed" ? BigInt(sizing.volume) : (BigInt(master) * BigInt(sizing.factorMillionths)) / 1_000_000n;
  const volume = onGrid(raw, grid);
  if (volume === null) return settings.belowMinimum === "minimum" ? { kind: "volume", volume: grid.volumeMin } : { kind: "below" };
  if (volume <= BigInt(grid.volumeMax)) return { kind: "volume", volume: Number(volume) as VolumeUnits };
  if (settings.aboveMaximum === "skip") return { kind: "above" };
  return { kind: "volume", volume: Number(onGrid(BigInt(grid.volumeMax), grid)) as VolumeUnits };
}

/** The volumes at the opening that all shares come from (2). */
export interface Basis {
  readonly copy: VolumeUnits;
  readonly master: VolumeUnits;
}

/** What is left of a copy that held `held` once its master holds `masterVolume`. */
export function shareOf(held: VolumeUnits, masterVolume: VolumeUnits, basis: Basis, grid: Grid): VolumeUnits {
  const due = onGrid((BigInt(basis.copy) * BigInt(masterVolume)) / BigInt(basis.master), grid) ?? BigInt(grid.volumeMin);
  const part = onGrid(BigInt(held) - due, grid);
  return part === null ? held : (Number(BigInt(held) - part) as VolumeUnits); // 3
}
