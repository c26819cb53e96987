// Owns the rules about the openings of copies: one for each trade, the right one, in time, at a
// price that the link allows.

import { lotsText, priceText } from "../../../protocol/units.ts";
import { masterVolumesBefore, type Copy } from "./cases.ts";
import { beginOf, endOf, initialVolumeOf, sideOf, wasFilled, type PositionLife, type Trade } from "./history.ts";
import { pointsAgainst, rescaled } from "./prices.ts";
import { sizeOf } from "./sizing.ts";
import { timeText, tradeText } from "./wording.ts";

/** Whether the master holds it for longer than the grace, or still. */
const isHeld = ({ opened, end }: PositionLife, graceMs: number): boolean => end === null || end.atMs - opened.atMs > graceMs;

function missing({ follower, master, lives, rows }: Copy): string[] {
  // A pending order that is not copied as such is to be copied when it fills; while it stands nothing is decided.
  if (!follower.link.settings.copyPendings && master.pending !== null && master.position === null && endOf(master) === null) return [];
  if (rows.some(({ status, reason }) => status === "Skipped" && !(reason === "pendings_off" && wasFilled(master)))) return [];
  if (lives.some(({ position }) => position !== null)) return [];
  if (lives.length === 0) return [`${tradeText(master)}: neither a copy nor a row that says why not`];
  const isWanted = master.position !== null && isHeld(master.position, follower.graceMs);
  return isWanted ? [`${tradeText(master)}: it was filled, its copy ${lives.map(tradeText).join("; ")} was not`] : [];
}

/** A new life is right only where all before it were pendings that ended unfilled, and it is no pending again. */
function duplicate({ master, lives }: Copy): string[] {
  return lives.flatMap((life, index) => {
    const begin = beginOf(life);
    const isRight = (before: Trade): boolean => {
      const end = endOf(before);
      return before.position === null && end !== null && end.n < begin.n && life.pending === null;
    };
    const rival = lives.slice(0, index).find((before) => !isRight(before));
    return rival === undefined ? [] : [`${tradeText(master)}: copied again as ${tradeText(life)}, after ${tradeText(rival)}`];
  });
}

function wrongSymbol({ master, symbol, lives }: Copy): string[] {
  const wrong = lives.filter((life) => life.symbol !== symbol?.symbol);
  return wrong.map((life) => `${tradeText(master)}: copied as ${tradeText(life)}, expected ${symbol?.symbol ?? "no copy: the account has no such symbol"}`);
}

function wrongSide({ master, lives }: Copy): string[] {
  return lives.filter((life) => sideOf(life) !== sideOf(master)).map((life) => `${tradeText(master)}: copied as ${tradeText(life)}`);
}

function wrongVolume(copy: Copy): string[] {
  const { follower, symbol, master, lives } = copy;
  if (symbol === null) return [];
  return lives.flatMap((life) => {
    const sizes = masterVolumesBefore(copy, beginOf(life).n).map((volume) => sizeOf(volume, follower.link.settings, symbol));
    const volumes = sizes.flatMap((size) => (size.kind === "volume" ? [size.volume] : []));
    const volume = initialVolumeOf(life);
    if (volumes.includes(volume)) return [];
    const expected = volumes.length === 0 ? "no copy" : [...new Set(volumes)].map(lotsText).join(" or ");
    return [`${tradeText(master)}: copied as ${tradeText(life)} with ${lotsText(volume)}, expected ${expected}`];
  });
}

/** When it was asked for: a pending's fill is nobody's request. */
const askedFor = ({ follower }: Copy, life: Trade): { readonly n: number; readonly atMs: number } => {
  const begin = beginOf(life);
  return (begin.causeN === null ? undefined : follower.history.requests.get(begin.causeN)) ?? begin;
};

function openedAfterEnd(copy: Copy): string[] {
  const end = endOf(copy.master);
  if (end === null) return [];
  const late = copy.lives.filter((life) => askedFor(copy, life).atMs > end.atMs + copy.follower.graceMs);
  return late.map((life) => `${tradeText(copy.master)}: copied as ${tradeText(life)}, asked for after its end`);
}

function openedTooOld(copy: Copy): string[] {
  const { follower, master, lives } = copy;
  const openedAtMs = master.position?.opened.atMs;
  if (openedAtMs === undefined) return [];
  const limitMs = follower.link.settings.ageLimitMs;
  const old = lives.filter((life) => life.pending === null && askedFor(copy, life).atMs > openedAtMs + limitMs + follower.graceMs);
  return old.map((life) => `${tradeText(master)}: copied as ${tradeText(life)}, expected an opening within ${limitMs} ms`);
}

function slippage({ follower, master, symbol, lives }: Copy): string[] {
  const { position: held } = master;
  if (held === null) return [];
  const limit = follower.link.settings.slippagePoints;
  return lives.flatMap((life) => {
    // The price of another symbol tells nothing.
    if (life.position === null || life.pending !== null || life.symbol !== symbol?.symbol) return [];
    const wanted = rescaled(held.openPrice, master.digits, life.digits);
    const against = pointsAgainst(held.side, wanted, life.position.openPrice);
    if (against <= limit) return [];
    const price = priceText(life.position.openPrice, life.digits);
    return [`${tradeText(master)}: copied as ${tradeText(life)} at ${price} on ${timeText(life.position.opened.atMs)}, ${against} points worse than ${priceText(wanted, life.digits)}, limit ${limit}`];
  });
}

export const openingRules = {
  missing,
  duplicate,
  "wrong-symbol": wrongSymbol,
  "wrong-side": wrongSide,
  "wrong-volume": wrongVolume,
  "opened-after-end": openedAfterEnd,
  "opened-too-old": openedTooOld,
  slippage,
} as const;
