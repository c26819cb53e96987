// Owns volumes: the follower's from the master's, and what is left of a copy after a part-close.
//
// 1. Every volume that leaves here is on the follower's grid, min + k*step, and at most its maximum.
// 2. Shares are computed from initial volumes, never from a volume that was rounded before.

import type { LinkSettings } from "../../protocol/accounts.ts";
import type { ReasonDetail } from "../../protocol/reasons.ts";
import type { SymbolSpec } from "../../protocol/trades.ts";
import { unreachable } from "../../protocol/errors.ts";
import { lotsText, NO_VOLUME, type VolumeUnits } from "../../protocol/units.ts";

type Grid = Pick<SymbolSpec, "volumeMin" | "volumeStep" | "volumeMax">;

export type Sized =
  | { readonly kind: "volume"; readonly volume: VolumeUnits }
  | { readonly kind: "skip"; readonly reason: "volume_below_minimum" | "volume_above_maximum"; readonly detail: ReasonDetail };

const MILLION = 1_000_000;

/** `a * b / c`, floored; exact, since the product may be above 2^53. */
function mulDiv(a: number, b: number, c: number): number {
  return Number((BigInt(a) * BigInt(b)) / BigInt(c));
}

/** The largest volume on the grid that is not above `volume`; 0 when even the minimum is above it. */
export function floorToGrid(volume: number, grid: Grid): VolumeUnits {
  if (volume < grid.volumeMin) return NO_VOLUME;
  const steps = Math.floor((Math.min(volume, grid.volumeMax) - grid.volumeMin) / grid.volumeStep);
  return (grid.volumeMin + steps * grid.volumeStep) as VolumeUnits;
}

/** The volume to open for a master's `masterVolume`, by the link's sizing and bounds. */
export function copyVolume(settings: Pick<LinkSettings, "sizing" | "belowMinimum" | "aboveMaximum">, masterVolume: VolumeUnits, grid: Grid): Sized {
  const wanted = wantedVolume(settings.sizing, masterVolume);
  const detail = { wantedLots: lotsText(wanted), minimumLots: lotsText(grid.volumeMin), maximumLots: lotsText(grid.volumeMax) };
  if (wanted > grid.volumeMax && settings.aboveMaximum === "skip") return { kind: "skip", reason: "volume_above_maximum", detail };
  const volume = floorToGrid(wanted, grid);
  if (volume !== NO_VOLUME) return { kind: "volume", volume };
  if (settings.belowMinimum === "minimum") return { kind: "volume", volume: grid.volumeMin };
  return { kind: "skip", reason: "volume_below_minimum", detail };
}

function wantedVolume(sizing: LinkSettings["sizing"], masterVolume: VolumeUnits): VolumeUnits {
  switch (sizing.mode) {
    case "multiplier":
      return mulDiv(masterVolume, sizing.factorMillionths, MILLION) as VolumeUnits;
    case "fixed":
      return sizing.volume;
    default:
      return unreachable(sizing);
  }
}

export interface Share {
  /** The copy's volume when it was opened. */
  readonly initialVolume: VolumeUnits;
  readonly masterInitialVolume: VolumeUnits;
  /** What the master still holds. */
  readonly masterVolume: VolumeUnits;
}

/** What the copy should still hold, on the grid. A share below the minimum is the minimum, or nothing where residues are closed. */
export function remainingVolume(share: Share, grid: Grid, residue: LinkSettings["residue"]): VolumeUnits {
  if (share.masterVolume === 0) return NO_VOLUME;
  const remaining = floorToGrid(mulDiv(share.initialVolume, share.masterVolume, share.masterInitialVolume), grid);
  return remaining === NO_VOLUME && residue === "keep" ? grid.volumeMin : remaining;
}

/**
 * How much of a copy to close so that it holds its share; 0 when there is nothing to close, or
 * when the part would itself be below the minimum, which a broker refuses.
 */
export function volumeToClose(share: Share, volume: VolumeUnits, grid: Grid, residue: LinkSettings["residue"]): VolumeUnits {
  const remaining = remainingVolume(share, grid, residue);
  return remaining === NO_VOLUME ? volume : floorToGrid(volume - remaining, grid);
}
