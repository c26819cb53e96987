// Owns the rule about what is left of a copy after its master's part-closes.
//
// 1. Where a master's volume was in force too briefly to be judged, the copy may have answered to it
//    or gone straight on to the next.
// 2. A copy that its owner or its broker made smaller, or that was not filled whole, may hold less than
//    its share from then on, and never more.

import { lotsText, type VolumeUnits } from "../../../protocol/units.ts";
import type { Copy } from "./cases.ts";
import type { PositionLife, Trade } from "./history.ts";
import { authorOf } from "./outcomes.ts";
import { askedVolumeOf, possibleOpenings } from "./sizes.ts";
import { shareOf } from "./sizing.ts";
import { agreed, periodsOf, restOf, type Life } from "./periods.ts";
import { timeText, tradeText } from "./wording.ts";

interface Held {
  readonly volume: VolumeUnits;
  readonly isShort: boolean;
}

const listed = (volumes: ReadonlySet<VolumeUnits>): string => [...volumes].map(lotsText).join(" or ");

/** The first entry after which it may hold less than its share (2). */
function shortenedAtN({ follower }: Copy, asked: VolumeUnits, { opened, volume, volumes, closes }: PositionLife): number {
  if ((volumes[0]?.value ?? volume) < asked) return opened.n;
  return closes.find((close) => authorOf(follower.history, close) !== "copier")?.n ?? Infinity;
}

function wrongShare(copy: Copy): string[] {
  return copy.lives.flatMap((life) => {
    const fault = life.position === null ? null : shareFault(copy, life, life.position);
    return fault === null ? [] : [`${tradeText(copy.master)}: copy ${tradeText(life)} ${fault}`];
  });
}

function shareFault(copy: Copy, life: Trade, position: PositionLife): string | null {
  const { master, symbol, follower, patience } = copy;
  const asked = askedVolumeOf(copy, life);
  const basis = possibleOpenings(copy, position.opened.n).find(({ volume }) => volume === asked)?.basis ?? null;
  // An opening that is wrong itself is another rule's: no share follows from it.
  if (master.position === null || symbol === null || basis === null) return null;
  const shortN = shortenedAtN(copy, asked, position);
  const held: Life<Held> = { steps: position.volumes.map(({ n, atMs, value }) => ({ n, atMs, value: { volume: value, isShort: n >= shortN } })), end: position.end };
  const ever = new Set([asked]);
  let possible: ReadonlySet<VolumeUnits> = new Set([asked]);
  for (const period of periodsOf(master.position.volumes, master.position.end, follower.end.atMs)) {
    const due = new Set([...possible].map((volume) => shareOf(volume, period.value, basis, symbol)));
    for (const volume of due) ever.add(volume);
    const rest = restOf(period, held, patience);
    const isDue = ({ volume, isShort }: Held): boolean => due.has(volume) || (isShort && shareOf(volume, period.value, basis, symbol) === volume); // 2
    if (rest !== null && !agreed(rest, period, held, patience, isDue)) {
      return `did not come to ${listed(due)} while the master held ${lotsText(period.value)} from ${timeText(period.fromMs)} to ${timeText(period.toMs)}`;
    }
    possible = rest === null ? new Set([...possible, ...due]) : due; // 1
  }
  const odd = held.steps.find(({ value: { volume, isShort } }) => !ever.has(volume) && !(isShort && volume <= Math.max(...ever))); // 2
  return odd === undefined ? null : `held ${lotsText(odd.value.volume)} from ${timeText(odd.atMs)}, expected ${listed(ever)}, in ${life.symbol}`;
}

export const shareRules = { "wrong-share": wrongShare } as const;
