// Owns what a copy may have been opened with: the size of its master's volume at some time before, or
// the share of what was left of it.
//
// 1. A trade that is copied late, after part-closes, is sized by what is left, or gets the share that
//    an early copy would have had left.

import type { VolumeUnits } from "../../../protocol/units.ts";
import { masterVolumesBefore, type Copy } from "./cases.ts";
import { beginOf, initialVolumeOf, type Request, type Trade } from "./history.ts";
import { shareOf, sizeOf, type Basis } from "./sizing.ts";

export interface Opening {
  readonly volume: VolumeUnits;
  /** What later shares come from. */
  readonly basis: Basis;
}

/** What asked for it; none where nobody did. */
export const openingRequestOf = ({ follower }: Copy, life: Trade): Request | undefined => follower.history.requests.get(beginOf(life).causeN ?? 0);

/** What it was to be opened with: its broker may have filled less. */
export function askedVolumeOf(copy: Copy, life: Trade): VolumeUnits {
  const order = openingRequestOf(copy, life)?.order;
  const filled = initialVolumeOf(life);
  return order?.kind === "open" && order.volume > filled ? order.volume : filled;
}

/** Where the copy begins at entry `n`, in the order of the master's volumes. */
export function possibleOpenings(copy: Copy, n: number): Opening[] {
  const { symbol, follower } = copy;
  if (symbol === null) return [];
  const basisOf = (master: VolumeUnits): Basis | null => {
    const size = sizeOf(master, follower.link.settings, symbol);
    return size.kind === "volume" ? { copy: size.volume, master } : null;
  };
  const volumes = masterVolumesBefore(copy, n);
  const sized = volumes.flatMap((volume) => basisOf(volume) ?? []).map((basis) => ({ volume: basis.copy, basis }));
  const whole = basisOf(volumes[0] ?? (0 as VolumeUnits));
  const shares = whole === null ? [] : volumes.slice(1).map((volume) => ({ volume: shareOf(whole.copy, volume, whole, symbol), basis: whole }));
  return [...sized, ...shares]; // 1
}
