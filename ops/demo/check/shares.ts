// Owns the rule about what is left of a copy after its master's part-closes.
//
// 1. Where a master's volume was in force too briefly to be judged, the copy may have answered to it
//    or gone straight on to the next.

import { lotsText, type VolumeUnits } from "../../../protocol/units.ts";
import { masterVolumesBefore, type Copy } from "./cases.ts";
import type { PositionLife, Trade } from "./history.ts";
import { shareOf, sizeOf, type Basis } from "./sizing.ts";
import { agreed, periodsOf, restOf } from "./timeline.ts";
import { timeText, tradeText } from "./wording.ts";

const listed = (volumes: ReadonlySet<VolumeUnits>): string => [...volumes].map(lotsText).join(" or ");

/** The volumes at the opening: the master's is the one that the copy's answers to. */
function basisOf(copy: Copy, position: PositionLife): Basis | null {
  const { symbol, follower } = copy;
  if (symbol === null) return null;
  const master = masterVolumesBefore(copy, position.opened.n).find((volume) => {
    const size = sizeOf(volume, follower.link.settings, symbol);
    return size.kind === "volume" && size.volume === position.volume;
  });
  return master === undefined ? null : { copy: position.volume, master };
}

function wrongShare(copy: Copy): string[] {
  return copy.lives.flatMap((life) => {
    const fault = life.position === null ? null : shareFault(copy, life, life.position);
    return fault === null ? [] : [`${tradeText(copy.master)}: copy ${tradeText(life)} ${fault}`];
  });
}

function shareFault(copy: Copy, life: Trade, position: PositionLife): string | null {
  const { master, symbol, follower } = copy;
  const basis = basisOf(copy, position);
  // An opening that is wrong itself is another rule's: no share follows from it.
  if (master.position === null || symbol === null || basis === null) return null;
  const held = { steps: position.volumes, end: position.end };
  const ever = new Set([position.volume]);
  let possible: ReadonlySet<VolumeUnits> = new Set([position.volume]);
  for (const period of periodsOf(master.position.volumes, master.position.end, follower.end.atMs)) {
    const due = new Set([...possible].map((volume) => shareOf(volume, period.value, basis, symbol)));
    for (const volume of due) ever.add(volume);
    const rest = restOf(period, held, follower.graceMs);
    if (rest !== null && !agreed(rest, period, held, follower.graceMs, (volume) => due.has(volume))) {
      return `did not come to ${listed(due)} while the master held ${lotsText(period.value)} from ${timeText(period.fromMs)} to ${timeText(period.toMs)}`;
    }
    possible = rest === null ? new Set([...possible, ...due]) : due; // 1
  }
  const odd = position.volumes.find(({ value }) => !ever.has(value));
  return odd === undefined ? null : `held ${lotsText(odd.value)} from ${timeText(odd.atMs)}, expected ${listed(ever)}, in ${life.symbol}`;
}

export const shareRules = { "wrong-share": wrongShare } as const;
